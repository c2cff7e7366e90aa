package train

import (
	"context"
	"math"
	"testing"

	"tandem/algo/exec/backend"
	"tandem/algo/job"
	"tandem/algo/protocol/role"
)

// The costs of a run cover every kind of work of its mode, and add up to less than the duration of the run,
// because work is done one piece at a time.
func TestCostsAreOfWorkInTurn(t *testing.T) {
	training := small(job.Hybrid, 2)
	c, err := MeasureCosts(t.Context(), training, newRows(64*6, 64, 4, 1), backend.Backend{})
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []role.WorkKind{role.Read, role.Split, role.ReadRows, role.Pool, role.Forward,
		role.Backward,
		role.Merge, role.Apply, role.DenseApply} {
		if c.Work[kind] <= 0 {
			t.Errorf("%v took %v", kind, c.Work[kind])
		}
	}
	if c.Work[role.ApplyStep] != 0 || c.Reduce <= 0 || !(c.Total() < c.Wall) || !(c.Dense() < c.Total()) {
		t.Errorf("apply-step %v, reduce %v, dense %v, all work %v, wall %v",
			c.Work[role.ApplyStep], c.Reduce, c.Dense(), c.Total(), c.Wall)
	}
}

func TestShareIsOfTheBound(t *testing.T) {
	s, err := MeasureShare(t.Context(), small(job.Sync, 2), newRows(64*6, 64, 4, 1), backend.Backend{})
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(s.Share()*s.Bound-s.SamplesPerSecond) > 1e-6*s.SamplesPerSecond || s.Bound > 1/s.Dense ||
		s.SamplesPerSecond <= 0 {
		t.Errorf("%+v", s)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := MeasureShare(ended, small(job.Sync, 2), newRows(64, 64, 4, 1),
		backend.Backend{}); err == nil {
		t.Error("no error, though the run has been ended")
	}
}
