package engine

import (
	"runtime"
	"sync"
	"testing"

	"example.com/runonce/workflows/syntax"
)

func compileBench(b testing.TB, yaml string) *Program {
	b.Helper()
	w, err := syntax.Parse("bench.yaml", []byte(yaml))
	if err != nil {
		b.Fatal(err)
	}
	p, err := Compile(w)
	if err != nil {
		b.Fatal(err)
	}
	return p
}

// BenchmarkAssignSteps counts assign steps a second on one goroutine; one turn of the loop is one assign step.
func BenchmarkAssignSteps(b *testing.B) {
	p := compileBench(b, `
main:
  params: [n]
  steps:
    - start:
        assign: [{x: 0}]
    - loop:
        for:
          value: v
          range: ['${1}', '${n}']
          steps:
            - add:
                assign: [{x: '${x + v}'}]
    - done:
        return: ${x}
`)
	limits := DefaultLimits()
	limits.Steps = 0
	const turns = 100_000
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Run(b.Context(), []byte("100000"), Config{Limits: &limits, Clock: NewVirtual(epoch)}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(turns)*float64(b.N)/b.Elapsed().Seconds(), "steps/s")
}

// BenchmarkSleepers holds 10,000 executions in sys.sleep at once and reports what they cost.
func BenchmarkSleepers(b *testing.B) {
	p := compileBench(b, `
main:
  params: [args]
  steps:
    - start:
        assign: [{order: '${args}'}]
    - wait:
        call: sys.sleep
        args: {seconds: 3600}
    - done:
        return: ${order.id}
`)
	const executions = 10_000
	for b.Loop() {
		clock := NewVirtual(epoch)
		release := clock.Hold()
		var before, during runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		var all sync.WaitGroup
		for range executions {
			all.Go(func() {
				if _, err := p.Run(b.Context(), []byte(`{"id": 1, "lines": ["a", "b"]}`), Config{Clock: clock}); err != nil {
					b.Error(err)
				}
			})
		}
		for !clock.allAsleep(2 * executions) { // each has a timer for its sleep and one for its longest life
			runtime.Gosched()
		}
		runtime.ReadMemStats(&during)
		used := float64(during.HeapInuse+during.StackInuse) - float64(before.HeapInuse+before.StackInuse)
		b.ReportMetric(used/(1<<20), "MiB")
		b.ReportMetric(used/executions, "B/execution")
		release()
		all.Wait()
	}
}

// allAsleep reports whether nobody works but the one that holds the clock, and so many timers run.
func (v *Virtual) allAsleep(timers int) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.busy == 1 && len(v.timers) == timers
}

// BenchmarkRetriedCall measures an in-process HTTP call through the retry policy on virtual time.
func BenchmarkRetriedCall(b *testing.B) {
	p := compileBench(b, `
- go:
    try:
      call: http.post
      args: {url: "http://dead.test", body: {a: 1}}
    retry: ${http.default_retry}
    except:
      as: e
      steps:
        - done:
            return: ${e.tags}
`)
	for b.Loop() {
		clock := NewVirtual(epoch)
		if _, err := p.Run(b.Context(), nil, Config{Clock: clock, HTTP: newCallee(clock)}); err != nil {
			b.Fatal(err)
		}
	}
}
