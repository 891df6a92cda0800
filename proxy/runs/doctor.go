package runs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cloud.google.com/go/firestore"
	admin "cloud.google.com/go/firestore/apiv1/admin"
	"cloud.google.com/go/firestore/apiv1/admin/adminpb"
	"google.golang.org/api/cloudscheduler/v1"
	"google.golang.org/api/option"
	run "google.golang.org/api/run/v2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"example.com/runonce/proxy"
)

// DoctorCmd checks what keeps the promises. The proxy's configuration is read from the environment, as the proxy reads it.
type DoctorCmd struct {
	SchedulerJob      string `help:"A Scheduler job to check the times against: projects/P/locations/L/jobs/J."`
	Service           string `help:"The proxy's Cloud Run service, to check that it is not public: projects/P/locations/L/services/S."`
	SchedulerEndpoint string `help:"Cloud Scheduler's address; one that is given is spoken to without credentials." hidden:""`
	RunEndpoint       string `help:"Cloud Run's address; the same." hidden:""`
	AdminEndpoint     string `help:"Firestore's administration address; the same, in plain text." hidden:""`
}

// finding is one check.
type finding struct {
	Check  string `json:"check"`
	Result string `json:"result"` // ok, warning, wrong, or not checked
	Detail string `json:"detail,omitempty"`
}

const (
	good       = "ok"
	warning    = "warning"
	wrong      = "wrong"
	notChecked = "not checked"
)

// maxSkew between this machine and the store that is worth no word: the proxy tells forced runs by its clock.
const maxSkew = 5 * time.Second

// Run checks everything, and fails if something is wrong.
func (c *DoctorCmd) Run(ctx context.Context, a *app) error {
	cfg, err := proxy.FromEnv(a.deps.Environ)
	if err != nil {
		return err
	}
	var findings []finding
	if c.SchedulerJob != "" {
		f, job := c.job(ctx)
		findings = append(findings, f)
		if f.Result == good {
			cfg.Job = job
		}
	} else {
		findings = append(findings, finding{"scheduler job", notChecked, "name one by --scheduler-job; JOB_... of the environment stands for it"})
	}
	findings = append(findings, configuration(cfg)...)
	findings = append(findings, a.clock(ctx)...)
	findings = append(findings, c.ttl(ctx, a)...)
	findings = append(findings, c.public(ctx, cfg.AuthMode))
	table := [][]string{{"CHECK", "RESULT", "DETAIL"}}
	bad := 0
	for _, f := range findings {
		table = append(table, []string{f.Check, f.Result, f.Detail})
		if f.Result == wrong {
			bad++
		}
	}
	if err := a.print(findings, table); err != nil {
		return err
	}
	if bad > 0 {
		return fmt.Errorf("%d of %d checks found something wrong", bad, len(findings))
	}
	return nil
}

// configuration holds the proxy's settings against each other and the job's (R13, R14).
func configuration(cfg proxy.Config) []finding {
	warnings, err := cfg.Validate()
	if err != nil {
		return []finding{{"configuration", wrong, err.Error()}}
	}
	found := []finding{{"configuration", good, ""}}
	for _, w := range warnings {
		found = append(found, finding{"configuration", warning, w})
	}
	return found
}

// clock reads from the store, and compares its clock with this one.
func (a *app) clock(ctx context.Context) []finding {
	if err := a.open(ctx); err != nil {
		return []finding{{"store", wrong, err.Error()}}
	}
	before := a.deps.Now()
	doc, err := a.db.Collection(a.cli.Collection).Doc("doctor").Get(ctx)
	if err != nil && status.Code(err) != codes.NotFound {
		return []finding{{"store", wrong, err.Error()}}
	}
	found := []finding{{"store", good, ""}}
	if skew := doc.ReadTime.Sub(before); skew > maxSkew || skew < -maxSkew {
		return append(found, finding{"clock", warning, fmt.Sprintf("this machine is %v off the store", skew.Round(time.Millisecond))})
	}
	return append(found, finding{"clock", good, ""})
}

// job reads the real retry settings of a Scheduler job.
func (c *DoctorCmd) job(ctx context.Context) (finding, proxy.JobConfig) {
	const check = "scheduler job"
	s, err := cloudscheduler.NewService(ctx, restOptions(c.SchedulerEndpoint)...)
	if err != nil {
		return finding{check, notChecked, err.Error()}, proxy.JobConfig{}
	}
	j, err := s.Projects.Locations.Jobs.Get(c.SchedulerJob).Context(ctx).Do()
	if err != nil {
		return finding{check, wrong, err.Error()}, proxy.JobConfig{}
	}
	count, doublings := 0, 5
	cfg := proxy.JobConfig{RetryCount: &count, MaxDoublings: &doublings}
	var errs []error
	seconds := func(s string, into *time.Duration) {
		if s == "" {
			return
		}
		d, err := time.ParseDuration(s)
		errs, *into = append(errs, err), d
	}
	seconds(j.AttemptDeadline, &cfg.AttemptDeadline)
	if r := j.RetryConfig; r != nil {
		count = int(r.RetryCount)
		if r.MaxDoublings != 0 {
			doublings = int(r.MaxDoublings)
		}
		seconds(r.MinBackoffDuration, &cfg.MinBackoff)
		seconds(r.MaxBackoffDuration, &cfg.MaxBackoff)
		seconds(r.MaxRetryDuration, &cfg.MaxRetryDuration)
	}
	if err := errors.Join(errs...); err != nil {
		return finding{check, wrong, err.Error()}, cfg
	}
	if j.State != "" && j.State != "ENABLED" {
		return finding{check, wrong, "the job is " + j.State}, cfg
	}
	return finding{check, good, ""}, cfg
}

// ttl checks that records expire, and that times which only grow are not indexed.
func (c *DoctorCmd) ttl(ctx context.Context, a *app) []finding {
	if env(a.deps.Environ, "FIRESTORE_EMULATOR_HOST") != "" && c.AdminEndpoint == "" {
		return []finding{{"ttl policy", notChecked, "an emulator has none"}, {"index exemptions", notChecked, "an emulator needs none"}}
	}
	if a.cli.Project == firestore.DetectProjectID {
		return []finding{{"ttl policy", notChecked, "name the project by --project"}}
	}
	var opts []option.ClientOption
	if c.AdminEndpoint != "" {
		opts = []option.ClientOption{option.WithEndpoint(c.AdminEndpoint), option.WithoutAuthentication(), option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials()))}
	}
	client, err := admin.NewFirestoreAdminClient(ctx, opts...)
	if err != nil {
		return []finding{{"ttl policy", notChecked, err.Error()}}
	}
	defer client.Close()
	fields := "projects/" + a.cli.Project + "/databases/" + a.cli.Database + "/collectionGroups/" + a.cli.Collection + "/fields/"
	var found []finding
	expire, err := client.GetField(ctx, &adminpb.GetFieldRequest{Name: fields + "expire_at"})
	switch {
	case err != nil:
		return []finding{{"ttl policy", notChecked, err.Error()}}
	case expire.GetTtlConfig().GetState() != adminpb.Field_TtlConfig_ACTIVE:
		found = append(found, finding{"ttl policy", wrong, "expire_at has no active TTL policy (" + expire.GetTtlConfig().GetState().String() + "); records are kept for ever"})
	default:
		found = append(found, finding{"ttl policy", good, ""})
	}
	for _, name := range []string{"expire_at", "lease_expires"} {
		f, err := client.GetField(ctx, &adminpb.GetFieldRequest{Name: fields + name})
		switch {
		case err != nil:
			found = append(found, finding{"index of " + name, notChecked, err.Error()})
		case f.GetIndexConfig() == nil || f.GetIndexConfig().GetUsesAncestorConfig() || len(f.GetIndexConfig().GetIndexes()) > 0:
			found = append(found, finding{"index of " + name, warning, "a time that grows is indexed, which caps the collection at about 500 writes a second; exempt it"})
		default:
			found = append(found, finding{"index of " + name, good, ""})
		}
	}
	return found
}

// public checks that nobody but the invokers reaches the proxy, without which cloudrun-iam is no authentication (threat A3).
func (c *DoctorCmd) public(ctx context.Context, mode string) finding {
	const check = "public access"
	if c.Service == "" {
		return finding{check, notChecked, "name the service by --service"}
	}
	s, err := run.NewService(ctx, restOptions(c.RunEndpoint)...)
	if err != nil {
		return finding{check, notChecked, err.Error()}
	}
	service, err := s.Projects.Locations.Services.Get(c.Service).Context(ctx).Do()
	if err != nil {
		return finding{check, notChecked, err.Error()}
	}
	policy, err := s.Projects.Locations.Services.GetIamPolicy(c.Service).Context(ctx).Do()
	if err != nil {
		return finding{check, notChecked, err.Error()}
	}
	open := service.InvokerIamDisabled
	for _, b := range policy.Bindings {
		for _, m := range b.Members {
			open = open || m == "allUsers" || m == "allAuthenticatedUsers"
		}
	}
	switch {
	case open && mode == proxy.ModeCloudRunIAM:
		return finding{check, wrong, "the service is public, and in mode cloudrun-iam the proxy believes tokens that nobody has checked; use verify, or close it"}
	case open:
		return finding{check, good, "public; the proxy checks signatures itself"}
	case mode == proxy.ModeVerify:
		return finding{check, wrong, "the service is not public, so Cloud Run removes the signatures that mode verify wants; use cloudrun-iam"}
	}
	return finding{check, good, ""}
}

func restOptions(endpoint string) []option.ClientOption {
	if endpoint == "" {
		return nil
	}
	return []option.ClientOption{option.WithEndpoint(endpoint), option.WithoutAuthentication()}
}
