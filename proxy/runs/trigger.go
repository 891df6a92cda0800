package runs

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"example.com/runonce/tokens"
)

// TriggerCmd delivers to the proxy, with the identity token in the environment variable ID_TOKEN.
type TriggerCmd struct {
	URL    string    `required:"" name:"url" help:"The proxy's URL." env:"PROXY_URL"`
	Target string    `required:"" help:"What to start: the resource name of a workflow, job or trigger."`
	Body   string    `help:"The API's request." default:"{}"`
	Slot   time.Time `help:"Make good this slot of a Scheduler job (RFC 3339); wants -job." format:"2006-01-02T15:04:05Z07:00"`
	Job    string    `help:"The Scheduler job whose slot it is."`
	Key    string    `help:"Idempotency-Key of a manual run; the target must accept that source. Default: a new one, which is printed."`
}

// triggered is what came of it.
type triggered struct {
	Status   int             `json:"status"`
	Replayed bool            `json:"replayed"`
	Key      string          `json:"key,omitempty"`
	Answer   json.RawMessage `json:"answer"`
}

// Run delivers once. To repeat it safely, give the same key or slot again.
func (c *TriggerCmd) Run(ctx context.Context, a *app) error {
	path, err := pathOf(c.Target)
	if err != nil {
		return err
	}
	token := env(a.deps.Environ, "ID_TOKEN")
	if token == "" {
		return errors.New("no ID_TOKEN: set it to an identity token for the proxy's audience, of an account in AUTH_ACCOUNTS")
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimRight(c.URL, "/")+path, strings.NewReader(c.Body))
	if err != nil {
		return fmt.Errorf("make the request: %w", err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	switch {
	case c.Slot.IsZero() != (c.Job == ""):
		return errors.New("-slot and -job go together: they name the run that is made good")
	case !c.Slot.IsZero() && c.Key != "":
		return errors.New("-slot and -key exclude each other: a slot has its own name")
	case !c.Slot.IsZero():
		r.Header.Set(tokens.JobNameHeader, c.Job)
		r.Header.Set(tokens.ScheduleTimeHeader, c.Slot.UTC().Format(time.RFC3339Nano))
	default:
		if c.Key == "" {
			c.Key = "manual-" + rand.Text()
		}
		tokens.SetHeader(r.Header, c.Key)
	}
	resp, err := a.deps.HTTP.Do(r)
	if err != nil {
		return fmt.Errorf("deliver (repeat it with -key %s): %w", c.Key, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return fmt.Errorf("read the answer (repeat it with -key %s): %w", c.Key, err)
	}
	if !json.Valid(body) {
		body, _ = json.Marshal(string(body)) // a string can always be written
	}
	t := triggered{Status: resp.StatusCode, Replayed: resp.Header.Get("Idempotent-Replayed") == "true", Key: c.Key, Answer: body}
	if err := a.print(t, [][]string{{"status", resp.Status}, {"key", orDash(c.Key)}, {"answer", string(body)}}); err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("the proxy answered %s", resp.Status)
	}
	return nil
}

// pathOf is the start path of a resource, as the API has it.
func pathOf(target string) (string, error) {
	switch {
	case strings.Contains(target, "/workflows/"):
		return "/v1/" + target + "/executions", nil
	case strings.Contains(target, "/jobs/"):
		return "/v2/" + target + ":run", nil
	case strings.Contains(target, "/triggers/"):
		return "/v1/" + target + ":run", nil
	}
	return "", fmt.Errorf("target %q: want the name of a workflow, a job or a trigger", target)
}

func env(environ []string, name string) string {
	for _, e := range environ {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			return v
		}
	}
	return ""
}
