package main

import (
	"bytes"
	"strings"
	"testing"
)

// R13, R14: -check prints what is in force and what is wrong, without touching anything.
func TestCheck(t *testing.T) {
	t.Parallel()
	good := []string{"TARGETS=projects/p/locations/l/workflows/w", "AUTH_MODE=verify", "AUTH_AUDIENCES=https://proxy.example", "AUTH_ACCOUNTS=a@p.iam.gserviceaccount.com"}
	for name, tt := range map[string]struct {
		env  []string
		out  string
		fail string
	}{
		"good":      {good, "\"lease\": 30000000000", ""},
		"nothing":   {nil, "\"auth_mode\": \"\"", "AUTH_MODE"},
		"no retry":  {append(good, "JOB_RETRY_COUNT=0"), "warning: ", ""},
		"long":      {append(good, "LEASE=5m"), "", "LEASE"},
		"malformed": {append(good, "LEASE=soon"), "", "LEASE"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			err := realMain(t.Context(), []string{"-check"}, tt.env, &out)
			if (err == nil) != (tt.fail == "") || err != nil && !strings.Contains(strings.ToUpper(err.Error()), tt.fail) {
				t.Errorf("got error %v, want one with %q", err, tt.fail)
			}
			if !strings.Contains(out.String(), tt.out) {
				t.Errorf("got %s, want it to have %s", out.String(), tt.out)
			}
		})
	}
}

func TestUnknownFlag(t *testing.T) {
	t.Parallel()
	if err := realMain(t.Context(), []string{"-no-such-flag"}, nil, &bytes.Buffer{}); err == nil {
		t.Error("got no error")
	}
}
