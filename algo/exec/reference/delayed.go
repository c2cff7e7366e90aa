package reference

import (
	"fmt"
	"math"
	"slices"

	"tandem/algo/exec/backend"
	"tandem/algo/histogram"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/protocol/delay"
	"tandem/algo/protocol/pace"
)

// Delayed is Sequential whose gradients are under way for a while: those of step
// i take effect after the delay that package delay gives them, rows and network
// each by its own spec. Staleness is imposed, and yet measured: at every read
// and every update.
type Delayed struct {
	*Sequential
	rowDelay, denseDelay      *delay.Model
	pendingRows, pendingDense pendingUpdates
	staleness                 pace.Staleness
}

// NewDelayed returns a delayed training before its first step. Without delays
// it is Sequential, bit for bit.
func NewDelayed(t job.Job, source batch.Source, m backend.Backend) (*Delayed, error) {
	q, err := NewSequential(t, source, m)
	if err != nil {
		return nil, err
	}
	d := &Delayed{Sequential: q}
	if d.rowDelay, err = delay.NewModel(t.Training.Delay, t.Training.Seed); err != nil {
		return nil, err
	}
	// The same seed: equal specs delay the whole gradient of a step by the same.
	if d.denseDelay, err = delay.NewModel(t.Training.DelayDense, t.Training.Seed); err != nil {
		return nil, err
	}
	return d, nil
}

// Step reads and computes as Sequential does, and makes the updates that the
// next step is to see. After the last step, Finish.
func (d *Delayed) Step(step int) error {
	d.staleness.Own.Add(len(d.pendingRows))
	d.staleness.Inflight.Add(len(d.pendingRows))
	g, err := d.compute(step)
	if err != nil {
		return fmt.Errorf("step %d: %w", step, err)
	}
	d.pendingRows.add(pendingUpdate{gradients: g, due: step + d.rowDelay.DelayOf(step)})
	g.dense, g.stats = slices.Clone(g.dense), slices.Clone(g.stats)
	d.pendingDense.add(pendingUpdate{gradients: g, due: step + d.denseDelay.DelayOf(step), version: d.dense.Steps()})
	return d.applyDue(step)
}

// Finish makes the updates that no step has seen, as the end of a run with roles
// does: nothing is lost.
func (d *Delayed) Finish() error { return d.applyDue(math.MaxInt) }

// applyDue makes the updates that are due by a step.
func (d *Delayed) applyDue(step int) error {
	for _, g := range d.pendingRows.takeDue(step) {
		if err := d.applyRows(g.gradients); err != nil {
			return fmt.Errorf("step %d: %w", g.step, err)
		}
	}
	for _, g := range d.pendingDense.takeDue(step) {
		d.staleness.Dense.Add(d.dense.Steps() - g.version)
		d.applyDense(g.gradients)
	}
	return nil
}

// Staleness returns what the steps up to now have missed. Own has, for every
// step, the earlier ones whose rows were not updated when it read; Dense, for
// every update of the network, the others since the read that its gradient was
// computed from.
func (d *Delayed) Staleness() pace.Staleness { return d.staleness }

// Missed returns a count for every row gradient applied, as ModelState.Missed.
func (d *Delayed) Missed() histogram.Histogram { return d.rows.Missed() }

// sent is gradients under way.
type pendingUpdate struct {
	gradients
	due     int // the last step whose read does not see them
	version int // steps of the network when they were computed
}

// pendingUpdates is gradients in the order in which they will take effect: as they
// are due, and then as they were sent.
type pendingUpdates []pendingUpdate

func (u *pendingUpdates) add(s pendingUpdate) {
	at, _ := slices.BinarySearchFunc(*u, s.due+1, func(a pendingUpdate, due int) int { return a.due - due })
	*u = slices.Insert(*u, at, s)
}

// takeDue takes out what is due by a step.
func (u *pendingUpdates) takeDue(step int) []pendingUpdate {
	at, _ := slices.BinarySearchFunc(*u, step, func(a pendingUpdate, step int) int {
		if a.due <= step {
			return -1
		}
		return 1
	})
	landed := slices.Clone((*u)[:at])
	*u = slices.Delete(*u, 0, at)
	return landed
}
