package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"tandem/algo/exec/backend"
	"tandem/algo/exec/evaluation"
	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/datasets"
	"tandem/datasets/infer"
	"tandem/internal/cli"
	"tandem/runtime/blas"
)

// chosen is what was chosen on held-back training rows before the runs.
type chosen struct {
	// Validation is how the number of epochs was chosen; nil where it was given.
	Validation *validation `json:"validation,omitempty"`

	// Derived are the slots that were derived from the columns of a table; nil: none were tried.
	Derived *derived `json:"derived,omitempty"`

	baseline  *job.Job    // a logistic regression; nil: none
	regressed *validation // how the baseline was chosen; nil where the rows were too few
}

// validation is how a number of epochs was chosen.
type validation struct {
	Rows   int                `json:"rows"`   // training rows held back
	Model  string             `json:"model"`  // that was tried
	Epochs int                `json:"epochs"` // with the lowest log loss on these rows
	Curve  []evaluation.Point `json:"curve"`  // after each epoch, on these rows
}

// derived is how slots were derived.
type derived struct {
	Slots []string `json:"slots"`
	Used  bool     `json:"used"` // the job has them
	Rows  int      `json:"rows"` // training rows held back
	// LogLoss and Without are the log losses of a logistic regression with and without the slots, on these
	// rows, or its RMSEs with squared loss.
	LogLoss float64 `json:"log_loss"`
	Without float64 `json:"log_loss_without"`
}

func newDerived(d *infer.Derived) *derived {
	if d.With == nil {
		return nil
	}
	r := &derived{Used: len(d.Job.Data.Derived) > 0, Rows: d.With.Held, LogLoss: d.With.Best().Loss(),
		Without: d.Without.Best().Loss()}
	for _, s := range d.Tried {
		r.Slots = append(r.Slots, s.Name)
	}
	return r
}

func newValidation(c *infer.Choice) *validation {
	return &validation{c.Held, c.Job.Model.Kind, c.Job.Training.Epochs, c.Curve}
}

// choose opens the data of a job, and chooses the derived slots of a table, its number of epochs, if that is
// asked, and the baseline.
func (p *program) choose(ctx context.Context, j *job.Job, f *flags) error {
	products, err := blas.FromEnvironment(p.stderr)
	if err != nil {
		return err
	}
	open := func(data job.Data) (*datasets.Dataset, error) {
		return datasets.Open(data, job.DataFolder(p.dataDir, f.file))
	}
	if f.opened == nil {
		if f.opened, err = open(j.Data); err != nil {
			return err
		}
	}
	f.products = products
	machine := f.backend()
	share := cmp.Or(f.validation, infer.Share(f.opened))
	var regressed *infer.Choice
	if f.derives() {
		d, err := infer.Derive(ctx, *j, f.opened, open, share, machine)
		if err != nil {
			return err
		}
		*j, f.opened, f.chosen.Derived = d.Job, d.Set, newDerived(d)
		f.chosen.baseline, regressed = &d.Baseline, d.Choice
	}
	first, err := f.chooseEpochs(ctx, j, share, machine)
	if err != nil || slices.Contains(f.without, baselinePart) {
		return err
	}
	if f.chosen.baseline == nil {
		baseline, choice, err := infer.Baseline(ctx, *j, f.opened, share, machine)
		if err != nil {
			return err
		}
		f.chosen.baseline, regressed = &baseline, choice
	}
	if regressed != nil {
		f.chosen.regressed = newValidation(regressed)
		if first != nil && f.table.file != "" && mayGiveWay(j.Model.Kind) {
			*j = infer.Prefer(first, regressed)
		}
	}
	return nil
}

// mayGiveWay reports whether the baseline takes the place of a kind of network that predicts worse: not
// that of a module, which is what the user has asked for.
func mayGiveWay(kind string) bool { return kind != model.Torch }

// derives reports whether slots are derived: of a table in memory, where held-back rows can choose.
func (f *flags) derives() bool {
	return f.table.file != "" && f.validation > 0 && f.opened.Rows == nil && f.checkpoints.initFrom == "" &&
		!slices.Contains(f.without, baselinePart) && !slices.Contains(f.without, derivedPart)
}

// chooseEpochs chooses the number of epochs of a job, if that is asked. The choice is nil where it is not, or
// where the rows are too few.
func (f *flags) chooseEpochs(ctx context.Context, j *job.Job, share float64, m backend.Backend) (
	*infer.Choice, error) {
	if f.validation == 0 {
		return nil, nil
	}
	first, err := infer.ChooseEpochs(ctx, *j, f.opened, share, m)
	switch {
	case err == nil:
		j.Training.Epochs, f.chosen.Validation = first.Job.Training.Epochs, newValidation(first)
	case f.validationGiven || ctx.Err() != nil:
		return nil, fmt.Errorf("--validation: %w", err)
	default: // too few rows to choose on
		j.Training.Epochs = infer.EpochsWithout(f.opened)
	}
	return first, nil
}

// lowest returns the log loss or RMSE of the best epoch, on the rows held back.
func (v *validation) lowest() float64 { return v.Curve[v.Epochs-1].Loss() }

// lowest returns that of the model that was chosen.
func (c *chosen) lowest() float64 {
	if c.regressed == nil || !mayGiveWay(c.Validation.Model) || c.regressed.Rows != c.Validation.Rows {
		return c.Validation.lowest()
	}
	return min(c.Validation.lowest(), c.regressed.lowest())
}

// writeChosen prints what was chosen on held-back rows.
func (r *report) writeChosen(w io.Writer) {
	if v := r.Validation; v != nil {
		text := fmt.Sprintf("Chosen on %s held back: %s of a %s, whose %s there is %s", plural(v.Rows,
			"training row"), plural(r.job.Training.Epochs, "epoch"), r.Model, r.errorName(),
			r.lossText(r.lowest()))
		switch {
		case r.Model != v.Model:
			text += fmt.Sprintf(", against %s of a %s", r.lossText(v.lowest()), v.Model)
		case v.Epochs == len(v.Curve):
			text += fmt.Sprintf("; no more were tried (--epochs %d --validation 0.1 does)", 2*v.Epochs)
		}
		cli.Paragraph(w, text+". The runs train on all training rows.", "  ")
	}
	if d := r.Derived; d != nil {
		what := "Derived slots"
		if !d.Used {
			what = "No derived slots: tried were"
		}
		cli.Paragraph(w, fmt.Sprintf("%s: %s; a logistic regression has %s %s on the rows held back "+
			"with them, and %s without.", what, strings.Join(d.Slots, ", "), r.errorName(),
			r.lossText(d.LogLoss), r.lossText(d.Without)), "  ")
	}
	if r.baseline == nil {
		return
	}
	text := fmt.Sprintf("The logistic regression has a weight for every id and number, trained by "+
		"Adagrad: rows at rate %.3g, %s", r.baseline.Rows.Optimizer.Rate,
		plural(r.baseline.Training.Epochs, "epoch"))
	if r.regressed != nil {
		text += fmt.Sprintf("; both chosen on %s held back", plural(r.regressed.Rows, "training row"))
	}
	cli.Paragraph(w, text+".", "  ")
}

// setPositiveWeight sets what positive samples count in the loss of every label. The initial bias of a
// table's job moves by its logarithm, so that predictions begin at the share of positive weight.
func setPositiveWeight(j *job.Job, weight float64, moveBias bool) error {
	if !(weight > 0) || math.IsInf(weight, 1) {
		return fmt.Errorf("%v; want a number above 0", weight)
	}
	heads := slices.Clone(j.Model.Heads)
	if len(heads) == 0 {
		heads = make([]model.Head, 1)
	}
	for i := range heads {
		heads[i].PositiveWeight = weight
		if moveBias {
			heads[i].Bias += math.Log(weight)
		}
	}
	j.Model.Heads = heads
	return nil
}

// weightNote says what other weights of positive samples do to predictions, or "".
func (r *report) weightNote() string {
	for _, head := range r.job.Model.Heads {
		if w := head.PositiveWeight; w > 0 && w != 1 {
			return fmt.Sprintf("positive samples count %g times, so predicted odds are about %g times "+
				"the true ones and log loss is not that of calibrated probabilities; divide the odds "+
				"p/(1−p) by %g, AUC does not change", w, w, w)
		}
	}
	return ""
}
