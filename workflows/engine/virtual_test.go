package engine

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"
)

// worker counts as an execution on the clock while f runs.
func worker(v *Virtual, f func()) (done <-chan struct{}) {
	turn := v.enter()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer v.leave()
		if turn != nil {
			<-turn
		}
		f()
	}()
	return ended
}

func TestVirtualJumpsWhenAllWait(t *testing.T) {
	t.Parallel()
	v := NewVirtual(epoch)
	release := v.Hold()
	var mu sync.Mutex
	var order []int
	var all []<-chan struct{}
	for _, n := range []int{3, 1, 2} {
		all = append(all, worker(v, func() {
			if err := sleep(t.Context(), v, time.Duration(n)*time.Hour); err != nil {
				t.Error(err)
			}
			mu.Lock()
			order = append(order, n)
			mu.Unlock()
		}))
	}
	release()
	for _, d := range all {
		<-d
	}
	if want := []int{1, 2, 3}; !slices.Equal(order, want) {
		t.Errorf("woke in order %v, want %v", order, want)
	}
	if got, want := v.Now(), epoch.Add(3*time.Hour); !got.Equal(want) {
		t.Errorf("the clock shows %v, want %v", got, want)
	}
}

func TestVirtualStandsStillUnderHold(t *testing.T) {
	t.Parallel()
	v := NewVirtual(epoch)
	release := v.Hold()
	done := worker(v, func() { sleep(t.Context(), v, time.Second) })
	select {
	case <-done:
		t.Fatal("the clock moved although it was held")
	case <-time.After(20 * time.Millisecond):
	}
	release()
	<-done
}

func TestVirtualSleepEndsWithContext(t *testing.T) {
	t.Parallel()
	v := NewVirtual(epoch)
	defer v.Hold()()
	ctx, cancel := context.WithCancel(t.Context())
	var err error
	done := worker(v, func() { err = sleep(ctx, v, time.Second) })
	cancel()
	<-done
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
}

func TestVirtualStoppedTimerDoesNotFire(t *testing.T) {
	t.Parallel()
	v := NewVirtual(epoch)
	stop := v.AfterFunc(time.Second, func() { t.Error("fired") })
	if !stop() || stop() {
		t.Error("stop must report true once, then false")
	}
	if err := v.Sleep(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	if got, want := v.Now(), epoch.Add(time.Minute); !got.Equal(want) {
		t.Errorf("the clock shows %v, want %v", got, want)
	}
}

func TestDeterministicTakesTurnsInOrder(t *testing.T) {
	t.Parallel()
	for range 20 {
		v := NewDeterministic(epoch)
		release := v.Hold()
		var order []int // no lock: one goroutine works at a time
		var all []<-chan struct{}
		for n := range 5 {
			all = append(all, worker(v, func() {
				order = append(order, n)
				sleep(t.Context(), v, time.Second)
				order = append(order, 10+n)
			}))
		}
		release()
		for _, d := range all {
			<-d
		}
		if want := []int{0, 1, 2, 3, 4, 10, 11, 12, 13, 14}; !slices.Equal(order, want) {
			t.Fatalf("took turns in order %v, want %v", order, want)
		}
	}
}
