package proxy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"example.com/runonce/functions/guard"
)

const scopeName = "example.com/runonce/proxy"

// telemetry counts deliveries and what the guard does with claims, and traces deliveries. Run ids go into spans, never into metrics: there are as
// many as runs.
type telemetry struct {
	deliveries metric.Int64Counter     // by source, verdict, status
	seconds    metric.Float64Histogram // of deliveries, by verdict
	claims     metric.Int64Counter     // by kind: claimed, took_over, replayed, refused, lost, found, released, went_uncertain, ...
	early      metric.Int64Counter     // slots that were claimed before their time
	swept      metric.Int64Counter     // runs of sweeps, by outcome
	tracer     oteltrace.Tracer
	next       guard.Observer
}

// newTelemetry makes the instruments. Without providers of the caller's, it exports by OTLP over HTTP to Config.OTLPEndpoint, and without that to nowhere.
func (s *Server) newTelemetry(ctx context.Context, deps Deps) (*telemetry, error) {
	meters, tracers := deps.Meters, deps.Tracers
	if s.cfg.OTLPEndpoint != "" && meters == nil && tracers == nil {
		var err error
		if meters, tracers, err = s.exporters(ctx); err != nil {
			return nil, err
		}
	}
	if meters == nil {
		meters = metricnoop.NewMeterProvider()
	}
	if tracers == nil {
		tracers = tracenoop.NewTracerProvider()
	}
	t := &telemetry{tracer: tracers.Tracer(scopeName), next: deps.Observer}
	m := meters.Meter(scopeName)
	var errs [5]error
	t.deliveries, errs[0] = m.Int64Counter("runonce.proxy.deliveries", metric.WithDescription("Deliveries by source, verdict and status"), metric.WithUnit("{delivery}"))
	t.seconds, errs[1] = m.Float64Histogram("runonce.proxy.delivery.duration", metric.WithDescription("How long a delivery took"), metric.WithUnit("s"))
	t.claims, errs[2] = m.Int64Counter("runonce.proxy.claims", metric.WithDescription("Transitions of claims by kind"), metric.WithUnit("{transition}"))
	t.early, errs[3] = m.Int64Counter("runonce.proxy.early", metric.WithDescription("Slots that were claimed before their time"), metric.WithUnit("{run}"))
	t.swept, errs[4] = m.Int64Counter("runonce.proxy.swept", metric.WithDescription("Runs that a sweep took up, by outcome"), metric.WithUnit("{run}"))
	return t, errors.Join(errs[:]...)
}

// exporters make the providers, which the server shuts down, and so flushes, when it closes.
func (s *Server) exporters(ctx context.Context) (metric.MeterProvider, oteltrace.TracerProvider, error) {
	res := resource.NewSchemaless(attribute.String("service.name", "runonce-proxy"), attribute.String("service.instance.id", s.cfg.Service))
	me, err := otlpmetrichttp.New(ctx, otlpmetrichttp.WithEndpointURL(s.cfg.OTLPEndpoint+"/v1/metrics"))
	if err != nil {
		return nil, nil, fmt.Errorf("export metrics: %w", err)
	}
	te, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(s.cfg.OTLPEndpoint+"/v1/traces"))
	if err != nil {
		return nil, nil, fmt.Errorf("export traces: %w", err)
	}
	mp := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(me)), sdkmetric.WithResource(res))
	tp := sdktrace.NewTracerProvider(sdktrace.WithBatcher(te), sdktrace.WithResource(res), sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.AlwaysSample())))
	s.closers = append(s.closers, func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second) // what is left of the platform's ten seconds
		defer cancel()
		if err := errors.Join(mp.Shutdown(ctx), tp.Shutdown(ctx)); err != nil {
			s.log.WarnContext(ctx, "the last metrics or traces were lost", "error", err.Error())
		}
		return nil // nothing that runs depends on them
	})
	return mp, tp, nil
}

// Observe counts a transition of a claim (guard.Observer).
func (t *telemetry) Observe(ctx context.Context, e guard.Event) {
	t.claims.Add(ctx, 1, metric.WithAttributes(attribute.String("kind", string(e.Kind))))
	oteltrace.SpanFromContext(ctx).AddEvent(string(e.Kind), oteltrace.WithAttributes(attribute.String("attempt_id", e.AttemptID), attribute.Int64("fence", e.Fence)))
	if t.next != nil {
		t.next.Observe(ctx, e)
	}
}

// begin starts the span of a request, as a child of the caller's.
func (t *telemetry) begin(r *http.Request) (context.Context, oteltrace.Span) {
	ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	return t.tracer.Start(ctx, "delivery", oteltrace.WithSpanKind(oteltrace.SpanKindServer))
}

// delivered counts a delivery and ends its span.
func (t *telemetry) delivered(ctx context.Context, span oteltrace.Span, a *answer, verdict string, status int, took time.Duration) {
	d := a.delivery
	t.deliveries.Add(ctx, 1, metric.WithAttributes(attribute.String("source", d.source), attribute.String("verdict", verdict), attribute.Int("status", status)))
	t.seconds.Record(ctx, took.Seconds(), metric.WithAttributes(attribute.String("verdict", verdict)))
	if d.ahead > 0 {
		t.early.Add(ctx, 1)
	}
	span.SetAttributes(attribute.String("run_id", d.runID), attribute.String("target", a.target), attribute.String("verdict", verdict), attribute.Int("http.response.status_code", status))
	if status >= 500 {
		span.SetStatus(codes.Error, verdict)
	}
	span.End()
}

func (t *telemetry) sweptRun(ctx context.Context, outcome string) {
	t.swept.Add(ctx, 1, metric.WithAttributes(attribute.String("outcome", outcome)))
}
