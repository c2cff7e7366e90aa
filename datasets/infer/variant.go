package infer

import (
	"cmp"
	"context"
	"slices"

	"tandem/algo/exec/backend"
	"tandem/algo/job"
	"tandem/datasets"
)

// Variant is a job with derived slots or without, and what its models make of held-back rows.
type Variant struct {
	Job job.Job
	Set *datasets.Dataset // of the job
	// Baseline is the logistic regression of the job, and Regression how it was chosen; nil: it was not, or
	// the rows were too few.
	Baseline   job.Job
	Regression *Choice
	// Network is how the number of epochs of the job's network was chosen; nil: it was not.
	Network *Choice
	// Part is how the network did on a part of a large table, where that decided between variants; else nil.
	Part *Choice
}

// networkRows is the number of rows on which the networks of variants are compared.
const networkRows = 200_000

// TryNetworks chooses the number of epochs of the network of each variant. Of more than 200,000 rows, a part
// of this size decides (Dataset.HoldBack says which rows): the variant whose network does best on the part is
// tried on all rows, and the next one if that diverges. A network that diverges is left out; the error is
// that of the last one if none is left. Where ctx ends, the error is its cause.
//
// Cost: up to three trainings of a network, each of at most all epochs of its job, on the rows of the part,
// and one on all rows. The data sets of all variants stay in memory meanwhile, and so does the part.
func TryNetworks(ctx context.Context, all []*Variant, share float64, m backend.Backend) error {
	return tryNetworks(ctx, all, share, networkRows, m)
}

// tryNetworks is TryNetworks with a part of at most some rows.
func tryNetworks(ctx context.Context, all []*Variant, share float64, rows int, m backend.Backend) error {
	enough := len(all) // networks to try on all rows
	if len(all) > 1 && all[0].Set.TrainRows() > rows {
		var compared []*Variant
		for _, v := range all {
			var err error
			v.Part, err = choose(ctx, []job.Job{v.Job}, v.Set, share, rows, m)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err == nil {
				compared = append(compared, v)
			}
		}
		if len(compared) > 0 {
			slices.SortStableFunc(compared, func(a, b *Variant) int {
				return cmp.Compare(a.Part.Best().Loss(), b.Part.Best().Loss())
			})
			all, enough = compared, 1
		}
	}
	var last error
	tried := 0
	for _, v := range all {
		if tried == enough {
			break
		}
		choice, err := ChooseEpochs(ctx, v.Job, v.Set, share, m)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			last = err
			continue
		}
		v.Network = choice
		tried++
	}
	if tried > 0 {
		return nil
	}
	return last
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

// Choose returns the variant, the choice and the job whose model predicts the held-back rows best: of the
// networks, at least one of which was tried, and with regression also of the regressions of the same rows.
// The job has the settings of the choice, and the mode of its variant. Where labels follow from single
// columns, a factorization only adds noise; where pairs of ids share a taste, slots of pairs take from the
// network what it would learn of each id.
func Choose(all []*Variant, regression bool) (*Variant, *Choice, job.Job) {
	best := lowest(all, func(v *Variant) *Choice { return v.Network })
	network := best.Network
	if !regression {
		return best, network, network.Job
	}
	simple := lowest(all, func(v *Variant) *Choice {
		if v.Regression == nil || v.Regression.Held != network.Held {
			return nil
		}
		return v.Regression
	})
	if simple == nil || !(simple.Regression.Best().Loss() < network.Best().Loss()) {
		return best, network, network.Job
	}
	j, chosen := simple.Job, simple.Regression.Job
	j.Model, j.Rows, j.Training.Epochs = chosen.Model, chosen.Rows, chosen.Training.Epochs
	return simple, simple.Regression, j
}
