package train

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"tandem/algo/histogram"
	"tandem/algo/protocol/fault"
	"tandem/algo/protocol/pace"
	"tandem/runtime/driver"
)

// Recovery says how a training in processes went on after it had lost some of them.
type Recovery struct {
	Lost error // names the process, and says why; or the saved model that could not be read
	Step int   // after which training has begun again, with the model that was saved there
	// Again is the number of steps that rank 0 had trained after Step, and has trained again.
	Again int
	// Down is the time from the loss, when it was noticed, to the next step of training, or to another loss
	// before it.
	Down time.Duration
}

// Replay says how long a process has handled again what it had received, by its redo logs, while others
// waited.
type Replay struct {
	Took time.Duration
	Of   time.Duration // from the end of the pause before until its death
}

// DefaultRestartsMax is a number for Options.RestartsMax.
const DefaultRestartsMax = 5

// String returns what was lost and what follows.
func (r Recovery) String() string {
	to := fmt.Sprintf("the checkpoint of step %d", r.Step)
	if r.Step == 0 {
		to = "the beginning"
	}
	return fmt.Sprintf("%v; training goes back to %s, by %d of its steps", r.Lost, to, r.Again)
}

// recover prepares training to begin again after an error, from the model that was saved last. It returns
// the error, with the reason, if that cannot be done.
func (a *apart) recover(ctx context.Context, err error) error {
	a.giveUp()
	o := a.options
	damaged := errors.As(err, new(*driver.ModelError))
	switch {
	case o.RestartsMax == 0 || ctx.Err() != nil || o.drained():
		return err
	case isAbsent(err) && a.done <= a.origins[len(a.origins)-1].Step:
		return nil // those that are there begin where all should have
	case a.began.IsZero(), !damaged && !errors.As(err, new(*driver.LostError)):
		return err
	case damaged && len(a.origins) == 1:
		return fmt.Errorf("%w; no earlier model can be read", err)
	case !damaged && a.restarts >= o.RestartsMax:
		return fmt.Errorf("%w; training has begun %d times after step %d without reaching its next "+
			"checkpoint", err, a.restarts+1, a.origins[len(a.origins)-1].Step)
	}
	a.recovered()
	a.endPause()
	a.restarts++
	if last := len(a.origins) - 1; damaged {
		if failed := o.SetAside(a.origins[last].Model); failed != nil {
			return fmt.Errorf("%w; %w", err, failed)
		}
		a.origins, a.restarts = a.origins[:last], 0
		a.forgetRemoved()
	} else {
		o.interval.Losses++
	}
	from := a.origins[len(a.origins)-1]
	from.counted.restore(a.result)
	if err := a.again.back(from.Origin); err != nil {
		return err
	}
	a.lost = time.Now()
	r := Recovery{Lost: err, Step: from.Step, Again: max(a.done-from.Step, 0)}
	a.done = from.Step
	o.Progress(a.done, o.End)
	a.result.Recoveries = append(a.result.Recoveries, r)
	if o.Lost != nil {
		o.Lost(r)
	}
	return nil
}

// forgetRemoved gives up the latest origins whose models were removed to make room for later ones.
func (a *apart) forgetRemoved() {
	for last := len(a.origins) - 1; last > 0; last-- {
		if _, err := os.Stat(a.origins[last].Model); !errors.Is(err, os.ErrNotExist) {
			return
		}
		a.origins = a.origins[:last]
	}
}

// isAbsent reports whether an error says that a process that was lost before has not come back.
func isAbsent(err error) bool {
	lost := new(driver.LostError)
	return errors.As(err, &lost) && lost.Absent
}

// counted is what a training has counted up to a step.
type counted struct {
	staleness pace.Staleness
	missed    histogram.Histogram
	hot       uint64
	faults    fault.Counts
}

// counts returns what a training has counted so far.
func (r *Result) counts() counted {
	c := counted{missed: r.MissedUpdates.Clone(), hot: r.HotGradients, faults: r.Faults}
	c.staleness.Merge(&r.Staleness)
	return c
}

// restore makes a training count on from here.
func (c counted) restore(r *Result) {
	r.Staleness = pace.Staleness{}
	r.Staleness.Merge(&c.staleness)
	r.MissedUpdates, r.HotGradients, r.Faults = c.missed.Clone(), c.hot, c.faults
}

// recovered notes how long training has stood still since the latest loss, if it has not begun again yet.
func (a *apart) recovered() {
	if a.lost.IsZero() {
		return
	}
	a.result.Recoveries[len(a.result.Recoveries)-1].Down = time.Since(a.lost)
	a.lost = time.Time{}
}
