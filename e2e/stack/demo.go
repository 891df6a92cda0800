package stack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"example.com/runonce/e2e/fault"
	"example.com/runonce/e2e/schedulertest"
	"example.com/runonce/e2e/timeline"
	"example.com/runonce/functions/orders"
)

// demoLease is short, so that the demo can show a lease running out, and long enough for a slow machine to send a duplicate
// while it lasts.
const demoLease = 4 * time.Second

// line is one line of the demo's order.
type line = orders.Line

var demoLines = []line{{SKU: "lamp", Quantity: 1}, {SKU: "bulb/E27", Quantity: 2}, {SKU: "lamp", Quantity: 1}}

// stocked is how much of each sku is on hand before the demo.
const stocked = 100

// demo is one firing on its way through a stack that breaks.
type demo struct {
	*Stack
	rec  *Recorder
	slot time.Time
}

// Demo sends one firing of one job five times: to a proxy that is killed between claim and start, to one while the dead
// one's claim still lasts, to two at once when it has run out, and once more when all is done. On the way the answer of
// CreateExecution is lost, and the answer of a function. The Report says what happened, also where it is wrong.
func Demo(ctx context.Context, cfg Config) (Report, error) {
	if cfg.Record == nil {
		cfg.Record = NewRecorder(nil)
	}
	cfg.Lease = demoLease
	s, err := Start(ctx, cfg)
	if err != nil {
		return Report{}, err
	}
	d := &demo{Stack: s, rec: cfg.Record, slot: time.Now().UTC().Truncate(time.Minute).Add(-time.Minute)}
	report, err := d.run(ctx)
	return report, errors.Join(err, s.Close())
}

func (d *demo) run(ctx context.Context) (Report, error) {
	if err := d.prepare(ctx); err != nil {
		return Report{}, err
	}
	child, err := d.StartChild(ctx)
	if err != nil {
		return Report{}, err
	}
	one, err := d.StartProxy(ctx, "")
	if err != nil {
		return Report{}, err
	}
	two, err := d.StartProxy(ctx, "")
	if err != nil {
		return Report{}, err
	}
	if err := d.killBetweenClaimAndStart(ctx, child); err != nil {
		return Report{}, err
	}
	d.Front.Set("http://"+one.Addr(), "http://"+two.Addr())
	if _, err := d.Scheduler.Deliver(ctx, Job, d.slot); err != nil { // the dead proxy's lease is alive
		return Report{}, err
	}
	if err := d.leaseRunsOut(ctx); err != nil {
		return Report{}, err
	}
	if err := d.takeOverAtOnce(ctx); err != nil {
		return Report{}, err
	}
	if err := d.executionsEnd(ctx); err != nil {
		return Report{}, err
	}
	if _, err := d.Scheduler.Deliver(ctx, Job, d.slot); err != nil {
		return Report{}, err
	}
	return d.report(ctx)
}

// prepare fills the shelves and makes the job.
func (d *demo) prepare(ctx context.Context) error {
	for _, l := range demoLines {
		if err := d.Stock(ctx, l.SKU, stocked); err != nil {
			return err
		}
	}
	argument, err := json.Marshal(map[string]any{"order": map[string]any{
		"id": "A-1001", "email": "ada@example.com", "currency": "EUR", "amount_cents": 4990, "lines": demoLines,
	}})
	if err != nil {
		return fmt.Errorf("argument: %w", err)
	}
	body, err := json.Marshal(map[string]any{"argument": string(argument)})
	if err != nil {
		return fmt.Errorf("body: %w", err)
	}
	_, err = d.Scheduler.CreateJob(schedulertest.Job{
		Name: Job, Schedule: "0 2 * * *", AttemptDeadline: 15 * time.Second,
		HTTP: &schedulertest.HTTPTarget{URL: d.URL() + Path, Body: body, OIDC: &schedulertest.OIDC{Email: Account, Audience: Audience}},
	})
	if err != nil {
		return fmt.Errorf("job: %w", err)
	}
	return nil
}

// killBetweenClaimAndStart delivers to a proxy in a process of its own, and kills that when it has claimed the run and its
// call to start the execution is on the way.
func (d *demo) killBetweenClaimAndStart(ctx context.Context, child *Child) error {
	d.Front.Set(child.URL)
	gate := d.ExecutionFaults.Hold("CreateExecution", 1)
	defer gate.Release()
	// Whoever starts the execution later, and whichever call charges first, does not hear the answer.
	d.ExecutionFaults.Add(fault.Rule{Method: "CreateExecution", N: 2, Kind: fault.Lose})
	d.FunctionFaults.Add(fault.Rule{Method: "POST /charge", N: 1, Kind: fault.Lose})
	delivered := make(chan error, 1)
	go func() {
		_, err := d.Scheduler.Deliver(ctx, Job, d.slot)
		delivered <- err
	}()
	wait, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	if err := gate.Wait(wait); err != nil {
		return fmt.Errorf("the first proxy never tried to start the execution: %w", err)
	}
	d.rec.Note(LaneProxy, timeline.Fault, "kill -9 between claim and start")
	child.Kill()
	if err := <-delivered; err != nil {
		return err
	}
	return d.settled(wait, "CreateExecution")
}

// settled waits until the fake has noticed that every caller of method is gone or answered.
func (d *demo) settled(ctx context.Context, method string) error {
	return poll(ctx, func() bool {
		for _, c := range d.ExecutionFaults.Calls() {
			if !c.Done {
				return false
			}
		}
		return d.ExecutionFaults.Count(method) > 0
	})
}

// leaseRunsOut lets the dead proxy's lease pass, by the clock that judges it: the store's.
func (d *demo) leaseRunsOut(ctx context.Context) error {
	until := d.Store.Now().Add(d.cfg.Lease)
	d.rec.Note(LaneProxy, timeline.Plain, "waiting for the dead proxy's lease of %s to run out", d.cfg.Lease)
	return poll(ctx, func() bool { return d.Store.Now().After(until) })
}

// takeOverAtOnce sends two deliveries in the same moment. Both find a claim that ran out; one of them gets it.
func (d *demo) takeOverAtOnce(ctx context.Context) error {
	// Slow the two down in step, so that they really meet at the record and at the list of executions.
	d.Store.Faults().Add(fault.Rule{Method: "/Commit", N: 1, Times: 4, Kind: fault.Delay, Delay: 100 * time.Millisecond})
	d.ExecutionFaults.Add(fault.Rule{Method: "ListExecutions", N: 1, Times: 4, Kind: fault.Delay, After: true, Delay: 200 * time.Millisecond})
	var wg sync.WaitGroup
	errs := make([]error, 2)
	for i := range errs {
		wg.Go(func() { _, errs[i] = d.Scheduler.Deliver(ctx, Job, d.slot) })
	}
	wg.Wait()
	d.noteLost("CreateExecution", LaneWorkflow, "the answer of CreateExecution is lost")
	return errors.Join(errs...)
}

// noteLost puts a fault on the timeline if it really happened.
func (d *demo) noteLost(method, lane, text string) {
	for _, c := range d.ExecutionFaults.Calls() {
		if c.Kind == fault.Lose && hasSuffix(c.Method, method) {
			d.rec.Note(lane, timeline.Fault, "%s", text)
		}
	}
}

// executionsEnd waits for everything that was started.
func (d *demo) executionsEnd(ctx context.Context) error {
	wait, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for _, e := range d.Workflows.Executions() {
		if err := d.Workflows.Wait(wait, e.Name); err != nil {
			return fmt.Errorf("execution %s does not end: %w", e.Name, err)
		}
		d.rec.Note(LaneWorkflow, timeline.Good, "execution ended")
	}
	return nil
}

// poll waits for a condition of the fakes, which have no way to tell.
func poll(ctx context.Context, ok func() bool) error {
	for !ok() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
	return nil
}
