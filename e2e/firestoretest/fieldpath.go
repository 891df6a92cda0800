package firestoretest

import (
	"maps"
	"strings"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
)

// nameField is the field path that stands for a document's name.
const nameField = "__name__"

// fieldPath is a parsed field path, one name a map level.
type fieldPath []string

// parsePath reads a.b.`c d`: simple names, or any name in backticks, in which a backslash escapes.
func parsePath(s string) (fieldPath, error) {
	var out fieldPath
	if len(s) > 1500 {
		return nil, invalid("Field path is longer than 1500 bytes.")
	}
	for rest := s; ; {
		name, tail, ok := nextName(rest)
		if !ok || name == "" {
			return nil, invalid("Invalid field path %q.", s)
		}
		if reservedID.MatchString(name) && s != nameField {
			return nil, invalid("Field name %q in path %q is reserved.", name, s)
		}
		out = append(out, name)
		if tail == "" {
			return out, nil
		}
		rest = tail[1:]
	}
}

// nextName cuts the first name off; tail is empty or begins with a dot.
func nextName(s string) (name, tail string, ok bool) {
	if !strings.HasPrefix(s, "`") {
		i := strings.IndexByte(s, '.')
		if i < 0 {
			i = len(s)
		}
		return s[:i], s[i:], !strings.Contains(s[:i], "`")
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
			if i == len(s) {
				return "", "", false
			}
			b.WriteByte(s[i])
		case '`':
			tail = s[i+1:]
			return b.String(), tail, tail == "" || tail[0] == '.'
		default:
			b.WriteByte(s[i])
		}
	}
	return "", "", false
}

func (p fieldPath) isName() bool { return len(p) == 1 && p[0] == nameField }

func (p fieldPath) String() string { return strings.Join(p, ".") }

// get looks a path up; nil when it is not there.
func (p fieldPath) get(fields map[string]*pb.Value) *pb.Value {
	v := fields[p[0]]
	for _, name := range p[1:] {
		v = v.GetMapValue().GetFields()[name]
	}
	return v
}

// set returns fields with the path set to v, or without it when v is nil. What it changes it copies first: stored values are never written to.
func (p fieldPath) set(fields map[string]*pb.Value, v *pb.Value) map[string]*pb.Value {
	if v == nil && p.get(fields) == nil {
		return fields
	}
	out := maps.Clone(fields)
	if out == nil {
		out = map[string]*pb.Value{}
	}
	switch {
	case len(p) > 1:
		below := p[1:].set(out[p[0]].GetMapValue().GetFields(), v)
		out[p[0]] = &pb.Value{ValueType: &pb.Value_MapValue{MapValue: &pb.MapValue{Fields: below}}}
	case v == nil:
		delete(out, p[0])
	default:
		out[p[0]] = v
	}
	return out
}

func parseMask(m *pb.DocumentMask) ([]fieldPath, error) {
	if m == nil {
		return nil, nil
	}
	out := make([]fieldPath, 0, len(m.FieldPaths))
	for _, s := range m.FieldPaths {
		p, err := parsePath(s)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// masked is the document with only the fields of the mask; a nil mask keeps all.
func masked(d *pb.Document, mask []fieldPath) *pb.Document {
	if mask == nil || d == nil {
		return d
	}
	var fields map[string]*pb.Value
	for _, p := range mask {
		if p.isName() {
			continue
		}
		if v := p.get(d.Fields); v != nil {
			fields = p.set(fields, v)
		}
	}
	return &pb.Document{Name: d.Name, Fields: fields, CreateTime: d.CreateTime, UpdateTime: d.UpdateTime}
}
