package firestoretest

import (
	"fmt"
	"math"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
)

// aggregation is one count, sum or average with the name of its result.
type aggregation struct {
	alias string
	over  func(docs []*pb.Document) *pb.Value
}

// RunAggregationQuery counts, sums and averages over a query.
func (s *service) RunAggregationQuery(r *pb.RunAggregationQueryRequest, out pb.Firestore_RunAggregationQueryServer) error {
	if r.ExplainOptions != nil {
		return unimplemented("explain_options")
	}
	in := r.GetStructuredAggregationQuery()
	aggs, err := parseAggregations(in.GetAggregations())
	if err != nil {
		return err
	}
	q, err := parseQuery(r.Parent, in.GetStructuredQuery())
	if err != nil {
		return err
	}
	c := consistency{tx: r.GetTransaction(), newTx: r.GetNewTransaction(), at: r.GetReadTime()}
	docs, _, readTime, newTx, err := s.store.viewQuery(out.Context(), c, q)
	if err != nil {
		return err
	}
	result := &pb.AggregationResult{AggregateFields: map[string]*pb.Value{}}
	for _, a := range aggs {
		result.AggregateFields[a.alias] = a.over(docs)
	}
	return out.Send(&pb.RunAggregationQueryResponse{Result: result, Transaction: newTx, ReadTime: readTime.proto()})
}

func parseAggregations(in []*pb.StructuredAggregationQuery_Aggregation) ([]aggregation, error) {
	if len(in) < 1 || len(in) > 5 {
		return nil, invalid("The number of aggregations must be from 1 to 5, not %d.", len(in))
	}
	seen := map[string]bool{}
	var out []aggregation
	for i, a := range in {
		over, err := parseAggregation(a)
		if err != nil {
			return nil, err
		}
		alias := a.Alias
		if alias == "" {
			alias = fmt.Sprintf("field_%d", i+1)
		}
		if seen[alias] {
			return nil, invalid("Aggregation alias %q is used twice.", alias)
		}
		seen[alias] = true
		out = append(out, aggregation{alias, over})
	}
	return out, nil
}

func parseAggregation(in *pb.StructuredAggregationQuery_Aggregation) (func([]*pb.Document) *pb.Value, error) {
	var field *pb.StructuredQuery_FieldReference
	var finish func(nums []*pb.Value) *pb.Value
	switch op := in.Operator.(type) {
	case *pb.StructuredAggregationQuery_Aggregation_Count_:
		upTo := int64(math.MaxInt64)
		if op.Count.GetUpTo() != nil {
			upTo = op.Count.UpTo.Value
		}
		if upTo <= 0 {
			return nil, invalid("up_to must be positive.")
		}
		return func(docs []*pb.Document) *pb.Value { return intValue(min(int64(len(docs)), upTo)) }, nil
	case *pb.StructuredAggregationQuery_Aggregation_Sum_:
		field, finish = op.Sum.GetField(), sum
	case *pb.StructuredAggregationQuery_Aggregation_Avg_:
		field, finish = op.Avg.GetField(), average
	default:
		return nil, invalid("An aggregation has no operator.")
	}
	path, err := parsePath(field.GetFieldPath())
	if err != nil {
		return nil, err
	}
	return func(docs []*pb.Document) *pb.Value {
		var nums []*pb.Value
		for _, d := range docs {
			if v := lookup(d, path); isNumber(v) {
				nums = append(nums, v)
			}
		}
		return finish(nums)
	}, nil
}

// sum is an integer as long as all numbers are and it does not overflow; of nothing it is 0.
func sum(nums []*pb.Value) *pb.Value {
	total, exact := int64(0), true
	float := 0.0
	for _, v := range nums {
		float += toDouble(v)
		i, isInt := v.ValueType.(*pb.Value_IntegerValue)
		if !isInt || !exact {
			exact = false
			continue
		}
		next := total + i.IntegerValue
		if (i.IntegerValue > 0) != (next > total) && i.IntegerValue != 0 {
			exact = false
		}
		total = next
	}
	if exact {
		return intValue(total)
	}
	return doubleValue(float)
}

// average is a double; of nothing it is null.
func average(nums []*pb.Value) *pb.Value {
	if len(nums) == 0 {
		return nullValue()
	}
	total := 0.0
	for _, v := range nums {
		total += toDouble(v)
	}
	return doubleValue(total / float64(len(nums)))
}
