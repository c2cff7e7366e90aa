package driver

import (
	"sync"
	"testing"
	"time"

	"tandem/algo/protocol/role"
)

// counter counts the calls of a Stopwatch.
type counter struct {
	mu      sync.Mutex
	work    map[role.WorkKind]int
	buckets int
	below   bool // a duration was negative
}

func (c *counter) Worked(w role.Work, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.work[w.Kind]++
	c.below = c.below || took < 0
}

func (c *counter) Reduced(_ int32, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.buckets++
	c.below = c.below || took < 0
}

// Every piece of work is timed once: of 5 steps, 4 ranks and 2 PSs in sync mode.
func TestStopwatchReceivesAllWork(t *testing.T) {
	cfg, p := cluster(t, rules()[0], steps(5))
	c := &counter{work: map[role.WorkKind]int{}}
	if err := Run(t.Context(), cfg, p, Options{Stopwatch: c}); err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[role.WorkKind]int{role.Read: 5, role.Split: 20, role.Forward: 20,
		role.Backward: 20,
		role.Merge:    20, role.ApplyStep: 10, role.DenseApply: 20, role.Apply: 0} {
		if c.work[kind] != want {
			t.Errorf("%v was timed %d times, want %d", kind, c.work[kind], want)
		}
	}
	if want := 5 * len(cfg.Buckets); c.buckets != want || c.below {
		t.Errorf("%d buckets were timed, want %d; below 0: %v", c.buckets, want, c.below)
	}
}
