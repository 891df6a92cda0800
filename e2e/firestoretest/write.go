package firestoretest

import (
	"time"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// write is one checked write of a request.
type write struct {
	name       string
	deletes    bool
	onlyMoves  bool // a transform without an update
	fields     map[string]*pb.Value
	mask       []fieldPath // nil: the whole document
	masked     bool
	transforms []transform
	pre        *pb.Precondition
	result     *pb.WriteResult
}

// parseWrites checks everything of a commit's writes that can be checked without looking at the documents.
func parseWrites(db string, in []*pb.Write) ([]write, error) {
	out := make([]write, 0, len(in))
	for _, w := range in {
		p, err := parseWrite(db, w)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

func parseWrite(db string, in *pb.Write) (write, error) {
	w := write{pre: in.CurrentDocument, result: &pb.WriteResult{}}
	var err error
	switch op := in.Operation.(type) {
	case *pb.Write_Update:
		w.name, w.fields = op.Update.GetName(), op.Update.GetFields()
		if in.UpdateMask != nil {
			w.masked = true
			w.mask, err = parseMask(in.UpdateMask)
		}
		if err == nil {
			w.transforms, err = parseTransforms(in.UpdateTransforms)
		}
	case *pb.Write_Delete:
		w.name, w.deletes = op.Delete, true
	case *pb.Write_Transform:
		w.name, w.onlyMoves = op.Transform.GetDocument(), true
		w.transforms, err = parseTransforms(op.Transform.GetFieldTransforms())
	default:
		return w, invalid("A write has no operation.")
	}
	if err != nil {
		return w, err
	}
	if !w.onlyMoves && w.deletes && (in.UpdateMask != nil || len(in.UpdateTransforms) > 0) {
		return w, invalid("update_mask and update_transforms fit an update only.")
	}
	if ts := w.pre.GetUpdateTime(); ts != nil && ts.Nanos%int32(time.Microsecond) != 0 {
		return w, invalid("The update_time of a precondition must be aligned to microseconds.")
	}
	if err := checkDocName(db, w.name); err != nil {
		return w, err
	}
	return w, checkFields(w.fields, 1)
}

// run works the write out on p.
func (w *write) run(p *pending, now stamp) error {
	if err := p.check(w.pre, w.deletes); err != nil {
		return err
	}
	w.result.TransformResults = nil // of an earlier round, before a wait
	if w.deletes {
		p.after = nil
		return nil
	}
	fields := w.target(p.after)
	for _, t := range w.transforms {
		var out *pb.Value
		fields, out = t.apply(fields, now)
		w.result.TransformResults = append(w.result.TransformResults, out)
	}
	p.transforms += len(w.transforms)
	p.replace(fields)
	return nil
}

// target is what the fields are before the transforms.
func (w *write) target(current *pb.Document) map[string]*pb.Value {
	if w.onlyMoves {
		return current.GetFields()
	}
	if !w.masked {
		return w.fields
	}
	fields := current.GetFields()
	for _, p := range w.mask {
		fields = p.set(fields, p.get(w.fields))
	}
	return fields
}

func timeValue(ts *timestamppb.Timestamp) *pb.Value {
	return &pb.Value{ValueType: &pb.Value_TimestampValue{TimestampValue: ts}}
}
