package driver

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tandem/algo/numeric/batch"
	"tandem/algo/protocol/fault"
	"tandem/algo/protocol/pace"
	"tandem/algo/protocol/role"
)

// drowsy is a source whose batches take 10 ms each to read.
type drowsy struct{ steps }

func (d drowsy) Read(step int) (*batch.Batch, error) {
	time.Sleep(10 * time.Millisecond)
	return d.steps.Read(step)
}

// In a synctest bubble only reading takes time. A run of 5 steps, whose batches are read one after the other,
// takes 5 · 10 ms, and 3 times as long with a data loader that is slow by a factor of 3. The stopwatch sees
// the work alone. An end of the run ends a wait.
func TestSlowRoleWaitsAfterItsWork(t *testing.T) {
	three := fault.Slows{{Role: fault.SlowTarget{Index: fault.AllInstances}, Factor: 3}}
	for _, c := range []struct {
		o    Options
		want time.Duration
	}{
		{Options{}, 50 * time.Millisecond}, {Options{Slow: three}, 150 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			cfg, p := cluster(t, pace.Sync{Overlap: pace.OverlapNone}, drowsy{steps(5)})
			watch := &longest{}
			c.o.Stopwatch = watch
			start := time.Now()
			if err := Run(t.Context(), cfg, p, c.o); err != nil {
				t.Fatal(err)
			}
			if got := time.Since(start); got != c.want || watch.work != 10*time.Millisecond {
				t.Errorf("%v: %v in all, the longest work %v, want %v and 10ms", c.o.Slow, got, watch.work,
					c.want)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer end()
		cfg, p := cluster(t, pace.Sync{Overlap: pace.OverlapNone}, drowsy{steps(5)})
		start := time.Now()
		err := Run(ctx, cfg, p, Options{Slow: three})
		if took := time.Since(start); err == nil || took > 20*time.Millisecond {
			t.Errorf("the run ends after %v with %v, want after 20ms", took, err)
		}
	})
}

// longest is a Stopwatch that keeps the longest time of any work.
type longest struct {
	counter
	work time.Duration
}

func (l *longest) Worked(w role.Work, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.work = max(l.work, took)
}

// A wait that was too long shortens the next ones: here by 3 ms, after work of 2 ms that owes 2 ms. Others
// have their turn meanwhile.
func TestBrakeMakesUpForLateTimers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &run{ended: t.Context(), turns: new(sync.Mutex)}
		r.turns.Lock()
		b := &brake{factor: 2, owed: -3 * time.Millisecond}
		for i, want := range []time.Duration{0, time.Millisecond, 2 * time.Millisecond} {
			start := time.Now()
			b.after(r, 2*time.Millisecond)
			if got := time.Since(start); got != want {
				t.Errorf("wait %d takes %v, want %v", i, got, want)
			}
		}
		other := make(chan bool, 1)
		go func() {
			time.Sleep(time.Millisecond)
			free := r.turns.TryLock()
			if free {
				r.turns.Unlock()
			}
			other <- free
		}()
		b.after(r, 2*time.Millisecond)
		if !<-other || r.turns.TryLock() {
			t.Error("the turn is held while the brake waits, or not after it")
		}
	})
}

// A real timer fires after its time, and the brake keeps by how much.
func TestBrakeKeepsTheExcessOfAWait(t *testing.T) {
	b := &brake{factor: 2}
	b.after(&run{ended: t.Context()}, time.Millisecond)
	if b.owed >= 0 {
		t.Errorf("%v are owed after a wait, want less than 0", b.owed)
	}
}
