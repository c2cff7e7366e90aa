package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"tandem/algo/exec/evaluation"
	"tandem/algo/metric"
	"tandem/algo/numeric/model"
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
	// shareMore is the share of the training rows to hold back where fewer have chosen badly.
	shareMore = 0.3
	// sure is the number of standard errors from which a difference is not the draw of the test rows.
	sure = 2
)

// warnings returns what is wrong with the models of the runs, and what to do.
func (r *report) warnings() (all []string) {
	if note := r.weightNote(); note != "" {
		all = append(all, note)
	}
	var behind []*row
	for i := range r.Runs {
		line := &r.Runs[i]
		for _, text := range []string{r.tooFewSteps(line), r.worseThanConstant(line),
			r.hardlyAGuess(line), r.rising(line), r.lostToEviction(line)} {
			if text != "" {
				all = append(all, line.Mode+": "+text)
			}
		}
		if r.worseThanBaseline(line) {
			behind = append(behind, line)
		}
	}
	if behind != nil {
		all = append(all, r.behindBaseline(behind))
	}
	if text := r.lateCosts(); text != "" {
		all = append(all, text)
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
	if loss := r.trainingLoss(line.Mode); loss >= r.constantError() && !math.IsNaN(line.Loss()) {
		return fmt.Sprintf("%s %s is not below the %s of a constant guess, nor was the %.4f of the "+
			"training rows at the end: the training has hardly begun, or its rates are too high; train more "+
			"epochs (--epochs), or change the rates of rows.optimizer and model.optimizer in a job file",
			r.errorName(), r.lossText(line.Loss()), r.lossText(r.constantError()), loss)
	}
	return fmt.Sprintf("%s %s is not below the %s of a constant guess: the model fits its "+
		"training rows alone, or diverged; %slower the rates of rows.optimizer and model.optimizer in a job "+
		"file, or leave out columns with as many ids as rows", r.errorName(), r.lossText(line.Loss()),
		r.lossText(r.constantError()), r.fewerEpochs())
}

// trainingLoss returns the mean training loss of a mode over the last tenth of the points that followed it,
// in the first seed, or NaN where it is not known, or is no log loss of the first label alone.
func (r *report) trainingLoss(mode string) float64 {
	points := r.followed[mode].points
	if len(points) == 0 || len(r.job.Model.Heads) > 1 || r.weightNote() != "" || r.ConstantRMSE > 0 {
		return math.NaN()
	}
	points = points[len(points)*9/10:]
	sum := 0.0
	for _, p := range points {
		sum += p.Loss
	}
	return sum / float64(len(points))
}

// fewerEpochs is an advice, with a comma and a space behind it, or "" where there was one epoch.
func (r *report) fewerEpochs() string {
	if r.job.Training.Epochs <= 1 {
		return ""
	}
	return "train fewer epochs (--epochs), "
}

// hardlyAGuess is about a model whose gain over a constant guess may be the draw of the test rows.
func (r *report) hardlyAGuess(line *row) string {
	if line.predicted == nil || r.tooFewSteps(line) != "" || r.worseThanConstant(line) != "" {
		return ""
	}
	constant := slices.Repeat([]float32{float32(r.mean)}, len(r.labels))
	gain, e := r.lossDifference(constant, line.predicted) // of the first seed
	ofAll := r.constantError() - line.Loss()
	if r.ConstantRMSE > 0 {
		ofAll *= r.constantError() + line.Loss() // of squares, as gain and e are
	}
	if max(gain, ofAll) > sure*e {
		return ""
	}
	why := "the columns say little of the label, or the rows are too few; add columns or rows"
	if e := line.AUCStandardError; e != nil && line.AUC-0.5 > sure**e {
		why = fmt.Sprintf("an AUC of %.4f says that the rows are in a better order than by chance, so the "+
			"level of the predictions is at fault; train more epochs (--epochs), or change the rates of "+
			"rows.optimizer and model.optimizer in a job file", line.AUC)
	}
	return fmt.Sprintf("%s %s is hardly below the %s of a constant guess, by no more than the draw of %d "+
		"test rows explains: %s", r.errorName(), r.lossText(line.Loss()), r.lossText(r.constantError()),
		len(r.labels), why)
}

// lossDifference returns the mean loss of predictions a of the test rows less that of b, and its standard
// error.
func (r *report) lossDifference(a, b []float32) (mean, standardError float64) {
	return metric.LossDifference(a, b, r.labels, r.weights, r.ConstantRMSE > 0)
}

// worseThanBaseline reports whether a model predicts clearly worse than the logistic regression beside it.
func (r *report) worseThanBaseline(line *row) bool {
	if len(r.Baselines) == 0 || r.tooFewSteps(line) != "" || r.worseThanConstant(line) != "" {
		return false
	}
	baseline := &r.Baselines[0]
	if r.constantError()-line.Loss() < gainLeast*(r.constantError()-baseline.Loss()) {
		return true
	}
	if line.predicted == nil || r.job.Model.Kind == model.LogisticRegression {
		return false
	}
	mean, e := r.lossDifference(line.predicted, baseline.predicted) // of the first seed
	return mean > sure*e && line.Loss() > baseline.Loss()
}

// behindBaseline is one warning about all modes whose models are worse than the logistic regression.
func (r *report) behindBaseline(lines []*row) string {
	return fmt.Sprintf("%s, where the logistic regression has %s: %s", r.modesAndLosses(lines),
		r.lossText(r.Baselines[0].Loss()), r.behindAdvice(slices.ContainsFunc(lines, (*row).isLate)))
}

// modesAndLosses names runs, and the range of their losses.
func (r *report) modesAndLosses(lines []*row) string {
	var modes []string
	var losses []float64
	for _, line := range lines {
		modes, losses = append(modes, line.Mode), append(losses, line.Loss())
	}
	text := r.lossText(slices.Min(losses))
	if most := r.lossText(slices.Max(losses)); most != text {
		text += " to " + most
	}
	return fmt.Sprintf("%s: %s %s", strings.Join(modes, ", "), r.errorName(), text)
}

// isLate reports whether rows were read before earlier updates of them.
func (line *row) isLate() bool {
	return line.Staleness.Max > 0 || line.StalenessCross.Max > 0 || line.MissedUpdates.Max > 0
}

// lateCosts is one warning about all runs with late rows that predict clearly worse than the best run
// without. Most of the updates that rows miss are of the most frequent rows.
func (r *report) lateCosts() string {
	var fresh *row
	for i := range r.Runs {
		if line := &r.Runs[i]; !line.isLate() && line.predicted != nil &&
			(fresh == nil || line.Loss() < fresh.Loss()) {
			fresh = line
		}
	}
	if fresh == nil {
		return ""
	}
	var worse []*row
	for i := range r.Runs {
		line := &r.Runs[i]
		if !line.isLate() || line.predicted == nil || line.Loss() <= fresh.Loss() {
			continue
		}
		if mean, e := r.lossDifference(line.predicted, fresh.predicted); mean > sure*e { // of the first seed
			worse = append(worse, line)
		}
	}
	if worse == nil {
		return ""
	}
	advice := "train with less staleness (--staleness)"
	if slices.ContainsFunc(worse, func(line *row) bool { return !line.hot }) {
		advice = "in mode hybrid, --hot-rows auto keeps the most frequent rows fresh"
	}
	return fmt.Sprintf("%s, where %s, without late rows, has %s: %s", r.modesAndLosses(worse), fresh.Mode,
		r.lossText(fresh.Loss()), advice)
}

// behindAdvice is what to do about a model that predicts worse than the regression beside it. In late modes
// rows miss updates.
func (r *report) behindAdvice(late bool) string {
	less := "train with smaller batches (--global-batch)"
	if late {
		less += " or less staleness (--staleness)"
	}
	const simple = "train a job file with model.kind: logistic-regression, or "
	at := r.taken()
	switch {
	case at < 0 && r.job.Model.Kind == model.LogisticRegression:
		return "choose the number of epochs (--epochs 10 --validation 0.1), or " + less
	case at < 0:
		return "choose the number of epochs (--epochs 10 --validation 0.1), " + simple + less
	case r.Tried[at].Model == model.LogisticRegression:
		return less
	case !r.compared:
		return "the regression was not among the models to choose from; " + simple + less
	}
	text := "the rows held back chose otherwise; "
	if r.share < shareMore {
		text += fmt.Sprintf("hold back more (--validation %g), ", shareMore)
	}
	return text + simple + less
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
	return fmt.Sprintf("%s was lowest at step %d, %s, and rose to %s at step %d: %slower the rates of "+
		"rows.optimizer and model.optimizer in a job file", r.errorName(), best.Step,
		r.lossText(best.Loss()), r.lossText(last.Loss()), last.Step,
		strings.Replace(r.fewerEpochs(), ", ", ", or ", 1))
}

func (r *report) lostToEviction(line *row) string {
	rows := &line.EmbeddingRows
	switch {
	case rows.ExpiredGradients > rows.applied:
		return "most gradients found their row expired and were lost: set rows.expiry to far more steps " +
			"than a gradient is late"
	case rows.EvictedGradients <= rows.applied:
		return ""
	}
	return "most gradients found their row evicted and were lost: give rows.capacity or rows.memory more " +
		"room, or admit fewer ids (rows.admission)"
}
