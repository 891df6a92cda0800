package guardtest

import (
	"bytes"
	"maps"
	"slices"

	"example.com/runonce/functions/guard"
)

// Clone is a deep copy of rec: nothing that is done to one shows in the other.
func Clone(rec guard.Record) guard.Record {
	rec.Lease = clonePointer(rec.Lease)
	rec.Failure = clonePointer(rec.Failure)
	rec.Input = bytes.Clone(rec.Input)
	rec.Attempts = slices.Clone(rec.Attempts)
	if rec.Outcome != nil {
		out := *rec.Outcome
		out.Body = bytes.Clone(out.Body)
		out.Headers = maps.Clone(out.Headers)
		for name, values := range out.Headers {
			out.Headers[name] = slices.Clone(values)
		}
		rec.Outcome = &out
	}
	return rec
}

func clonePointer[T any](p *T) *T {
	if p == nil {
		return nil
	}
	c := *p
	return &c
}
