package guardtest

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync/atomic"

	"example.com/runonce/functions/guard"
)

// B9: nothing is a result too, whatever its type: the effect does not run again, and the replay is equal.
func nothingIsAResult(b *bench) {
	type empty struct{}
	type shape struct {
		A int
		B []string
		C *int
	}
	twice(b, "zero", 0)
	twice(b, "false", false)
	twice(b, "empty_string", "")
	twice(b, "empty_struct", empty{})
	twice(b, "zero_struct", shape{})
	twice[*shape](b, "nil_pointer", nil)
	twice[[]string](b, "nil_slice", nil)
	twice(b, "empty_slice", []string{})
	twice[map[string]int](b, "nil_map", nil)
	twice(b, "empty_map", map[string]int{})
	twice[any](b, "nil_any", nil)
	twice(b, "raw_null", json.RawMessage("null"))
	twice(b, "bytes", []byte{0, 255})
	twice(b, "no_bytes", []byte{})
}

// twice runs a step that returns want, and then its duplicate in another process.
func twice[T any](b *bench, name string, want T) {
	b.Helper()
	b.each(name, func(b *bench, token string) {
		n := 0
		e := guard.Effect[T]{
			Request: guard.Request{Token: token},
			Do:      func(context.Context, guard.Attempt) (T, error) { n++; return want, nil },
		}
		for _, replayed := range []bool{false, true} {
			got, err := guard.Do(b.Context(), b.process().Guard, e)
			if err != nil || got.Replayed != replayed || !reflect.DeepEqual(got.Value, want) {
				b.Errorf("got %#v, replayed %t, error %v; want %#v, replayed %t", got.Value, got.Replayed, err, want, replayed)
			}
		}
		if n != 1 {
			b.Errorf("%d effects, want 1", n)
		}
	})
}

// B10: every state against the same and another payload, with and without the cache.
func fingerprintMatrix(b *bench) {
	states := map[string]struct {
		make func(b *bench, p *process, token string)
		same error // what the same payload gets; nil: replayed or run
	}{
		"in_progress": {func(b *bench, p *process, token string) {
			p.stick(token, func(context.Context) (string, error) { return "first", nil })
		}, guard.ErrInProgress},
		"completed": {func(b *bench, p *process, token string) { _, _ = p.do(token, "first", new(atomic.Int64)) }, nil},
		"failed":    {func(b *bench, p *process, token string) { b.finish(token, "", guard.Permanent(errors.New("x"))) }, guard.ErrFailed},
		"released":  {func(b *bench, p *process, token string) { b.finish(token, "", errors.New("x")) }, nil},
	}
	for name, state := range states {
		for _, cache := range []int{0, 8} {
			for _, payload := range []string{"payload", "other"} {
				row := name + "_" + payload + map[int]string{0: "", 8: "_cached"}[cache]
				b.each(row, func(b *bench, token string) {
					p := b.process(func(c *guard.Config) { c.Cache = cache })
					state.make(b, p, token)
					before := b.snapshot(token)
					var n atomic.Int64
					e := step(token, "second", &n)
					e.Request.Fingerprint = payload
					_, err := guard.Do(b.Context(), p.Guard, e)
					switch {
					case payload == "other":
						b.wantErr(err, guard.ErrMismatch)
						b.wantCount(&n, 0)
						b.unchanged(before)
					case state.same != nil:
						b.wantErr(err, state.same)
					case err != nil:
						b.Errorf("the same payload was refused: %v", err)
					}
				})
			}
		}
	}
}

// B11: with the cache on, everybody sees what they would see with it off; but a replay costs no store call.
func cacheIsInvisible(b *bench) {
	type seen struct {
		Value    string
		Replayed bool
		Refusal  string
	}
	story := func(b *bench, token string, cache int) (list []seen) {
		p := b.process(func(c *guard.Config) { c.Cache = cache })
		ask := func(payload string, err error) {
			e := guard.Effect[string]{
				Request: guard.Request{Token: token, Fingerprint: payload},
				Do:      func(context.Context, guard.Attempt) (string, error) { return "value of " + payload, err },
			}
			got, err := guard.Do(b.Context(), p.Guard, e)
			s := seen{Value: got.Value, Replayed: got.Replayed}
			for name, refusal := range map[string]error{"mismatch": guard.ErrMismatch, "failed": guard.ErrFailed, "in progress": guard.ErrInProgress} {
				if errors.Is(err, refusal) {
					s.Refusal = name
				}
			}
			list = append(list, s)
		}
		ask("payload", errors.New("once more, please"))
		ask("payload", nil)
		ask("payload", nil)
		ask("other", nil)
		ask("payload", nil)
		return list
	}
	var off, on []seen
	b.each("off", func(b *bench, token string) { off = story(b, token, 0) })
	b.each("on", func(b *bench, token string) { on = story(b, token, 8) })
	if !reflect.DeepEqual(off, on) {
		b.Errorf("cache off %+v\ncache on  %+v", off, on)
	}
	b.each("costs_nothing", func(b *bench, token string) {
		p := b.process(func(c *guard.Config) { c.Cache = 8 })
		var n atomic.Int64
		_, _ = p.do(token, "first", &n)
		calls := p.faults.Count("")
		got, err := p.do(token, "second", &n)
		b.want(got, err, "first", true)
		if now := p.faults.Count(""); now != calls {
			b.Errorf("a cached replay made %d store calls", now-calls)
		}
	})
}

// B25: a result as large as the store must keep is replayed; a bigger one is done all the same and never repeated.
func largeResult(b *bench) {
	for name, size := range map[string]int{"at_the_limit": b.MaxBody - 2, "far_beyond": 32 << 20} { // two bytes of quotes
		b.each(name, func(b *bench, token string) {
			value := strings.Repeat("x", size)
			var n atomic.Int64
			first, err := b.process().do(token, value, &n)
			if err == nil && first.Value != value {
				b.Errorf("the first caller got %d bytes, want %d", len(first.Value), size)
			}
			if size < b.MaxBody {
				b.wantErr(err, nil)
			}
			second, err := b.process().do(token, "again", &n)
			b.wantCount(&n, 1)
			switch {
			case size < b.MaxBody && (err != nil || second.Value != value || !second.Replayed):
				b.Errorf("replay of %d bytes, %t, error %v; want %d bytes", len(second.Value), second.Replayed, err, size)
			case err == nil && second.Value != value:
				b.Errorf("the replay has %d bytes, neither all %d nor an error", len(second.Value), size)
			}
		})
	}
}

// B26: a response is replayed byte for byte: status, compressed body, headers of several values; no cookie is kept.
func responseByteForByte(b *bench) {
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = io.WriteString(z, strings.Repeat("response ", 100))
	_ = z.Close()
	var n atomic.Int64
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n.Add(1)
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Location", "/orders/1")
		w.Header().Add("Link", "<b>; rel=next")
		w.Header().Add("Link", "<a>; rel=prev")
		w.Header().Add("Set-Cookie", "secret=1")
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write(zipped.Bytes())
	})
	send := func() *http.Response {
		handler := guard.Handler(b.process().Guard, guard.HandlerConfig{Headers: []string{"Link", "Set-Cookie"}})(h)
		r := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/orders", strings.NewReader("{}"))
		r.Header.Set("Idempotency-Key", benchToken)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w.Result()
	}
	first, second := send(), send()
	b.wantCount(&n, 1)
	for name, r := range map[string]*http.Response{"first": first, "replay": second} {
		body, _ := io.ReadAll(r.Body)
		if r.StatusCode != http.StatusCreated || !bytes.Equal(body, zipped.Bytes()) {
			b.Errorf("%s: status %d, %d bytes; want 201 and the %d bytes sent", name, r.StatusCode, len(body), zipped.Len())
		}
		if name == "replay" {
			for _, header := range []string{"Content-Type", "Content-Encoding", "Location", "Link"} {
				if !reflect.DeepEqual(r.Header[header], first.Header[header]) {
					b.Errorf("%s is %q, at first %q", header, r.Header[header], first.Header[header])
				}
			}
			if r.Header.Get("Idempotent-Replayed") != "true" || r.Header.Get("Set-Cookie") != "" {
				b.Errorf("replayed %q with cookie %q, want true and none", r.Header.Get("Idempotent-Replayed"), r.Header.Get("Set-Cookie"))
			}
		}
	}
	if raw, _ := json.Marshal(b.snapshot(benchToken).Record); bytes.Contains(raw, []byte("secret=1")) {
		b.Error("the record holds a cookie")
	}
}
