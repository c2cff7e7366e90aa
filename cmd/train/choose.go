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
	// Tried are the models that were tried on these rows. A logistic regression is also where no model is
	// chosen: its own rate and number of epochs are.
	Tried []tried `json:"tried,omitempty"`
	// Derived are the slots that were derived from the columns of a table; nil: none were tried.
	Derived *derived `json:"derived,omitempty"`

	compared  bool     // the baseline could have been chosen: it was tried on the same rows held back
	share     float64  // of the training rows, held back
	baseline  *job.Job // a logistic regression; nil: none
	regressed *tried   // how the baseline was chosen; nil where the rows were too few
}

// tried is a model that was tried on held-back training rows.
type tried struct {
	Model   string             `json:"model"`
	Derived bool               `json:"derived,omitempty"` // with the derived slots
	Wide    bool               `json:"wide,omitempty"`    // those of pairs have weights alone (model.wide)
	Means   bool               `json:"means,omitempty"`   // with the means of the label by id (data.means)
	Part    bool               `json:"part,omitempty"`    // on a part of the rows, to choose what all see
	Rows    int                `json:"rows"`              // training rows held back
	Epochs  int                `json:"epochs"`            // with the lowest log loss on these rows
	Curve   []evaluation.Point `json:"curve"`             // after each epoch, on these rows
	Chosen  bool               `json:"chosen,omitempty"`  // the job has this model: one at most
}

// derived is how slots were derived.
type derived struct {
	Slots []string `json:"slots"`
	Used  bool     `json:"used"` // the job has them
}

func newTried(c *infer.Choice, derived bool) tried {
	return tried{Model: c.Job.Model.Kind, Derived: derived, Wide: c.Job.Model.Wide != nil,
		Means: len(c.Job.Data.Means) > 0, Rows: c.Held, Epochs: c.Job.Training.Epochs, Curve: c.Curve}
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
	baseline := !slices.Contains(f.without, baselinePart)
	all := []*infer.Variant{{Job: *j, Set: f.opened}}
	switch {
	case f.derives():
		all, err = infer.Derive(ctx, *j, f.opened, open, share, machine)
	case baseline:
		all[0].Baseline, all[0].Regression, err = infer.Baseline(ctx, *j, f.opened, share, machine)
	}
	if err != nil {
		return err
	}
	regression := f.table.file != "" && mayGiveWay(j.Model.Kind)
	network, err := f.tryNetworks(ctx, all, share, regression, machine)
	if err != nil {
		return err
	}
	best := all[0]
	var taken *infer.Choice
	switch {
	case network:
		best, taken, *j = infer.Choose(all, regression)
		f.opened = best.Set
	case f.validation > 0: // too few rows to choose on
		j.Training.Epochs = infer.EpochsWithout(f.opened)
	}
	f.chosen = newChosen(all, best, taken)
	f.chosen.share = share
	f.chosen.compared = regression && best.Regression != nil &&
		slices.ContainsFunc([]*infer.Choice{taken, best.Part}, func(c *infer.Choice) bool {
			return c != nil && c.Held == best.Regression.Held
		})
	if baseline {
		f.chosen.baseline = &best.Baseline
		if best.Whole != nil { // chosen on more rows
			f.chosen.baseline = &best.Whole.Job
		}
	}
	return nil
}

// newChosen returns what was tried of the variants of a job, of which one was chosen, with the model that was
// taken, or none.
func newChosen(all []*infer.Variant, best *infer.Variant, taken *infer.Choice) (c chosen) {
	var seen []*infer.Choice // variants of the same columns share their regression
	part := 0                // rows held back of a part of the rows; 0: none was tried
	for _, v := range all {
		if v.Part != nil {
			part = v.Part.Held
		}
	}
	for i, v := range all {
		derives := i > 0 && len(v.Job.Data.Derived) > 0
		if derives && c.Derived == nil {
			c.Derived = &derived{}
			for _, slot := range v.Job.Data.Derived {
				c.Derived.Slots = append(c.Derived.Slots, slot.Name)
			}
		}
		if derives && v == best {
			c.Derived.Used = true
		}
		for _, choice := range []*infer.Choice{v.Regression, v.Network, v.Part, v.Whole} {
			if choice == nil {
				continue
			}
			one := newTried(choice, derives)
			one.Part = choice == v.Part || choice == v.Regression && choice.Held == part
			one.Chosen = choice == taken
			if v == best && (choice == v.Regression || choice == v.Whole) {
				c.regressed = &one
			}
			if !slices.Contains(seen, choice) {
				c.Tried, seen = append(c.Tried, one), append(seen, choice)
			}
		}
	}
	return c
}

// mayGiveWay reports whether the baseline takes the place of a kind of network that predicts worse: not
// that of a module, which is what the user has asked for.
func mayGiveWay(kind string) bool { return kind != model.Torch }

// derives reports whether slots are derived: of a table in memory, where held-back rows can choose.
func (f *flags) derives() bool {
	return f.table.file != "" && f.validation > 0 && f.opened.Rows == nil && f.checkpoints.initFrom == "" &&
		!slices.Contains(f.without, baselinePart) && !slices.Contains(f.without, derivedPart)
}

// tryNetworks chooses the number of epochs of the network of each variant, if that is asked. It returns false
// where it is not, or where the rows are too few.
func (f *flags) tryNetworks(ctx context.Context, all []*infer.Variant, share float64, regression bool,
	m backend.Backend) (bool, error) {
	if f.validation == 0 {
		return false, nil
	}
	err := infer.TryNetworks(ctx, all, share, regression, m)
	if err != nil && (f.validationGiven || ctx.Err() != nil) {
		return false, fmt.Errorf("--validation: %w", err)
	}
	return err == nil, nil
}

// lowest returns the log loss or RMSE of the best epoch, on the rows held back.
func (t *tried) lowest() float64 { return t.Curve[t.Epochs-1].Loss() }

// writeChosen prints what was chosen on held-back rows.
func (r *report) writeChosen(w io.Writer) error {
	at := r.taken()
	if at >= 0 {
		t := &r.Tried[at]
		text := fmt.Sprintf("Chosen on %s held back: %s of a %s", plural(t.Rows, "training row"),
			plural(t.Epochs, "epoch"), t.Model)
		if r.Derived != nil {
			text += map[string]string{"wide": " with wide derived slots", "with": " with derived slots",
				"without": " without derived slots"}[t.slots()]
		}
		if t.Means {
			text += ", with means of the label by id"
		}
		if t.Epochs == len(t.Curve) && t.Model != model.LogisticRegression {
			text += fmt.Sprintf("; no more were tried (--epochs %d --validation 0.1 does)", 2*t.Epochs)
		}
		cli.Paragraph(w, text+". The runs train on all training rows.", "  ")
	}
	if at >= 0 || r.Derived != nil {
		table := r.triedTable()
		if err := table.WriteText(w); err != nil {
			return err
		}
	}
	if d := r.Derived; d != nil {
		what := "Derived slots"
		if !d.Used {
			what = "Derived slots that were tried, and left out"
		}
		cli.Paragraph(w, fmt.Sprintf("%s: %s.", what, strings.Join(d.Slots, ", ")), "  ")
	}
	if r.baseline == nil {
		return nil
	}
	text := fmt.Sprintf("The logistic regression has a weight for every id and number, trained by "+
		"Adagrad: rows at rate %.3g, %s", r.baseline.Rows.Optimizer.Rate,
		plural(r.baseline.Training.Epochs, "epoch"))
	if r.regressed != nil {
		text += fmt.Sprintf("; both chosen on %s held back", plural(r.regressed.Rows, "training row"))
	}
	cli.Paragraph(w, text+".", "  ")
	return nil
}

// slots says how a model has the derived slots.
func (t *tried) slots() string {
	switch {
	case t.Wide:
		return "wide"
	case t.Derived:
		return "with"
	}
	return "without"
}

// taken returns the number of the model that was chosen, or −1.
func (r *report) taken() int {
	return slices.IndexFunc(r.Tried, func(t tried) bool { return t.Chosen })
}

// triedTable returns the table of the models that were tried on held-back rows: first those of the same rows
// as the one that was chosen, which is marked, and last those of a part of the rows. Of the same rows the
// best is first.
func (r *report) triedTable() cli.Table {
	t := cli.Table{Header: []string{"tried on held-back rows", "rows", "epochs", r.errorName()}, Words: 1}
	if r.Derived != nil {
		t.Header, t.Words = slices.Insert(t.Header, 1, "derived slots"), 2
	}
	means := slices.ContainsFunc(r.Tried, func(t tried) bool { return t.Means })
	if means {
		t.Header = slices.Insert(t.Header, len(t.Header)-3, "means")
		t.Words++
	}
	all, rows := slices.Clone(r.Tried), 0
	if at := r.taken(); at >= 0 {
		rows = all[at].Rows
	}
	group := func(t tried) int {
		switch {
		case t.Part:
			return 2
		case t.Rows == rows:
			return 0
		}
		return 1
	}
	slices.SortStableFunc(all, func(a, b tried) int {
		return cmp.Or(cmp.Compare(group(a), group(b)), cmp.Compare(a.Rows, b.Rows),
			cmp.Compare(a.lowest(), b.lowest()))
	})
	for _, one := range all {
		name := one.Model
		switch {
		case one.Chosen:
			name += " (chosen)"
		case one.Part:
			name += " (a part)"
		}
		cells := []string{name, fmt.Sprint(one.Rows), fmt.Sprint(one.Epochs), r.lossText(one.lowest())}
		if means {
			cells = slices.Insert(cells, 1, map[bool]string{true: "yes", false: "no"}[one.Means])
		}
		if r.Derived != nil {
			cells = slices.Insert(cells, 1, one.slots())
		}
		t.Add(cells...)
	}
	return t
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
