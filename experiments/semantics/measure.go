package semantics

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strconv"

	"tandem/algo/exec/backend"
	"tandem/algo/numeric/batch"
	"tandem/datasets"
	"tandem/experiments/report"
	"tandem/runtime/train"
)

// result holds the results of all trainings on one data set.
type result struct {
	DataSet  string           `json:"data"`
	Variants []*variantResult `json:"variants"` // in the order of plan.variants
}

// variantResult holds the results of one variant.
type variantResult struct {
	Variant variant   `json:"variant"`
	Trials  []float64 `json:"trial_auc"`  // on the last tenth of train, by plan.Trials; 0 if it diverged
	Best    int       `json:"best_trial"` // log₂ of rate ÷ nominal rate
	Nominal quality   `json:"nominal"`
	Tuned   quality   `json:"tuned"`
}

// quality is the quality on the test rows, by seed.
type quality struct {
	AUC     []float64 `json:"auc"`
	LogLoss []float64 `json:"log_loss"` // nats
}

// run is the state of one measurement.
type run struct {
	*plan
	backend backend.Backend
	log     *report.Log
	meter   *report.Meter
}

// measure tunes and trains every variant on every data set.
func (p *plan) measure(ctx context.Context, o report.Options) (results []*result, err error) {
	log, err := report.NewLog(filepath.Join(o.Folder, "semantics.csv"),
		"data", "optimizer", "ranks", "merge", "scale", "rows", "seed", "rate", "auc", "log_loss_nats")
	if err != nil {
		return nil, err
	}
	defer func() {
		if closed := log.Close(); err == nil {
			err = closed
		}
	}()
	total := len(p.DataSets) * len(p.variants()) * (len(p.Trials) + 2*p.Seeds)
	r := run{p, o.Backend, log, &report.Meter{Total: total, Report: o.Progress}}
	for _, w := range p.DataSets {
		result := &result{DataSet: w.Name}
		for _, a := range p.variants() {
			result.Variants = append(result.Variants, &variantResult{Variant: a})
		}
		if err := r.dataSet(ctx, w, result); err != nil {
			return nil, fmt.Errorf("semantics: %s, after %d of %d trainings: %w", w.Name, r.meter.Done, total,
				err)
		}
		results = append(results, result)
	}
	return results, nil
}

// dataSet tunes every variant under the first seed, without the test rows, and then trains it under every
// seed.
func (r *run) dataSet(ctx context.Context, w report.DataSet, result *result) error {
	for i := range r.Seeds {
		seed := r.Seed + uint64(i)
		data, err := datasets.Open(w.WithSeed(seed), "")
		if err != nil {
			return err
		}
		for _, a := range result.Variants {
			if i == 0 {
				if err := r.tune(ctx, w.Name, data, a); err != nil {
					return err
				}
			}
			for _, at := range []struct {
				trial int
				to    *quality
			}{{0, &a.Nominal}, {a.Best, &a.Tuned}} {
				shown, err := r.train(ctx, w.Name, data, data.Train, data.Test, a.Variant, at.trial, seed)
				if err != nil {
					return err
				}
				at.to.AUC = append(at.to.AUC, shown.AUC)
				at.to.LogLoss = append(at.to.LogLoss, shown.LogLoss)
			}
		}
	}
	return nil
}

// tune finds the best trial on the last tenth of the training rows.
func (r *run) tune(ctx context.Context, name string, data *datasets.Dataset, a *variantResult) error {
	n := data.Train.Samples
	first, last := batch.Slice(data.Train, 0, n-n/10), batch.Slice(data.Train, n-n/10, n)
	most := -1.0
	for _, trial := range r.Trials {
		shown, err := r.train(ctx, name, data, first, last, a.Variant, trial, r.Seed)
		if err != nil {
			return err
		}
		auc := shown.AUC
		if math.IsNaN(auc) {
			auc = 0
		}
		a.Trials = append(a.Trials, auc)
		if auc > most {
			most, a.Best = auc, trial
		}
	}
	return nil
}

// train trains a variant once.
func (r *run) train(
	ctx context.Context, name string, data *datasets.Dataset, rows, test *batch.Batch,
	a variant, trial int, seed uint64,
) (*train.Result, error) {
	t := r.job(a, trial, seed)
	part := *data
	part.Train = rows
	source, err := datasets.TrainingSource(&part, &t)
	if err != nil {
		return nil, err
	}
	shown, err := train.Run(ctx, t, source, test, train.Options{
		Backend:  r.backend,
		Progress: func(done, steps int) { r.meter.Show(done, steps, name+", "+a.String()) },
	})
	if err != nil {
		return nil, fmt.Errorf("%v: %w", a, err)
	}
	r.meter.Done++
	return shown, r.log.Add(name, a.Optimizer, strconv.Itoa(a.Ranks), a.Merge, a.Scale,
		strconv.Itoa(rows.Samples), strconv.FormatUint(seed, 10), report.Number(t.Rows.Optimizer.Rate),
		report.Number(shown.AUC), report.Number(shown.LogLoss))
}
