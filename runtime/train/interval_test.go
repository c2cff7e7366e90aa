package train

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"tandem/algo/exec"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/protocol/role"
	"tandem/runtime/driver"
)

// returning is a Cluster whose processes come back by their redo logs. It trains until it is drained.
type returning struct {
	recordedCluster
	replays int
	drained chan struct{}
}

func (*returning) Roles() (_ job.Roles, changed bool, err error) {
	return small(job.Hybrid, 1).Roles, false, nil
}

func (c *returning) Drain() { close(c.drained) }

func (c *returning) Train(_ context.Context, _ *role.Config, _ *batch.Schema, _ driver.Origin,
	callbacks driver.Callbacks) error {
	callbacks.Started(c.Drain)
	for range c.replays {
		time.Sleep(time.Minute)
		callbacks.Redone(15*time.Second, time.Minute)
	}
	<-c.drained
	return driver.ErrNotBegun
}

// A replay is counted as the share of the time that it took, and is reported: see saving.Interval.
func TestReplaysBringTheNextPauseNearer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &returning{replays: 4, drained: make(chan struct{})}
		o := Options{Cluster: c, SaveAuto: true, End: 9, interval: &interval{begun: time.Now()}}
		r := newRows(64*9, 64, 4, 1)
		j := small(job.Hybrid, 1)
		executor, err := exec.New(j, r, o.Backend)
		if err != nil {
			t.Fatal(err)
		}
		result := &Result{}
		o.Progress = func(int, int) {}
		a := &apart{job: &j, source: r, model: executor.Model(), options: &o, result: result,
			evaluator: &evaluator{}}
		if _, _, _, err := a.train(t.Context(), driver.Origin{}); err != nil {
			t.Fatal(err)
		}
		if n := o.interval.Replayed; n != 1 || len(result.Replays) != 4 ||
			result.Replays[3] != (Replay{15 * time.Second, time.Minute}) {
			t.Errorf("four replays of a quarter count as %v losses; reported: %+v", n, result.Replays)
		}
	})
}
