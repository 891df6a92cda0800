package firestoretest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
)

// ListDocuments lists the documents of a collection by name or in the order asked for, page by page. With show_missing it lists
// documents too that do not exist and have documents below.
func (s *service) ListDocuments(ctx context.Context, r *pb.ListDocumentsRequest) (*pb.ListDocumentsResponse, error) {
	mask, err := parseMask(r.Mask)
	if err != nil {
		return nil, err
	}
	if r.ShowMissing && r.OrderBy != "" {
		return nil, invalid("show_missing may not be used with order_by.")
	}
	orders, err := parseOrderBy(r.OrderBy)
	if err != nil {
		return nil, err
	}
	q, err := parseQuery(r.Parent, &pb.StructuredQuery{
		From: []*pb.StructuredQuery_CollectionSelector{{CollectionId: r.CollectionId}}, OrderBy: orders,
	})
	if err != nil {
		return nil, err
	}
	c, from, err := parsePageToken(r)
	if err != nil {
		return nil, err
	}
	docs, _, readTime, _, err := s.store.viewQuery(ctx, c, q)
	if err != nil {
		return nil, err
	}
	if r.ShowMissing {
		docs = append(docs, s.store.missing(q, fromProto(c.at))...)
		slices.SortFunc(docs, q.compare)
	}
	resp := &pb.ListDocumentsResponse{}
	to := min(from+pageSize(r.PageSize), len(docs))
	for _, d := range docs[min(from, to):to] {
		resp.Documents = append(resp.Documents, masked(d, mask))
	}
	if to < len(docs) {
		resp.NextPageToken = fmt.Sprintf("%d.%d", readTime, to)
	}
	return resp, nil
}

// parsePageToken reads the time of the first page and the number of documents before this one, so that all pages are of one snapshot.
func parsePageToken(r *pb.ListDocumentsRequest) (c consistency, from int, err error) {
	c = consistency{tx: r.GetTransaction(), at: r.GetReadTime()}
	if r.PageToken == "" {
		return c, 0, nil
	}
	var at stamp
	if _, err := fmt.Sscanf(r.PageToken, "%d.%d", &at, &from); err != nil || from < 0 {
		return c, 0, invalid("Invalid page token %q.", r.PageToken)
	}
	if len(c.tx) == 0 {
		c.at = at.proto()
	}
	return c, from, nil
}

// pageSize is how many of a listing one answer holds; the default is ours.
func pageSize(asked int32) int {
	if asked <= 0 {
		return 300
	}
	return int(asked)
}

func parseOrderBy(s string) ([]*pb.StructuredQuery_Order, error) {
	var out []*pb.StructuredQuery_Order
	for part := range strings.SplitSeq(s, ",") {
		words := strings.Fields(part)
		if len(words) == 0 {
			continue
		}
		o := &pb.StructuredQuery_Order{Field: &pb.StructuredQuery_FieldReference{FieldPath: words[0]}}
		switch {
		case len(words) == 2 && strings.EqualFold(words[1], "desc"):
			o.Direction = pb.StructuredQuery_DESCENDING
		case len(words) > 2 || len(words) == 2 && !strings.EqualFold(words[1], "asc"):
			return nil, invalid("Invalid order_by %q.", s)
		}
		out = append(out, o)
	}
	return out, nil
}

// missing are the documents of the query's collections that do not exist and have existing ones below; they have a name and nothing else.
func (s *store) missing(q *query, at stamp) []*pb.Document {
	s.mu.RLock()
	defer s.mu.RUnlock()
	seen := map[string]bool{}
	var out []*pb.Document
	for path, c := range s.colls {
		below, ok := strings.CutPrefix(path, q.parent+"/")
		ids := strings.Split(below, "/")
		if !ok || len(ids) < 3 || q.id != "" && ids[0] != q.id || c.names.length == 0 {
			continue
		}
		name := q.parent + "/" + ids[0] + "/" + ids[1]
		if d, err := s.docs[name].at(at); err != nil || d != nil || seen[name] {
			continue
		}
		seen[name] = true
		out = append(out, &pb.Document{Name: name})
	}
	return out
}

// cutPage is the part of sorted names behind the token, and the token of the next page: the last name of this one.
func cutPage(sorted []string, token string, size int) ([]string, string) {
	i, found := slices.BinarySearch(sorted, token)
	rest := sorted[i+b2i(found):]
	if len(rest) <= size {
		return rest, ""
	}
	return rest[:size], rest[size-1]
}

// ListCollectionIds lists the collections directly below a document or the root.
func (s *service) ListCollectionIds(_ context.Context, r *pb.ListCollectionIdsRequest) (*pb.ListCollectionIdsResponse, error) {
	if err := checkParent(r.Parent); err != nil {
		return nil, err
	}
	if r.GetReadTime() != nil {
		return nil, unimplemented("read_time of ListCollectionIds")
	}
	s.store.mu.RLock()
	defer s.store.mu.RUnlock()
	var ids []string
	for path, c := range s.store.colls {
		if below, ok := strings.CutPrefix(path, r.Parent+"/"); ok && c.names.length > 0 {
			id, _, _ := strings.Cut(below, "/")
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	page, next := cutPage(slices.Compact(ids), r.PageToken, pageSize(r.PageSize))
	return &pb.ListCollectionIdsResponse{CollectionIds: page, NextPageToken: next}, nil
}
