package infer

import (
	"context"

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

// TryNetworks chooses the number of epochs of the network of each variant. Of more than networkRows rows,
// the first of these decide which variant's network is tried on all of them. A network that diverges is left
// out; the error is that of the last one if none is left.
func TryNetworks(ctx context.Context, all []*Variant, share float64, m backend.Backend) error {
	if len(all) > 1 && all[0].Set.TrainRows() > networkRows {
		for _, v := range all {
			var err error
			if v.Part, err = choose(ctx, []job.Job{v.Job}, v.Set, share, networkRows, m); ctx.Err() != nil {
				return err
			}
		}
		if best := lowest(all, func(v *Variant) *Choice { return v.Part }); best != nil {
			all = []*Variant{best}
		}
	}
	var last error
	tried := false
	for _, v := range all {
		var err error
		if v.Network, err = ChooseEpochs(ctx, v.Job, v.Set, share, m); ctx.Err() != nil {
			return err
		}
		if err != nil {
			last = err
		}
		tried = tried || err == nil
	}
	if tried {
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

// Choose returns the variant and the job whose model predicts the held-back rows best: of its networks, at
// least one of which was tried, and with regression also of the regressions of the same rows. Where labels
// follow from single columns, a factorization only adds noise; where pairs of ids share a taste, slots of
// pairs take from the network what it would learn of each id.
func Choose(all []*Variant, regression bool) (*Variant, job.Job) {
	best := lowest(all, func(v *Variant) *Choice { return v.Network })
	network := best.Network
	if !regression {
		return best, network.Job
	}
	simple := lowest(all, func(v *Variant) *Choice {
		if v.Regression == nil || v.Regression.Held != network.Held {
			return nil
		}
		return v.Regression
	})
	if simple == nil || !(simple.Regression.Best().Loss() < network.Best().Loss()) {
		return best, network.Job
	}
	j, chosen := simple.Job, simple.Regression.Job
	j.Model, j.Rows, j.Training.Epochs = chosen.Model, chosen.Rows, chosen.Training.Epochs
	return simple, j
}
