package driver

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"tandem/algo/numeric/batch"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/fault"
	"tandem/algo/protocol/pace"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
)

func TestRunRefuses(t *testing.T) {
	for _, c := range []struct {
		change func(*role.Config)
		want   string
	}{
		{func(c *role.Config) { c.Retry = 0 }, "driver: faults lose messages; set retry above 0"},
		{func(c *role.Config) { c.Retry = -unit.Second }, "retry after -1000000000 ns; want 0 or more"},
		{func(c *role.Config) { c.Ranks = 0 }, "role: ranks = 0; want at least 1"},
		{func(c *role.Config) { c.Rule = nil }, "role: no rule"},
		{func(c *role.Config) { c.Rule = pace.Hybrid{Staleness: -1, Overlap: pace.HybridDS} },
			"staleness -1"},
	} {
		cfg, p := cluster(t, pace.Sync{Overlap: pace.OverlapNone}, steps(3))
		cfg.Retry = unit.Second
		c.change(cfg)
		var all records
		o := watchedBy(&all)
		o.Faults = &fault.Plan{Drop: 0.01}
		if err := Run(t.Context(), cfg, p, o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
		if len(all) != 0 {
			t.Errorf("%q: the run began all the same", c.want)
		}
	}
}

// The synctest bubble ends only when every goroutine has ended.
func TestRunLeavesNothingBehind(t *testing.T) {
	for _, rule := range rules() {
		synctest.Test(t, func(t *testing.T) {
			cfg, p := cluster(t, rule, steps(10))
			if err := Run(t.Context(), cfg, p, Options{}); err != nil {
				t.Error(err)
			}
		})
	}
}

// unreadable is a source whose last step cannot be read.
type unreadable struct{ steps }

var errDisk = errors.New("disk on fire")

func (u unreadable) Read(step int) (*batch.Batch, error) {
	if step == u.Steps()-1 {
		return nil, errDisk
	}
	return u.steps.Read(step)
}

// The Halt of one role stops all of them, and its reason names the role and the step.
func TestHaltStopsEveryRole(t *testing.T) {
	for _, rule := range rules() {
		synctest.Test(t, func(t *testing.T) {
			cfg, p := cluster(t, rule, unreadable{steps(6)})
			err := Run(t.Context(), cfg, p, Options{})
			if !errors.Is(err, errDisk) || !strings.Contains(err.Error(), "data-loader 0, step 5") {
				t.Errorf("%+v: %v", rule, err)
			}
		})
	}
}

// canceller ends a context at the first record of a kind.
type canceller struct {
	kind   event.Kind
	cancel context.CancelCauseFunc
}

var errEnough = errors.New("seen enough")

func (c canceller) Observe(e event.Record) {
	if e.Kind == c.kind {
		c.cancel(errEnough)
	}
}

// The roles stop when the context ends, at any point of their work, and Run returns its cause.
func TestContextEndsTheRun(t *testing.T) {
	for kind := event.BatchRead; kind <= event.PutApplied; kind++ {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			cfg, p := cluster(t, pace.Hybrid{Staleness: 2, Overlap: pace.HybridDS}, steps(1000))
			if err := Run(ctx, cfg, p, watchedBy(canceller{kind, cancel})); !errors.Is(err, errEnough) {
				t.Errorf("at %v: %v", kind, err)
			}
		})
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errEnough)
	cfg, p := cluster(t, pace.Sync{Overlap: pace.OverlapNone}, steps(1000))
	if err := Run(ctx, cfg, p, Options{}); !errors.Is(err, errEnough) {
		t.Errorf("before the start: %v", err)
	}
}
