package proxy

import (
	"net/http"
	"testing"
)

func header(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h
}

// Requests as the services send them.
var (
	taskHeaders = header("User-Agent", "Google-Cloud-Tasks", "X-CloudTasks-QueueName", "orders", "X-CloudTasks-TaskName", "2956",
		"X-CloudTasks-TaskRetryCount", "0", "X-CloudTasks-TaskExecutionCount", "0", "X-CloudTasks-TaskETA", "1792152005.1", "Content-Type", "application/json")
	pushBody = `{"message":{"attributes":{"k":"v"},"data":"eyJhIjoxfQ==","messageId":"2070443601311540","message_id":"2070443601311540",` +
		`"publishTime":"2026-10-16T12:00:00.1Z","publish_time":"2026-10-16T12:00:00.1Z"},"subscription":"projects/p/subscriptions/s"}`
	eventHeaders = header("Ce-Id", "1096434104173400", "Ce-Source", "//pubsub.googleapis.com/projects/p/topics/t", "Ce-Specversion", "1.0",
		"Ce-Type", "google.cloud.pubsub.topic.v1.messagePublished", "Content-Type", "application/json")
	structured = `{"specversion":"1.0","id":"1096434104173400","source":"//pubsub.googleapis.com/projects/p/topics/t","type":"x","data":{"a":1}}`
	appEngine  = header("User-Agent", "AppEngine-Google; (+http://code.google.com/appengine)", "X-CloudScheduler", "true", "X-CloudScheduler-JobName", "daily",
		"X-CloudScheduler-ScheduleTime", "2026-10-16T12:00:00Z", "X-AppEngine-Cron", "true", "X-AppEngine-QueueName", "__scheduler")
)

// R1, R4, R6, R23: what each source makes of its trigger's requests, and of those that it must refuse.
func TestSources(t *testing.T) {
	t.Parallel()
	structuredHeader := header("Content-Type", "application/cloudevents+json; charset=utf-8")
	for name, tt := range map[string]struct {
		source string
		header http.Header
		body   string
		name   string // of the delivery
		data   string // its body
		code   string // of the refusal
	}{
		"app engine":           {sourceScheduler, appEngine, "{}", "daily", "{}", ""},
		"task":                 {sourceCloudTasks, taskHeaders, `{"x":1}`, "orders/2956", `{"x":1}`, ""},
		"task without queue":   {sourceCloudTasks, header("X-CloudTasks-TaskName", "2956"), "", "", "", "missing-header"},
		"task named twice":     {sourceCloudTasks, header("X-CloudTasks-QueueName", "q", "X-CloudTasks-TaskName", "1", "X-CloudTasks-TaskName", "2"), "", "", "", "missing-header"},
		"push":                 {sourcePubSub, header(), pushBody, "2070443601311540", `{"a":1}`, ""},
		"push without id":      {sourcePubSub, header(), `{"message":{"data":""},"subscription":"projects/p/subscriptions/s"}`, "", "", "bad-body"},
		"push with two ids":    {sourcePubSub, header(), `{"message":{"messageId":"1","message_id":"2"},"subscription":"projects/p/subscriptions/s"}`, "", "", "bad-body"},
		"push of nothing":      {sourcePubSub, header(), `hello`, "", "", "bad-body"},
		"push, bad base64":     {sourcePubSub, header(), `{"message":{"data":"%"},"subscription":"projects/p/subscriptions/s"}`, "", "", "bad-body"},
		"binary event":         {sourceCloudEvent, eventHeaders, `{"a":1}`, "1096434104173400", `{"a":1}`, ""},
		"structured event":     {sourceCloudEvent, structuredHeader, structured, "1096434104173400", `{"a":1}`, ""},
		"structured, base64":   {sourceCloudEvent, structuredHeader, `{"id":"1","source":"s","data_base64":"eyJhIjoxfQ=="}`, "1", `{"a":1}`, ""},
		"event without id":     {sourceCloudEvent, header("Ce-Source", "s"), "", "", "", "missing-header"},
		"structured, no id":    {sourceCloudEvent, structuredHeader, `{"source":"s"}`, "", "", "bad-body"},
		"batch":                {sourceCloudEvent, header("Content-Type", "application/cloudevents-batch+json"), `[]`, "", "", "bad-body"},
		"key":                  {sourceIdempotencyKey, header("Idempotency-Key", "order-1"), "{}", "order-1", "{}", ""},
		"quoted key":           {sourceIdempotencyKey, header("Idempotency-Key", `"order-1"`), "{}", "order-1", "{}", ""},
		"no key":               {sourceIdempotencyKey, taskHeaders, "{}", "", "", "missing-header"},
		"task to a scheduler":  {sourceScheduler, taskHeaders, "", "", "", "missing-header"},
		"scheduler to a queue": {sourceCloudTasks, appEngine, "", "", "", "missing-header"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := request{header: tt.header, body: []byte(tt.body), target: testTarget, caller: testAccount, now: testNow}
			d, err := readDelivery(Config{}.WithDefaults(), []string{tt.source}, r)
			if code(err) != tt.code {
				t.Fatalf("got %v, want code %q", err, tt.code)
			}
			if err != nil {
				return
			}
			if d.name != tt.name || string(d.body) != tt.data || len(d.runID) != 64 || d.source != tt.source {
				t.Errorf("got %+v with body %s, want name %q and body %q", d, d.body, tt.name, tt.data)
			}
			other := r
			other.target = "projects/p/locations/l/workflows/other"
			if o, err := readDelivery(Config{}.WithDefaults(), []string{tt.source}, other); err != nil || o.runID == d.runID {
				t.Errorf("another target: got %s, %v; want another run", o.runID, err)
			}
		})
	}
}

// A header of another source is never trusted by accident: with several sources accepted, exactly one must show.
func TestSeveralSources(t *testing.T) {
	t.Parallel()
	all := sourceNames()
	both := taskHeaders.Clone()
	both.Set("Idempotency-Key", "k")
	for name, tt := range map[string]struct {
		accepted []string
		header   http.Header
		body     string
		source   string
		code     string
	}{
		"task":              {all, taskHeaders, "", sourceCloudTasks, ""},
		"push":              {all, header(), pushBody, sourcePubSub, ""},
		"event":             {all, eventHeaders, "{}", sourceCloudEvent, ""},
		"scheduler":         {all, appEngine, "", sourceScheduler, ""},
		"key":               {all, header("Idempotency-Key", "k"), "", sourceIdempotencyKey, ""},
		"two":               {all, both, "", "", "ambiguous-source"},
		"two, one accepted": {[]string{sourceCloudTasks, sourcePubSub}, both, "", sourceCloudTasks, ""},
		"none":              {all, header(), "{}", "", "no-source"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := readDelivery(Config{}.WithDefaults(), tt.accepted, request{header: tt.header, body: []byte(tt.body), target: testTarget, caller: testAccount, now: testNow})
			if d.source != tt.source || code(err) != tt.code {
				t.Errorf("got source %q, %v; want %q, code %q", d.source, err, tt.source, tt.code)
			}
		})
	}
}

// Keys of two accounts never meet.
func TestKeysOfTwoAccounts(t *testing.T) {
	t.Parallel()
	r := request{header: header("Idempotency-Key", "k"), target: testTarget, caller: testAccount, now: testNow}
	a, err := readIdempotencyKey(Config{}, r)
	if err != nil {
		t.Fatal(err)
	}
	r.caller = "someone@else.example"
	b, err := readIdempotencyKey(Config{}, r)
	if err != nil || a.runID == b.runID {
		t.Errorf("got %v and one run %v, want two runs", err, a.runID == b.runID)
	}
}
