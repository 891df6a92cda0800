package firestoretest

import (
	"context"
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
	docs, _, _, _, err := s.store.viewQuery(ctx, consistency{tx: r.GetTransaction(), at: r.GetReadTime()}, q)
	if err != nil {
		return nil, err
	}
	if r.ShowMissing {
		docs = append(docs, s.store.missing(q, fromProto(r.GetReadTime()))...)
		slices.SortFunc(docs, q.compare)
	}
	page, next := cutPage(docs, r.PageToken, int(r.PageSize), func(d *pb.Document) string { return d.Name })
	resp := &pb.ListDocumentsResponse{NextPageToken: next}
	for _, d := range page {
		resp.Documents = append(resp.Documents, masked(d, mask))
	}
	return resp, nil
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

// cutPage is the page behind the token, and the token of the next. A token is the last key of its page; size 0 is everything up to 300.
func cutPage[T any](all []T, token string, size int, key func(T) string) ([]T, string) {
	if token != "" {
		i := slices.IndexFunc(all, func(e T) bool { return key(e) == token })
		all = all[i+1:]
	}
	if size <= 0 {
		size = 300
	}
	if len(all) <= size {
		return all, ""
	}
	return all[:size], key(all[size-1])
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
	page, next := cutPage(slices.Compact(ids), r.PageToken, int(r.PageSize), func(id string) string { return id })
	return &pb.ListCollectionIdsResponse{CollectionIds: page, NextPageToken: next}, nil
}
