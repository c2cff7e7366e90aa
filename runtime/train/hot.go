package train

import (
	"fmt"
	"slices"
	"time"

	"tandem/algo/exec"
	"tandem/algo/exec/frequent"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/shard"
	"tandem/runtime/driver"
)

// HotChoice is a choice of hot rows on the way (job.Hot.Every).
type HotChoice struct {
	Step int `json:"step"` // global steps trained before it
	// Promoted is the number of rows that became hot, and Demoted of those that no longer are, whether they
	// had been trained or not.
	Promoted int `json:"promoted"`
	Demoted  int `json:"demoted"`
	// Time is that to count the data and to move the rows of this process.
	Time time.Duration `json:"time_ns"`
}

// choiceEnd returns the step before which the hot rows of a global step are chosen again.
func choiceEnd(t *job.Job, step int) int {
	if !t.HasHotRows() || t.Rows.Hot.Every == 0 {
		return maxStep
	}
	return (t.Rows.Hot.Choice(step) + 1) * t.Rows.Hot.Every
}

// maxStep is more than the number of any step.
const maxStep = int(^uint(0) >> 1)

// checkChoices returns an error if the hot rows are to be chosen again where that is not possible.
func (o *Options) checkChoices(t *job.Job) error {
	switch {
	case choiceEnd(t, o.Begin.Step) >= o.End:
		return nil
	case o.Cluster != nil && o.SaveEvery == 0 && !o.byTime():
		return fmt.Errorf("rows.hot.every = %d: the rows of processes change their owners where the model "+
			"is saved on the way, and this training saves none; let it save the model "+
			"(--checkpoint-every), or leave out rows.hot.every", t.Rows.Hot.Every)
	}
	return nil
}

// choices are the choices of hot rows on the way.
type choices struct {
	job       *job.Job
	source    batch.Source
	test      *batch.Batch
	executor  *exec.Executor // of all roles, or of none
	evaluator *evaluator
	result    *Result
	end       int // global step before which training ends
}

// between chooses the hot rows again before a global step, unless those of an earlier step are still to be
// used or training ends there, and reports whether they are others. It gives the rows of this process to
// their new owners. No role may have work.
func (c *choices) between(earlier, step int) (others bool, err error) {
	hot := &c.job.Rows.Hot
	if !c.job.HasHotRows() || hot.Choice(step) == hot.Choice(earlier) || step == c.end {
		return false, nil
	}
	start, before := time.Now(), hot.Rows()
	if err := frequent.ChooseAgain(c.job, c.source, step); err != nil {
		return false, err
	}
	done := HotChoice{Step: step, Promoted: missingFrom(before, hot.Rows()),
		Demoted: missingFrom(hot.Rows(), before)}
	if others = done.Promoted+done.Demoted > 0; others {
		if err := c.executor.SetHot(hot.Rows()); err != nil {
			return false, fmt.Errorf("rows.hot.every, after %d steps: %w", step, err)
		}
		c.evaluator.evaluation = c.executor.Model().NewTestSet(c.test)
	}
	done.Time = time.Since(start)
	c.result.Job.Rows.Hot, c.result.HotChoices = *hot, append(c.result.HotChoices, done)
	return others, nil
}

// back makes the hot rows those from which a training begins again, and forgets later choices.
func (c *choices) back(to driver.Origin) error {
	hot := &c.job.Rows.Hot
	if !c.job.HasHotRows() || hot.Rows() == to.Hot {
		return nil
	}
	hot.SetRows(to.Hot)
	if err := c.executor.SetHot(to.Hot); err != nil {
		return err
	}
	c.evaluator.evaluation = c.executor.Model().NewTestSet(c.test)
	c.result.Job.Rows.Hot = *hot
	c.result.HotChoices = slices.DeleteFunc(c.result.HotChoices,
		func(h HotChoice) bool { return h.Step > to.Step })
	return nil
}

// missingFrom returns the number of rows that are in a set and not in another.
func missingFrom(other, set *shard.Hot) (n int) {
	for _, sign := range set.Signs() {
		if _, there := other.Place(sign); !there {
			n++
		}
	}
	return n
}
