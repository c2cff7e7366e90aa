package infer

import (
	"cmp"
	"context"
	"slices"

	"tandem/algo/exec/backend"
	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/algo/numeric/model"
	"tandem/datasets"
)

// Variant is a job with derived slots or without, and what its models make of held-back rows.
type Variant struct {
	Job job.Job
	Set *datasets.Dataset // of the job
	// Baseline is the logistic regression of the job, and Regression how it was chosen, on a part of a large
	// table; nil: it was not, or the rows were too few.
	Baseline   job.Job
	Regression *Choice
	// Network is how the number of epochs of the job's network was chosen; nil: it was not.
	Network *Choice
	// Part is how the network did on a part of a large table, where that decided between models; else nil.
	Part *Choice
	// Whole is how the number of epochs of the regression was chosen on all rows of a large table, because it
	// did best on the part; else nil.
	Whole *Choice
}

// partRows is the number of rows of a large table on which models are compared.
const partRows = 100_000

// TryNetworks chooses the number of epochs of the network of each variant. Of more than 100,000 rows, a part
// of this size decides (Dataset.HoldBack says which rows): the network that does best on the part is tried on
// all rows, and the next one if that diverges. Where a regression may be chosen and is clearly better on the
// part, it is tried on all rows, too: factors gain more than weights from the rows that are not in the part.
// A network that diverges is left out; the error is that of the last one if none is left. Where ctx ends, the
// error is its cause.
//
// Cost: up to three trainings of a network, each of at most all epochs of its job, on the rows of the part.
// On all rows, a training of one network that ends an epoch or two after its best epoch, and perhaps one of
// a regression of at most 4 million samples or an epoch. The data sets of all variants stay in memory
// meanwhile, and so does the part.
func TryNetworks(ctx context.Context, all []*Variant, share float64, regression bool,
	m backend.Backend) error {
	return tryNetworks(ctx, all, share, partRows, regression, m)
}

// tryNetworks is TryNetworks with a part of at most some rows.
func tryNetworks(ctx context.Context, all []*Variant, share float64, rows int, regression bool,
	m backend.Backend) error {
	candidates, enough := networks(all), len(all) // those to try on all rows, and how many must not diverge
	regression = regression && slices.ContainsFunc(all, func(v *Variant) bool { return v.Regression != nil })
	if all[0].Set.TrainRows() > rows && (len(all) > 1 || regression) {
		compared, few, err := compare(ctx, all, share, rows, regression, m)
		if err != nil {
			return err
		}
		if len(compared) > 0 {
			candidates, enough = compared, few
		}
	}
	var last error
	tried := 0
	for _, c := range candidates {
		if tried == enough {
			break
		}
		choice, err := ChooseEpochs(ctx, c.job, c.of.Set, share, m)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			last = err
			continue
		}
		if c.simple {
			c.of.Whole = choice
		} else {
			c.of.Network = choice
		}
		tried++
	}
	if tried > 0 {
		return nil
	}
	return last
}

// candidate is a model of a variant.
type candidate struct {
	of     *Variant
	simple bool // its regression
	job    job.Job
	onPart *Choice
}

// networks returns the networks of all variants.
func networks(all []*Variant) (list []candidate) {
	for _, v := range all {
		list = append(list, candidate{of: v, job: v.Job})
	}
	return list
}

// sure is the number of standard errors from which a difference on a part is not the draw of its rows.
const sure = 2

// ahead reports whether a choice predicts the held-back rows clearly better than another one of these rows.
func (c *Choice) ahead(other *Choice) bool {
	if len(c.Predicted) != c.Held { // several labels: losses have no differences by row
		return c.Best().Loss() < other.Best().Loss()
	}
	lead, e := metric.LossDifference(other.Predicted, c.Predicted, c.labels, c.weights,
		c.Job.Model.Loss == model.SquaredLoss)
	return lead > sure*e
}

// compare tries the network of each variant on a part of the rows. It returns the models to try on all rows,
// the most promising first, and how many of them: the networks that do not diverge and, with regression, the
// regressions of the same rows.
func compare(ctx context.Context, all []*Variant, share float64, rows int, regression bool,
	m backend.Backend) (list []candidate, enough int, err error) {
	var simple []candidate
	for _, c := range networks(all) {
		v := c.of
		v.Part, err = choose(ctx, []job.Job{v.Job}, v.Set, share, rows, m)
		if ctx.Err() != nil {
			return nil, 0, context.Cause(ctx)
		}
		if err != nil {
			continue
		}
		c.onPart = v.Part
		list = append(list, c)
		tried := func(c candidate) bool { return c.onPart == v.Regression } // of the same columns
		if r := v.Regression; regression && r != nil && r.Held == v.Part.Held &&
			!slices.ContainsFunc(simple, tried) {
			again := r.Job
			again.Training.Epochs = min(v.Job.Training.Epochs, max(baselineSamples/v.Set.TrainRows(), 1))
			simple = append(simple, candidate{v, true, again, r})
		}
	}
	best := func(a, b candidate) int { return cmp.Compare(a.onPart.Best().Loss(), b.onPart.Best().Loss()) }
	slices.SortStableFunc(list, best)
	slices.SortStableFunc(simple, best)
	if len(simple) > 0 && simple[0].onPart.ahead(list[0].onPart) {
		return slices.Insert(list, 1, simple...), 2, nil
	}
	return append(list, simple...), 1, nil
}

// lowest returns the variant whose choice predicts held-back rows best, the first one of equals, or nil if
// none has a choice.
func lowest(all []*Variant, choice func(*Variant) *Choice) (best *Variant) {
	for _, v := range all {
		if c := choice(v); c != nil && (best == nil || c.Best().Loss() < choice(best).Best().Loss()) {
			best = v
		}
	}
	return best
}

// Choose returns the variant, the choice and the job whose model predicts the held-back rows best, after
// TryNetworks: of the networks and, with regression, of the regressions of the same rows. The job has the
// settings of the choice, and the mode of its variant. Where labels follow from single columns, a
// factorization only adds noise; where pairs of ids share a taste, slots of pairs take from the network what
// it would learn of each id.
func Choose(all []*Variant, regression bool) (*Variant, *Choice, job.Job) {
	best := lowest(all, func(v *Variant) *Choice { return v.Network })
	var simple *Variant
	of := func(v *Variant) *Choice { // its regression of the same rows, or nil
		if v.Whole != nil || best == nil {
			return v.Whole
		}
		if v.Regression == nil || v.Regression.Held != best.Network.Held {
			return nil
		}
		return v.Regression
	}
	if regression {
		simple = lowest(all, of)
	}
	if simple == nil || best != nil && !(of(simple).Best().Loss() < best.Network.Best().Loss()) {
		return best, best.Network, best.Network.Job
	}
	c, j := of(simple), simple.Job
	j.Model, j.Rows, j.Training.Epochs = c.Job.Model, c.Job.Rows, c.Job.Training.Epochs
	return simple, c, j
}
