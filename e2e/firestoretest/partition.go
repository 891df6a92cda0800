package firestoretest

import (
	"context"
	"slices"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
)

// PartitionQuery cuts a collection group, ordered by name, into parts of about the same size.
func (s *service) PartitionQuery(ctx context.Context, r *pb.PartitionQueryRequest) (*pb.PartitionQueryResponse, error) {
	in := r.GetStructuredQuery()
	switch {
	case r.PartitionCount < 1:
		return nil, invalid("partition_count must be positive.")
	case r.PageSize < 0:
		return nil, invalid("page_size must not be negative.")
	case in.GetWhere() != nil || in.GetLimit() != nil || in.GetOffset() != 0 || in.GetStartAt() != nil || in.GetEndAt() != nil:
		return nil, invalid("The query of PartitionQuery must have no filter, limit, offset or cursor.")
	}
	q, err := parseQuery(r.Parent, in)
	if err != nil {
		return nil, err
	}
	if !q.deep || len(q.orders) != 1 || q.orders[0].desc {
		return nil, invalid("The query of PartitionQuery must be a collection group ordered by __name__ ascending.")
	}
	docs, _, _, _, err := s.store.viewQuery(ctx, consistency{at: r.GetReadTime()}, q)
	if err != nil {
		return nil, err
	}
	var names []string
	parts := int(min(r.PartitionCount+1, int64(len(docs))))
	for i := 1; i < parts; i++ {
		names = append(names, docs[i*len(docs)/parts].Name)
	}
	slices.Sort(names)
	page, next := cutPage(names, r.PageToken, pageSize(r.PageSize))
	resp := &pb.PartitionQueryResponse{NextPageToken: next}
	for _, n := range page {
		resp.Partitions = append(resp.Partitions, &pb.Cursor{Values: []*pb.Value{refValue(n)}, Before: true})
	}
	return resp, nil
}
