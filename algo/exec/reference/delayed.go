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

// Delayed is Sequential with late gradients: the gradients of a step take effect after the step's delay,
// which package delay computes from one spec for rows and one for the network. Staleness is imposed, and
// measured at every read and every update. Hot rows, if the job has any, take effect without delay.
type Delayed struct {
	*Sequential
	hot                       *hotRows // nil: no row is hot
	rowDelay, denseDelay      *delay.Model
	pendingRows, pendingDense pendingUpdates
	staleness                 pace.Staleness
}

// NewDelayed returns the delayed training of a job, before its first step. Without delays it computes what
// Sequential does, bit for bit.
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
	if least := t.Training.HotRows; least != nil {
		if d.hot, err = findHotRows(source, *least); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// Step computes the gradients of a step as Sequential does, and applies all gradients that the next step is
// to see. Call Finish after the last step.
func (d *Delayed) Step(step int) error {
	d.staleness.Own.Add(len(d.pendingRows))
	d.staleness.Inflight.Add(len(d.pendingRows))
	g, err := d.compute(step)
	if err != nil {
		return fmt.Errorf("step %d: %w", step, err)
	}
	g.keep(d.Rows())
	late, due := g, step+d.rowDelay.DelayOf(step)
	if d.hot != nil {
		var fresh gradients
		fresh, late = d.divide(g)
		d.pendingRows.add(pendingUpdate{gradients: fresh, due: step})
		if late.rows() == 0 {
			due = step // nothing is late
		}
	}
	d.pendingRows.add(pendingUpdate{gradients: late, due: due})
	g.dense, g.stats = slices.Clone(g.dense), slices.Clone(g.stats)
	d.pendingDense.add(pendingUpdate{gradients: g, due: step + d.denseDelay.DelayOf(step),
		version: d.dense.Steps()})
	return d.applyDue(step)
}

// Finish applies the gradients that are still pending, as a run with roles does at its end: none is lost.
func (d *Delayed) Finish() error { return d.applyDue(math.MaxInt) }

// applyDue applies the gradients that are due by a step.
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

// Staleness returns the staleness of the steps so far. Own counts, for every step, the earlier steps of which
// row gradients were pending when it read; Dense counts, for every update of the network, the updates since
// the read that its gradient was computed from.
func (d *Delayed) Staleness() pace.Staleness { return d.staleness }

// Hot returns the number of hot rows, and of their gradients so far, none of which missed an update.
func (d *Delayed) Hot() (rows int, gradients uint64) {
	if d.hot == nil {
		return 0, 0
	}
	return len(d.hot.signs), d.hot.gradients
}

// Missed returns a count for every row gradient applied, as exec.ModelState.Missed does.
func (d *Delayed) Missed() histogram.Histogram { return d.rows.Missed() }

// pendingUpdate is gradients that have not taken effect.
type pendingUpdate struct {
	gradients
	due     int // the last step whose read does not see them
	version int // steps of the network when they were computed
}

// pendingUpdates are in the order in which they will take effect: by due step, then in the order of add.
type pendingUpdates []pendingUpdate

func (u *pendingUpdates) add(s pendingUpdate) {
	at, _ := slices.BinarySearchFunc(*u, s.due+1, func(a pendingUpdate, due int) int { return a.due - due })
	*u = slices.Insert(*u, at, s)
}

// takeDue removes and returns the updates that are due by a step.
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
