package guard

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/trace"
)

// otelObserver counts transitions by kind, measures how long steps take, and notes each in the caller's span. Tokens go to
// the span alone: as a metric's label they would be as many as steps.
type otelObserver struct {
	count metric.Int64Counter
	took  metric.Float64Histogram
}

func newOtelObserver(m metric.Meter) (*otelObserver, error) {
	count, err := m.Int64Counter("runonce.transitions", metric.WithDescription("transitions of guarded steps by kind"))
	if err != nil {
		return nil, err
	}
	took, err := m.Float64Histogram("runonce.took", metric.WithUnit("s"), metric.WithDescription("time from the guarded call to the transition"))
	if err != nil {
		return nil, err
	}
	return &otelObserver{count, took}, nil
}

func (o *otelObserver) Observe(ctx context.Context, e Event) {
	kind := metric.WithAttributes(attribute.String("kind", string(e.Kind)))
	o.count.Add(ctx, 1, kind)
	o.took.Record(ctx, e.Took.Seconds(), kind)
	span := trace.SpanFromContext(ctx)
	span.AddEvent("runonce."+string(e.Kind), trace.WithAttributes(
		attribute.String("token", e.Token), attribute.String("attempt_id", e.AttemptID), attribute.Int64("fence", e.Fence)))
	if e.Kind == Lost || e.Kind == WentUncertain || e.Kind == Unrecorded {
		span.RecordError(e.Err)
	}
}

// Metrics and traces are the caller's choice: an observer for OpenTelemetry is the type above.
func ExampleObserver() {
	observer, err := newOtelObserver(noop.NewMeterProvider().Meter("example"))
	if err != nil {
		panic(err)
	}
	g, err := New(&mem{}, Config{Observer: observer})
	if err != nil {
		panic(err)
	}
	_, _ = Do(context.Background(), g, Effect[int]{
		Request: Request{Token: "run42/step"},
		Do:      func(context.Context, Attempt) (int, error) { return 1, nil },
	})
	// Output:
}
