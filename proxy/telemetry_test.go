package proxy

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// The counters say what deliveries came to and what became of claims.
func TestMetrics(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	reader := sdkmetric.NewManualReader()
	w.meters = sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	s, _ := w.start()
	w.url = "http://" + s.Addr()
	w.deliver("")
	w.deliver("")
	var got metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &got); err != nil {
		t.Fatal(err)
	}
	counts := map[string]int64{}
	for _, m := range got.ScopeMetrics[0].Metrics {
		sum, ok := m.Data.(metricdata.Sum[int64])
		if !ok {
			continue
		}
		for _, p := range sum.DataPoints {
			for _, key := range []string{"verdict", "kind"} {
				if v, ok := p.Attributes.Value(attribute.Key(key)); ok {
					counts[m.Name+" "+v.AsString()] += p.Value
				}
			}
		}
	}
	for name, want := range map[string]int64{
		"runonce.proxy.deliveries started": 1, "runonce.proxy.deliveries replayed": 1, "runonce.proxy.claims claimed": 1, "runonce.proxy.claims finished": 1, "runonce.proxy.claims replayed": 1,
	} {
		if counts[name] != want {
			t.Errorf("%s: got %d, want %d; all are %v", name, counts[name], want, counts)
		}
	}
}

// With an endpoint, both metrics and traces arrive there, at the latest when the server closes.
func TestExport(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	posts := map[string]int{}
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		posts[r.URL.Path]++
	}))
	defer collector.Close()
	w := newWorld(t, nil)
	w.cfg.OTLPEndpoint = collector.URL
	s, stop := w.start()
	w.url = "http://" + s.Addr()
	w.deliver("")
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if posts["/v1/metrics"] == 0 || posts["/v1/traces"] == 0 {
		t.Errorf("got posts to %v, want metrics and traces", posts)
	}
}
