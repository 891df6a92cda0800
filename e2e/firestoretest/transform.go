package firestoretest

import (
	"math"
	"slices"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// transform is one field transform; apply returns the fields after it and its result.
type transform struct {
	path fieldPath
	op   func(have *pb.Value, now stamp) (next, result *pb.Value)
}

func (t transform) apply(fields map[string]*pb.Value, now stamp) (map[string]*pb.Value, *pb.Value) {
	next, result := t.op(t.path.get(fields), now)
	return t.path.set(fields, next), result
}

func parseTransforms(in []*pb.DocumentTransform_FieldTransform) ([]transform, error) {
	var out []transform
	for _, ft := range in {
		path, err := parsePath(ft.FieldPath)
		if err != nil {
			return nil, err
		}
		op, err := parseTransform(ft)
		if err != nil {
			return nil, err
		}
		out = append(out, transform{path: path, op: op})
	}
	return out, nil
}

func parseTransform(ft *pb.DocumentTransform_FieldTransform) (func(*pb.Value, stamp) (*pb.Value, *pb.Value), error) {
	switch op := ft.TransformType.(type) {
	case *pb.DocumentTransform_FieldTransform_SetToServerValue:
		if op.SetToServerValue != pb.DocumentTransform_FieldTransform_REQUEST_TIME {
			return nil, invalid("Unknown server value %v.", op.SetToServerValue)
		}
		return requestTime, nil
	case *pb.DocumentTransform_FieldTransform_Increment:
		return numeric(op.Increment, add)
	case *pb.DocumentTransform_FieldTransform_Maximum:
		return numeric(op.Maximum, maximum)
	case *pb.DocumentTransform_FieldTransform_Minimum:
		return numeric(op.Minimum, minimum)
	case *pb.DocumentTransform_FieldTransform_AppendMissingElements:
		return array(op.AppendMissingElements.GetValues(), union)
	case *pb.DocumentTransform_FieldTransform_RemoveAllFromArray:
		return array(op.RemoveAllFromArray.GetValues(), difference)
	}
	return nil, invalid("A field transform has no type.")
}

// requestTime is the server's time in milliseconds; all of a commit see the same one.
func requestTime(_ *pb.Value, now stamp) (*pb.Value, *pb.Value) {
	ts := (now - now%1000).proto()
	return timeValue(ts), timeValue(&timestamppb.Timestamp{Seconds: ts.Seconds, Nanos: ts.Nanos})
}

func numeric(operand *pb.Value, f func(have, operand *pb.Value) *pb.Value) (func(*pb.Value, stamp) (*pb.Value, *pb.Value), error) {
	if !isNumber(operand) {
		return nil, invalid("The operand of a numeric transform must be an integer or a double.")
	}
	return func(have *pb.Value, _ stamp) (*pb.Value, *pb.Value) {
		next := operand
		if isNumber(have) {
			next = f(have, operand)
		}
		return next, next
	}, nil
}

// add sums; integers stop at the ends of their range, and a double on either side makes a double.
func add(have, operand *pb.Value) *pb.Value {
	a, aInt := have.ValueType.(*pb.Value_IntegerValue)
	b, bInt := operand.ValueType.(*pb.Value_IntegerValue)
	if !aInt || !bInt {
		return doubleValue(toDouble(have) + toDouble(operand))
	}
	sum := a.IntegerValue + b.IntegerValue
	switch {
	case b.IntegerValue > 0 && sum < a.IntegerValue:
		sum = math.MaxInt64
	case b.IntegerValue < 0 && sum > a.IntegerValue:
		sum = math.MinInt64
	}
	return intValue(sum)
}

func maximum(have, operand *pb.Value) *pb.Value { return pick(have, operand, 1) }
func minimum(have, operand *pb.Value) *pb.Value { return pick(have, operand, -1) }

// pick keeps what is there unless the operand lies in the direction; NaN wins always.
func pick(have, operand *pb.Value, direction int) *pb.Value {
	switch {
	case math.IsNaN(toDouble(have)):
		return have
	case math.IsNaN(toDouble(operand)) || compareNumbers(operand, have)*direction > 0:
		return operand
	}
	return have
}

func array(operand []*pb.Value, f func(have, operand []*pb.Value) []*pb.Value) (func(*pb.Value, stamp) (*pb.Value, *pb.Value), error) {
	for _, v := range operand {
		if err := checkValue(v, 1, true); err != nil {
			return nil, err
		}
	}
	return func(have *pb.Value, _ stamp) (*pb.Value, *pb.Value) {
		return arrayValue(f(have.GetArrayValue().GetValues(), operand)), nullValue()
	}, nil
}

func holds(vs []*pb.Value, v *pb.Value) bool {
	return slices.ContainsFunc(vs, func(o *pb.Value) bool { return equalValues(o, v) })
}

func union(have, operand []*pb.Value) []*pb.Value {
	out := slices.Clone(have)
	for _, v := range operand {
		if !holds(out, v) {
			out = append(out, v)
		}
	}
	return out
}

func difference(have, operand []*pb.Value) []*pb.Value {
	return slices.DeleteFunc(slices.Clone(have), func(v *pb.Value) bool { return holds(operand, v) })
}
