package firestoretest

import (
	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
)

// checkFields holds the fields of a document to the rules of names and values, and rounds timestamps down to microseconds as the service stores them.
func checkFields(fields map[string]*pb.Value, depth int) error {
	if depth > maxDepth {
		return invalid("Maps and arrays are nested deeper than %d levels.", maxDepth)
	}
	for name, v := range fields {
		switch {
		case name == "":
			return invalid("Field name is empty.")
		case len(name) > 1500:
			return invalid("Field name is longer than 1500 bytes.")
		case reservedID.MatchString(name) && name != "__type__":
			return invalid("Field name %q is reserved.", name)
		}
		if err := checkValue(v, depth, false); err != nil {
			return err
		}
	}
	return nil
}

func checkValue(v *pb.Value, depth int, inArray bool) error {
	switch t := v.GetValueType().(type) {
	case nil:
		return invalid("A value has no type.")
	case *pb.Value_TimestampValue:
		if err := t.TimestampValue.CheckValid(); err != nil {
			return invalid("Invalid timestamp: %v.", err)
		}
		if odd := t.TimestampValue.Nanos % 1000; odd != 0 {
			t.TimestampValue.Nanos -= odd
		}
	case *pb.Value_ReferenceValue:
		return checkDocName("", t.ReferenceValue)
	case *pb.Value_GeoPointValue:
		p := t.GeoPointValue
		if p.GetLatitude() < -90 || p.GetLatitude() > 90 || p.GetLongitude() < -180 || p.GetLongitude() > 180 {
			return invalid("Geo point is out of range: %v,%v.", p.GetLatitude(), p.GetLongitude())
		}
	case *pb.Value_MapValue:
		return checkFields(t.MapValue.GetFields(), depth+1)
	case *pb.Value_ArrayValue:
		if inArray {
			return invalid("Cannot convert an array value in an array value.")
		}
		for _, e := range t.ArrayValue.GetValues() {
			if err := checkValue(e, depth+1, true); err != nil {
				return err
			}
		}
	}
	return nil
}

func nullValue() *pb.Value { return &pb.Value{ValueType: &pb.Value_NullValue{}} }

func intValue(i int64) *pb.Value {
	return &pb.Value{ValueType: &pb.Value_IntegerValue{IntegerValue: i}}
}

func doubleValue(f float64) *pb.Value {
	return &pb.Value{ValueType: &pb.Value_DoubleValue{DoubleValue: f}}
}

func arrayValue(vs []*pb.Value) *pb.Value {
	return &pb.Value{ValueType: &pb.Value_ArrayValue{ArrayValue: &pb.ArrayValue{Values: vs}}}
}

func refValue(name string) *pb.Value {
	return &pb.Value{ValueType: &pb.Value_ReferenceValue{ReferenceValue: name}}
}
