package guardtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"example.com/runonce/functions/guard"
)

// charge is a step whose callee takes the token; mail one that can be asked; both under one run.
func chargeAndMail(ctx context.Context, d *Delivery) error {
	g, err := guard.New(d.Store, guard.Config{})
	if err != nil {
		return err
	}
	_, err = guard.Do(ctx, g, guard.Effect[string]{
		Request: guard.Request{Token: "run1/charge"},
		Do: func(_ context.Context, a guard.Attempt) (string, error) {
			d.EffectOnce(a.Token, "charge")
			return "paid", nil
		},
	})
	if err != nil {
		return err
	}
	_, err = guard.Do(ctx, g, guard.Effect[string]{
		Request: guard.Request{Token: "run1/mail"},
		Do:      func(context.Context, guard.Attempt) (string, error) { d.Effect("mail"); return "sent", nil },
		Find:    func(context.Context, guard.Attempt) (string, bool, error) { return "sent", d.Happened("mail"), nil },
	})
	return err
}

func TestCrashPassesSoundFunctions(t *testing.T) { // B1, B17, B18
	t.Parallel()
	Crash(t, CrashConfig{}, chargeAndMail)
	Crash(t, CrashConfig{Uncertain: true}, func(ctx context.Context, d *Delivery) error {
		g, err := guard.New(d.Store, guard.Config{})
		if err != nil {
			return err
		}
		_, err = guard.Do(ctx, g, guard.Effect[int]{
			Request: guard.Request{Token: "run1/once"},
			Repeat:  guard.Never,
			Do:      func(context.Context, guard.Attempt) (int, error) { d.Effect("once"); return 0, nil },
		})
		return err
	})
}

func TestCrashFindsUnsoundFunctions(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		fn   crashFunc
		want string
	}{
		{"no guard at all", func(_ context.Context, d *Delivery) error {
			_, _ = d.Store.Get(context.Background(), "x")
			d.Effect("mail")
			return nil
		}, "duplicate after the end"},
		{"an addition that is safe to repeat, it says", func(ctx context.Context, d *Delivery) error {
			g, _ := guard.New(d.Store, guard.Config{})
			_, err := guard.Do(ctx, g, guard.Effect[int]{
				Request: guard.Request{Token: "run1/add"},
				Do:      func(context.Context, guard.Attempt) (int, error) { d.Effect("add"); return 0, nil },
			})
			return err
		}, `effect "add" happened +1 times`},
		{"the effect before the guard", func(ctx context.Context, d *Delivery) error {
			d.Effect("early")
			g, _ := guard.New(d.Store, guard.Config{})
			_, err := guard.Do(ctx, g, guard.Effect[int]{
				Request: guard.Request{Token: "run1/x"},
				Do:      func(context.Context, guard.Attempt) (int, error) { return 0, nil },
			})
			return err
		}, "duplicate after the end"},
		{"marked before it is done", func(ctx context.Context, d *Delivery) error {
			switch _, err := d.Store.Create(ctx, guard.Record{Token: "run1/mark"}); {
			case errors.Is(err, guard.ErrExists):
				return nil
			case err != nil:
				return err
			}
			d.Effect("late")
			return nil
		}, `effect "late" happened -1 times`},
		{"never ends", func(context.Context, *Delivery) error { return errors.New("no luck") }, "undisturbed: no end after 10 deliveries"},
		{"tells of no effect", func(context.Context, *Delivery) error { return nil }, "tell Delivery.Effect"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, problems := crash(t.Context(), CrashConfig{}.filled(), tt.fn)
			if all := fmt.Sprint(problems); len(problems) == 0 || !strings.Contains(all, tt.want) {
				t.Errorf("problems %s\nwant one with %q", all, tt.want)
			}
		})
	}
}

func TestCrashCoversEveryPoint(t *testing.T) {
	t.Parallel()
	scenarios, problems := crash(t.Context(), CrashConfig{}.filled(), chargeAndMail)
	// Undisturbed: create and finish of two steps, and two effects; then the duplicate's create and read of each. Five
	// faults for a store call, two for an effect.
	if want := 1 + 8*5 + 2*2; scenarios != want || len(problems) != 0 {
		t.Errorf("%d scenarios and problems %v, want %d and none", scenarios, problems, want)
	}
}
