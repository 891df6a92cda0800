package firestoretest

import (
	"bytes"
	"cmp"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
)

// rank orders the types of values, as the service's documentation of data types lists them.
func rank(v *pb.Value) int {
	switch v.GetValueType().(type) {
	case *pb.Value_NullValue:
		return 1
	case *pb.Value_BooleanValue:
		return 2
	case *pb.Value_IntegerValue, *pb.Value_DoubleValue:
		return 3
	case *pb.Value_TimestampValue:
		return 4
	case *pb.Value_StringValue:
		return 5
	case *pb.Value_BytesValue:
		return 6
	case *pb.Value_ReferenceValue:
		return 7
	case *pb.Value_GeoPointValue:
		return 8
	case *pb.Value_ArrayValue:
		return 9
	case *pb.Value_MapValue:
		if v.GetMapValue().GetFields()["__type__"].GetStringValue() == "__vector__" {
			return 10
		}
		return 11
	}
	return 0
}

// compareValues is the order of values in indexes and queries. Numbers of both types are compared exactly, NaN is the least of them.
func compareValues(a, b *pb.Value) int {
	ra, rb := rank(a), rank(b)
	if ra != rb {
		return cmp.Compare(ra, rb)
	}
	switch ra {
	case 2:
		return cmp.Compare(b2i(a.GetBooleanValue()), b2i(b.GetBooleanValue()))
	case 3:
		return compareNumbers(a, b)
	case 4:
		x, y := a.GetTimestampValue(), b.GetTimestampValue()
		return cmp.Or(cmp.Compare(x.GetSeconds(), y.GetSeconds()), cmp.Compare(x.GetNanos(), y.GetNanos()))
	case 5:
		return strings.Compare(a.GetStringValue(), b.GetStringValue())
	case 6:
		return bytes.Compare(a.GetBytesValue(), b.GetBytesValue())
	case 7:
		return compareNames(a.GetReferenceValue(), b.GetReferenceValue())
	case 8:
		x, y := a.GetGeoPointValue(), b.GetGeoPointValue()
		return cmp.Or(cmp.Compare(x.GetLatitude(), y.GetLatitude()), cmp.Compare(x.GetLongitude(), y.GetLongitude()))
	case 9:
		return slices.CompareFunc(a.GetArrayValue().GetValues(), b.GetArrayValue().GetValues(), compareValues)
	case 10:
		x, y := vector(a), vector(b)
		return cmp.Or(cmp.Compare(len(x), len(y)), slices.CompareFunc(x, y, compareValues))
	case 11:
		return compareMaps(a.GetMapValue().GetFields(), b.GetMapValue().GetFields())
	}
	return 0
}

func vector(v *pb.Value) []*pb.Value {
	return v.GetMapValue().GetFields()["value"].GetArrayValue().GetValues()
}

func compareMaps(a, b map[string]*pb.Value) int {
	ka, kb := slices.Sorted(maps.Keys(a)), slices.Sorted(maps.Keys(b))
	for i := range min(len(ka), len(kb)) {
		if c := strings.Compare(ka[i], kb[i]); c != 0 {
			return c
		}
		if c := compareValues(a[ka[i]], b[kb[i]]); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(ka), len(kb))
}

func compareNumbers(a, b *pb.Value) int {
	x, xInt := a.ValueType.(*pb.Value_IntegerValue)
	y, yInt := b.ValueType.(*pb.Value_IntegerValue)
	switch {
	case xInt && yInt:
		return cmp.Compare(x.IntegerValue, y.IntegerValue)
	case xInt:
		return -compareDoubleInt(b.GetDoubleValue(), x.IntegerValue)
	case yInt:
		return compareDoubleInt(a.GetDoubleValue(), y.IntegerValue)
	}
	return cmp.Compare(a.GetDoubleValue(), b.GetDoubleValue())
}

// compareDoubleInt compares without rounding the integer.
func compareDoubleInt(d float64, i int64) int {
	switch {
	case math.IsNaN(d) || math.IsInf(d, -1):
		return -1
	case math.IsInf(d, 1):
		return 1
	}
	if math.Abs(d) < 1<<52 && i > -1<<52 && i < 1<<52 {
		return cmp.Compare(d, float64(i))
	}
	return new(big.Float).SetFloat64(d).Cmp(new(big.Float).SetInt64(i))
}

func equalValues(a, b *pb.Value) bool { return compareValues(a, b) == 0 }

func isNumber(v *pb.Value) bool { return v != nil && rank(v) == 3 }

func toDouble(v *pb.Value) float64 {
	if i, ok := v.GetValueType().(*pb.Value_IntegerValue); ok {
		return float64(i.IntegerValue)
	}
	return v.GetDoubleValue()
}
