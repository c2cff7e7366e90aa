package main

import (
	"cmp"
	"fmt"
	"slices"

	"tandem/algo/exec/evaluation"
)

const (
	// stepsFew is the number of steps below which optimizers have hardly left the initial values.
	stepsFew = 100
	// riseWorth is the rise of the log loss from its lowest point, as a share of the constant guess's, from
	// which a shorter training is worth a remark.
	riseWorth = 0.01
	// gainLeast is the share of the baseline's gain over a constant guess, in log loss, below which a model
	// is worth a remark.
	gainLeast = 0.75
)

// warnings returns what is wrong with the models of the runs, and what to do.
func (r *report) warnings() (all []string) {
	if note := r.weightNote(); note != "" {
		all = append(all, note)
	}
	for i := range r.Runs {
		line := &r.Runs[i]
		for _, text := range []string{r.tooFewSteps(line), r.worseThanConstant(line),
			r.worseThanBaseline(line), r.rising(line), r.lostToEviction(line)} {
			if text != "" {
				all = append(all, line.Mode+": "+text)
			}
		}
	}
	return all
}

// errorName returns "log loss", or "RMSE" with squared loss.
func (r *report) errorName() string {
	_, name := evaluation.ScoreNames(r.job.Model.Loss)
	return name
}

func (r *report) tooFewSteps(line *row) string {
	if line.Steps+r.ResumedAt >= stepsFew {
		return ""
	}
	return fmt.Sprintf("only %s: train more epochs (--epochs) or smaller batches (--global-batch)",
		plural(line.Steps+r.ResumedAt, "step"))
}

func (r *report) worseThanConstant(line *row) string {
	if line.Loss() < r.constantError() {
		return ""
	}
	return fmt.Sprintf("%s %s is not below the %s of a constant guess: the model fits its "+
		"training rows alone, or diverged; train fewer epochs (--epochs), lower the rates of "+
		"rows.optimizer and model.optimizer in a job file, or leave out columns with as many ids as "+
		"rows", r.errorName(), r.lossText(line.Loss()), r.lossText(r.constantError()))
}

func (r *report) worseThanBaseline(line *row) string {
	if len(r.Baselines) == 0 || r.tooFewSteps(line) != "" || r.worseThanConstant(line) != "" {
		return ""
	}
	baseline := r.Baselines[0].Loss()
	if r.constantError()-line.Loss() >= gainLeast*(r.constantError()-baseline) {
		return ""
	}
	return fmt.Sprintf("%s %s, where the logistic regression has %s: choose the number of epochs "+
		"(--epochs 10 --validation 0.1), or train with smaller batches (--global-batch) or less staleness "+
		"(--staleness)", r.errorName(), r.lossText(line.Loss()), r.lossText(baseline))
}

func (r *report) rising(line *row) string {
	if len(line.Curve) < 2 {
		return ""
	}
	last := line.Curve[len(line.Curve)-1]
	best := slices.MinFunc(line.Curve,
		func(a, b evaluation.Point) int { return cmp.Compare(a.Loss(), b.Loss()) })
	if last.Loss()-best.Loss() < riseWorth*r.constantError() {
		return ""
	}
	return fmt.Sprintf("%s was lowest at step %d, %s, and rose to %s at step %d: train fewer "+
		"epochs (--epochs)", r.errorName(), best.Step, r.lossText(best.Loss()), r.lossText(last.Loss()),
		last.Step)
}

func (r *report) lostToEviction(line *row) string {
	lost := uint64(line.EmbeddingRows.EvictedGradients)
	if applied := line.MissedUpdates.Count / uint64(max(r.Seeds, 1)); lost == 0 || lost <= applied {
		return ""
	}
	return "most gradients found their row evicted and were lost: give rows.capacity or rows.memory more " +
		"room, or admit fewer ids (rows.admission)"
}
