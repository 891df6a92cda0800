package runs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/admin/adminpb"
	"google.golang.org/grpc"

	"example.com/runonce/e2e/firestoretest"
	"example.com/runonce/functions/guard"
)

// desk is a store with records in it, and the command line beside it. Its tests set an environment variable, which the Firestore client reads, so they
// do not run in parallel with each other.
type desk struct {
	t     *testing.T
	store *firestoretest.Server
	guard *guard.Guard
	env   []string
	in    string
	now   time.Time
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t, store: firestoretest.New(firestoretest.Config{}), now: time.Now()}
	t.Cleanup(d.store.Close)
	t.Setenv("FIRESTORE_EMULATOR_HOST", d.store.Addr())
	db, err := d.store.Client(t.Context(), "p")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // the test is over
	if d.guard, err = guard.New(guard.NewFirestore(db, guard.FirestoreConfig{}), guard.Config{}); err != nil {
		t.Fatal(err)
	}
	return d
}

// run calls the command line; the output is JSON in into, if that is not nil.
func (d *desk) run(into any, args ...string) (string, error) {
	d.t.Helper()
	var out bytes.Buffer
	if into != nil {
		args = append([]string{"--json"}, args...)
	}
	err := Main(d.t.Context(), append([]string{"--project=p"}, args...), Deps{Stdin: strings.NewReader(d.in), Stdout: &out, Environ: d.env, Now: func() time.Time { return d.now }})
	if into != nil && out.Len() > 0 {
		if jsonErr := json.Unmarshal(out.Bytes(), into); jsonErr != nil {
			d.t.Fatalf("%v: got %s, want JSON", args, out.String())
		}
	}
	return out.String(), err
}

// record makes a run's record as the proxy would, ended by err.
func (d *desk) record(n int, job string, slot time.Time, end error) string {
	d.t.Helper()
	id := fmt.Sprintf("%064x", n)
	input := fmt.Sprintf(`{"v":1,"target":"projects/p/locations/l/workflows/w","source":"scheduler","name":%q,"slot":%q,"by":"a@p","request":{"argument":"hush"}}`, job, slot.Format(time.RFC3339Nano))
	_, err := guard.Do(d.t.Context(), d.guard, guard.Effect[map[string]string]{
		Request: guard.Request{Token: id, Input: []byte(input)},
		Do: func(context.Context, guard.Attempt) (map[string]string, error) {
			return map[string]string{"name": "executions/1"}, end
		},
	})
	if !errors.Is(err, end) {
		d.t.Fatalf("record %d: %v", n, err)
	}
	return id
}

var errReleased = guard.NotApplied(errors.New("quota"))

func TestListAndShow(t *testing.T) {
	d := newDesk(t)
	slot := d.now.Add(-time.Hour).Truncate(time.Minute)
	done := d.record(1, "daily", slot, nil)
	stuck := d.record(2, "hourly", slot, errReleased)
	if _, err := guard.Do(t.Context(), d.guard, guard.Effect[int]{Request: guard.Request{Token: done + "/charge"}, Do: func(context.Context, guard.Attempt) (int, error) { return 1, nil }}); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		args []string
		want []string
	}{
		"all":       {nil, []string{done, stuck}},
		"by status": {[]string{"--status=in_progress"}, []string{stuck}},
		"by job":    {[]string{"--job=daily"}, []string{done}},
		"older":     {[]string{"--older=24h"}, nil},
		"limit":     {[]string{"--limit=1"}, []string{done}},
	} {
		var got []row
		if _, err := d.run(&got, append([]string{"list"}, tt.args...)...); err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, r := range got {
			ids = append(ids, r.RunID)
		}
		if fmt.Sprint(ids) != fmt.Sprint(tt.want) {
			t.Errorf("%s: got %v, want %v", name, ids, tt.want)
		}
	}
	var s shown
	if _, err := d.run(&s, "show", done); err != nil {
		t.Fatal(err)
	}
	if s.Status != guard.Completed || s.Job != "daily" || s.Started != "executions/1" || len(s.Attempts) != 1 || len(s.Steps) != 1 || s.Steps[0].Token != done+"/charge" {
		t.Errorf("got %+v", s)
	}
	out, err := d.run(nil, "show", done)
	if err != nil || !strings.Contains(out, "completed") || strings.Contains(out, "hush") {
		t.Errorf("got %s, %v; want the status, and not the argument", out, err)
	}
	if _, err := d.run(nil, "show", fmt.Sprintf("%064x", 9)); err == nil {
		t.Error("a run that is not there: got no error")
	}
}

// Each change asks, wants a reason, is written into the record, and is refused where it makes no sense.
func TestSettle(t *testing.T) {
	d := newDesk(t)
	failed := d.record(1, "daily", d.now, &guard.FailedError{Code: "x", Message: "y"})
	done := d.record(2, "daily", d.now, nil)
	stuck := d.record(3, "daily", d.now, errReleased)
	why := []string{"--reason=mended", "--actor=me", "--yes"}
	for name, tt := range map[string]struct {
		args []string
		in   string
		fail string
	}{
		"rerun a completed one":   {append([]string{"rerun", done}, why...), "", "trigger"},
		"rerun an unfinished one": {append([]string{"rerun", stuck}, why...), "", "release"},
		"release a failed one":    {append([]string{"release", failed}, why...), "", "rerun"},
		"no reason":               {[]string{"rerun", failed, "--actor=me", "--yes"}, "", "reason"},
		"not confirmed":           {[]string{"rerun", failed, "--actor=me", "--reason=r"}, "no\n", "not confirmed"},
		"nobody there":            {[]string{"rerun", failed, "--actor=me", "--reason=r"}, "", "not confirmed"},
	} {
		d.in = tt.in
		if _, err := d.run(nil, tt.args...); err == nil || !strings.Contains(err.Error(), tt.fail) {
			t.Errorf("%s: got %v, want an error with %q", name, err, tt.fail)
		}
	}
	d.in = "yes\n"
	if _, err := d.run(nil, "rerun", failed, "--actor=me", "--reason=mended"); err != nil {
		t.Fatal(err)
	}
	if _, err := d.run(nil, append([]string{"complete", stuck, "--execution=executions/7"}, why...)...); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]guard.Status{failed: guard.InProgress, stuck: guard.Completed} {
		snap, err := d.guard.Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		last := snap.Record.Attempts[len(snap.Record.Attempts)-1]
		if snap.Record.Status != want || !strings.Contains(last.Note, "me") || !strings.Contains(last.Note, "mended") {
			t.Errorf("got %s with the note %q, want %s by me, mended", snap.Record.Status, last.Note, want)
		}
	}
}

// A live attempt is not taken its claim away, unless forced.
func TestReleaseOfLiveAttempt(t *testing.T) {
	d := newDesk(t)
	id := fmt.Sprintf("%064x", 4)
	_, err := guard.Do(t.Context(), d.guard, guard.Effect[int]{Request: guard.Request{Token: id}, Do: func(context.Context, guard.Attempt) (int, error) {
		args := []string{"release", id, "--reason=r", "--actor=me", "--yes"}
		if _, err := d.run(nil, args...); !errors.Is(err, guard.ErrInProgress) {
			t.Errorf("got %v, want ErrInProgress", err)
		}
		if _, err := d.run(nil, append(args, "--force")...); err != nil {
			t.Errorf("forced: got %v", err)
		}
		return 1, nil
	}})
	if !errors.Is(err, guard.ErrLost) {
		t.Errorf("the attempt: got %v, want ErrLost", err)
	}
}

func TestMissed(t *testing.T) {
	d := newDesk(t)
	d.now = time.Date(2026, 10, 16, 12, 0, 0, 0, time.UTC)
	hour := func(h int) time.Time { return time.Date(2026, 10, 16, h, 0, 0, 0, time.UTC) }
	d.record(1, "hourly", hour(8).Add(510*time.Millisecond), nil) // as the Scheduler sends it
	stuck := d.record(2, "hourly", hour(9), errReleased)
	d.record(3, "other", hour(10), nil)
	var got []slot
	if _, err := d.run(&got, "missed", "--cron=0 * * * *", "--job=hourly", "--since=4h30m", "--grace=30m"); err != nil {
		t.Fatal(err)
	}
	want := []slot{{hour(9), "in_progress", stuck}, {hour(10), "missed", ""}, {hour(11), "missed", ""}}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, bad := range [][]string{{"--cron=every hour"}, {"--cron=0 * * * *", "--zone=Mars"}} {
		if _, err := d.run(nil, append([]string{"missed", "--job=x"}, bad...)...); err == nil {
			t.Errorf("%v: got no error", bad)
		}
	}
}

func TestTrigger(t *testing.T) {
	d := newDesk(t)
	var got *http.Request
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		if r.Header.Get("Idempotency-Key") == "refuse" {
			w.WriteHeader(http.StatusConflict)
		}
		_, _ = io.WriteString(w, `{"name":"executions/1"}`) // the test reads it
	}))
	defer proxy.Close()
	base := []string{"trigger", "--url=" + proxy.URL, "--target=projects/p/locations/l/workflows/w"}
	if _, err := d.run(nil, base...); err == nil || !strings.Contains(err.Error(), "ID_TOKEN") {
		t.Errorf("no token: got %v", err)
	}
	d.env = []string{"ID_TOKEN=secret"}
	var out triggered
	if _, err := d.run(&out, base...); err != nil || !strings.HasPrefix(out.Key, "manual-") || got.Header.Get("Idempotency-Key") != out.Key {
		t.Errorf("got %+v, %v; want a key of its own", out, err)
	}
	if got.URL.Path != "/v1/projects/p/locations/l/workflows/w/executions" || got.Header.Get("Authorization") != "Bearer secret" {
		t.Errorf("got %s with %s", got.URL.Path, got.Header.Get("Authorization"))
	}
	if _, err := d.run(nil, append(base, "--slot=2026-10-16T12:00:00Z", "--job=daily")...); err != nil || got.Header.Get("X-CloudScheduler-ScheduleTime") != "2026-10-16T12:00:00Z" || got.Header.Get("Idempotency-Key") != "" {
		t.Errorf("a slot: got %v with %v", err, got.Header)
	}
	for _, bad := range [][]string{{"--job=daily"}, {"--slot=2026-10-16T12:00:00Z", "--job=d", "--key=k"}, {"--key=refuse"}, {"--target=nothing"}} {
		if _, err := d.run(nil, append(base, bad...)...); err == nil {
			t.Errorf("%v: got no error", bad)
		}
	}
}

// adminAPI is the part of Firestore's administration that doctor reads.
type adminAPI struct {
	adminpb.UnimplementedFirestoreAdminServer
	ttl     adminpb.Field_TtlConfig_State
	indexed bool
}

func (a adminAPI) GetField(_ context.Context, r *adminpb.GetFieldRequest) (*adminpb.Field, error) {
	f := &adminpb.Field{Name: r.GetName(), TtlConfig: &adminpb.Field_TtlConfig{State: a.ttl}, IndexConfig: &adminpb.Field_IndexConfig{}}
	f.IndexConfig.UsesAncestorConfig = a.indexed
	return f, nil
}

// R13, R14, A3: doctor sees what is wrong with each part, and says what it could not see.
func TestDoctor(t *testing.T) {
	d := newDesk(t)
	env := []string{"TARGETS=projects/p/locations/l/workflows/w", "AUTH_AUDIENCES=https://x", "AUTH_ACCOUNTS=a@p"}
	iam := append(env, "AUTH_MODE=cloudrun-iam", "K_SERVICE=proxy")
	verify := append(env[:3:3], "AUTH_MODE=verify")
	active := adminAPI{ttl: adminpb.Field_TtlConfig_ACTIVE}
	for name, tt := range map[string]struct {
		env    []string
		admin  adminAPI
		job    string
		policy string
		want   map[string]string
	}{
		"all well":      {iam, active, `{"attemptDeadline":"180s","retryConfig":{"retryCount":5},"state":"ENABLED"}`, `{}`, map[string]string{"configuration": good, "ttl policy": good, "public access": good, "scheduler job": good, "store": good, "clock": good, "index of expire_at": good}},
		"no retry":      {iam, active, `{"retryConfig":{}}`, `{}`, map[string]string{"configuration": warning}},
		"short retries": {iam, active, `{"retryConfig":{"retryCount":1,"minBackoffDuration":"5s"}}`, `{}`, map[string]string{"configuration": wrong}},
		"paused":        {iam, active, `{"state":"PAUSED"}`, `{}`, map[string]string{"scheduler job": wrong}},
		"no ttl":        {iam, adminAPI{}, `{}`, `{}`, map[string]string{"ttl policy": wrong}},
		"indexed":       {iam, adminAPI{ttl: active.ttl, indexed: true}, `{}`, `{}`, map[string]string{"index of expire_at": warning}},
		"public":        {iam, active, `{}`, `{"bindings":[{"role":"roles/run.invoker","members":["allUsers"]}]}`, map[string]string{"public access": wrong}},
		"public verify": {verify, active, `{}`, `{"bindings":[{"role":"roles/run.invoker","members":["allUsers"]}]}`, map[string]string{"public access": good}},
		"closed verify": {verify, active, `{}`, `{}`, map[string]string{"public access": wrong}},
		"no mode":       {env, active, `{}`, `{}`, map[string]string{"configuration": wrong}},
	} {
		t.Run(name, func(t *testing.T) {
			d.env = tt.env
			rest := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				body := "{}"
				switch {
				case strings.Contains(r.URL.Path, "/jobs/"):
					body = tt.job
				case strings.HasSuffix(r.URL.Path, ":getIamPolicy"):
					body = tt.policy
				}
				_, _ = io.WriteString(w, body) // the test reads it
			}))
			defer rest.Close()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			s := grpc.NewServer()
			adminpb.RegisterFirestoreAdminServer(s, tt.admin)
			go func() { _ = s.Serve(l) }() // ends with Stop
			defer s.Stop()
			var got []finding
			_, err = d.run(&got, "doctor", "--scheduler-job=projects/p/locations/l/jobs/daily", "--service=projects/p/locations/l/services/proxy",
				"--scheduler-endpoint="+rest.URL+"/", "--run-endpoint="+rest.URL+"/", "--admin-endpoint="+l.Addr().String())
			results := map[string]string{}
			anyWrong := false
			for _, f := range got {
				anyWrong = anyWrong || f.Result == wrong
				if results[f.Check] == "" || f.Result != good {
					results[f.Check] = f.Result
				}
			}
			for check, want := range tt.want {
				if results[check] != want {
					t.Errorf("%s: got %q, want %q; all: %+v", check, results[check], want, got)
				}
			}
			if (err != nil) != anyWrong {
				t.Errorf("got error %v, and something wrong: %v", err, anyWrong)
			}
		})
	}
}

func TestDoctorSaysWhatItDidNotCheck(t *testing.T) {
	d := newDesk(t)
	d.env = []string{"FIRESTORE_EMULATOR_HOST=" + d.store.Addr(), "TARGETS=projects/p/locations/l/workflows/w", "AUTH_AUDIENCES=https://x", "AUTH_ACCOUNTS=a@p", "AUTH_MODE=verify"}
	out, err := d.run(nil, "doctor")
	if err != nil || strings.Count(out, notChecked) != 4 {
		t.Errorf("got %s, %v; want four lines that say %q", out, err, notChecked)
	}
}

func TestHelp(t *testing.T) {
	d := newDesk(t)
	if out, err := d.run(nil, "--help"); err != nil || !strings.Contains(out, "doctor") {
		t.Errorf("got %q, %v", out, err)
	}
	if _, err := d.run(nil, "nonsense"); err == nil {
		t.Error("an unknown command: got no error")
	}
}
