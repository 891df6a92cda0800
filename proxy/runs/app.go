package runs

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"text/tabwriter"
	"time"

	"cloud.google.com/go/firestore"
	"github.com/alecthomas/kong"

	"example.com/runonce/functions/guard"
)

// Deps are what a test replaces. The zero value is not usable: give Stdout and Stdin.
type Deps struct {
	Stdin  io.Reader
	Stdout io.Writer
	// Environ as os.Environ; doctor checks the proxy's configuration in it, trigger takes ID_TOKEN from it.
	Environ []string
	// Now is the clock for ages. nil: time.Now.
	Now func() time.Time
	// HTTP calls the proxy. nil: a client with a time-out of a minute.
	HTTP *http.Client
}

// CLI is the grammar of the command line.
type CLI struct {
	Project    string `help:"Project of the Firestore database." env:"FIRESTORE_PROJECT" default:"*detect-project-id*"`
	Database   string `help:"Firestore database." env:"FIRESTORE_DATABASE" default:"(default)"`
	Collection string `help:"Collection of the records." env:"FIRESTORE_COLLECTION" default:"runonce"`
	JSON       bool   `help:"Print JSON instead of a table." name:"json"`

	List     ListCmd     `cmd:"" help:"List runs."`
	Show     ShowCmd     `cmd:"" help:"Show one run: its record, its attempts, its steps."`
	Trigger  TriggerCmd  `cmd:"" help:"Deliver to the proxy: a manual run with a key of its own, or a past slot made good."`
	Missed   MissedCmd   `cmd:"" help:"List slots that a cron schedule expects and no record shows."`
	Release  ReleaseCmd  `cmd:"" help:"Give up a claim, so that the next delivery or sweep takes the run over at once."`
	Complete CompleteCmd `cmd:"" help:"Settle a run as done: it happened, whatever the record says."`
	Rerun    RerunCmd    `cmd:"" help:"Let a failed or uncertain run be started again."`
	Doctor   DoctorCmd   `cmd:"" help:"Check the proxy's configuration, the store, its TTL policy and the clock."`
}

// app is one invocation.
type app struct {
	cli  *CLI
	deps Deps
	db   *firestore.Client
}

// Main parses the arguments and runs the command they name.
func Main(ctx context.Context, args []string, deps Deps) error {
	if deps.Now == nil {
		deps.Now = time.Now
	}
	if deps.HTTP == nil {
		deps.HTTP = &http.Client{Timeout: time.Minute}
	}
	var cli CLI
	helped := false
	parser, err := kong.New(&cli, kong.Name("runs"), kong.Description("Runs of the start-once proxy."), kong.Writers(deps.Stdout, deps.Stdout),
		kong.Exit(func(int) { helped = true }), kong.BindTo(ctx, (*context.Context)(nil)))
	if err != nil {
		return fmt.Errorf("read the grammar: %w", err)
	}
	parsed, err := parser.Parse(args)
	if helped {
		return nil
	}
	if err != nil {
		return err
	}
	a := &app{cli: &cli, deps: deps}
	defer a.close()
	return parsed.Run(a)
}

// open connects to the store; FIRESTORE_EMULATOR_HOST is honoured by the client.
func (a *app) open(ctx context.Context) error {
	db, err := firestore.NewClientWithDatabase(ctx, a.cli.Project, a.cli.Database)
	if err != nil {
		return fmt.Errorf("connect to Firestore: %w", err)
	}
	a.db = db
	return nil
}

func (a *app) close() {
	if a.db != nil {
		_ = a.db.Close() // the command is over
	}
}

func (a *app) guard() (*guard.Guard, error) {
	return guard.New(guard.NewFirestore(a.db, guard.FirestoreConfig{Collection: a.cli.Collection}), guard.Config{})
}

// get reads one run's record.
func (a *app) get(ctx context.Context, runID string) (*guard.Guard, guard.Snapshot, error) {
	if err := a.open(ctx); err != nil {
		return nil, guard.Snapshot{}, err
	}
	g, err := a.guard()
	if err != nil {
		return nil, guard.Snapshot{}, err
	}
	snap, err := g.Get(ctx, runID)
	if errors.Is(err, guard.ErrNotFound) {
		return nil, snap, fmt.Errorf("no record of run %s in collection %s", runID, a.cli.Collection)
	}
	return g, snap, err
}

// print writes v as JSON, or the rows as a table.
func (a *app) print(v any, rows [][]string) error {
	if a.cli.JSON {
		enc := json.NewEncoder(a.deps.Stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(v)
	}
	w := tabwriter.NewWriter(a.deps.Stdout, 0, 4, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	return w.Flush()
}

// confirm asks unless yes; anything but "yes" is no.
func (a *app) confirm(yes bool, question string) error {
	if yes {
		return nil
	}
	fmt.Fprintf(a.deps.Stdout, "%s Type yes: ", question)
	line, err := bufio.NewReader(a.deps.Stdin).ReadString('\n')
	if err != nil && line == "" || strings.TrimSpace(line) != "yes" {
		return errors.New("not confirmed; nothing was changed")
	}
	return nil
}
