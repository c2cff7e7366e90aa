package staleness

import (
	"context"
	"fmt"
	"math"

	"tandem/algo/exec/backend"
	"tandem/algo/histogram"
	"tandem/algo/metric"
	"tandem/datasets"
	"tandem/experiments/report"
	"tandem/runtime/train"
)

// dataSetResult holds the results of all trainings on one data set.
type dataSetResult struct {
	DataSet   string           `json:"data"`
	Alpha     float64          `json:"alpha,omitempty"`
	TrainRows int              `json:"train_rows"`
	TestRows  int              `json:"test_rows"`
	Oracle    *oracle          `json:"oracle,omitempty"` // nil for real data
	Variants  []*variantResult `json:"variants"`         // in the order of plan.variants
	Effects   []effect         `json:"effects"`
	labels    []float32        // of the test rows of real data
}

// oracle is the quality of the probabilities that the labels were drawn with, which no model can exceed. It
// has one value per seed.
type oracle struct {
	AUC     []float64 `json:"auc"`
	LogLoss []float64 `json:"log_loss"`
}

// variantResult holds the results of one variant under all seeds.
type variantResult struct {
	Variant  variant             `json:"variant"`
	AUC      []float64           `json:"auc"`      // by seed
	LogLoss  []float64           `json:"log_loss"` // by seed, nats
	Own      histogram.Histogram `json:"own_staleness"`
	Cross    histogram.Histogram `json:"cross_staleness"`
	Inflight histogram.Histogram `json:"inflight_staleness"`
	// probabilities are the predictions by seed, on real data until the effects are measured.
	probabilities [][]float32
}

// measure runs every variant under every seed on every data set.
func (e *Experiment) measure(
	ctx context.Context, p plan, o report.Options,
) (results []*dataSetResult, err error) {
	log, err := o.NewLog("staleness.csv", header()...)
	if err != nil {
		return nil, err
	}
	defer func() {
		if closed := log.Close(); err == nil {
			err = closed
		}
	}()
	meter := &report.Meter{Total: len(p.DataSets) * p.Seeds * len(p.variants()), Report: o.Progress}
	for _, w := range p.DataSets {
		result := &dataSetResult{DataSet: w.Name, Alpha: w.Alpha}
		for _, a := range p.variants() {
			result.Variants = append(result.Variants, &variantResult{Variant: a})
		}
		for i := range p.Seeds {
			if err := e.measureSeed(ctx, p, w, p.Seed+uint64(i), o.Backend, result, log, meter); err != nil {
				return nil, fmt.Errorf("staleness: %s, seed %d, after %d of %d trainings: %w",
					w.Name, p.Seed+uint64(i), meter.Done, meter.Total, err)
			}
		}
		if err := result.compare(ctx, &p); err != nil {
			return nil, err
		}
		results = append(results, result)
	}
	return results, nil
}

// measureSeed runs every variant under one seed, on the same rows in the same order.
func (e *Experiment) measureSeed(
	ctx context.Context, p plan, w report.DataSet, seed uint64, backend backend.Backend,
	result *dataSetResult, log *report.Log, m *report.Meter,
) error {
	m.Show(0, 1, w.Name+", reading data")
	data, err := datasets.Open(w.WithSeed(seed), "")
	if err != nil {
		return err
	}
	common := p.Job
	common.Training.Seed = seed
	source, err := datasets.TrainingSource(data, &common)
	if err != nil {
		return err
	}
	result.TrainRows, result.TestRows = data.Train.Samples, data.Test.Samples
	result.addOracle(data)
	for i, a := range p.variants() {
		what := fmt.Sprintf("%s, seed %d, %v", w.Name, seed, a)
		t := p.job(a, seed)
		shown, err := e.run(ctx, t, source, data.Test, train.Options{
			Backend:  backend,
			Progress: func(done, steps int) { m.Show(done, steps, what) },
		})
		if err != nil {
			return fmt.Errorf("%v: %w", a, err)
		}
		if err := check(shown); err != nil {
			return fmt.Errorf("%v: %w", a, err)
		}
		if err := log.Add(line(w, a, seed, shown)...); err != nil {
			return err
		}
		m.Done++
		result.Variants[i].add(shown, w.Data.Synthetic == nil)
	}
	result.labels = data.Test.Labels
	return nil
}

// check returns an error if the training diverged.
func check(shown *train.Result) error {
	if math.IsNaN(shown.AUC) || math.IsNaN(shown.LogLoss) || math.IsInf(shown.LogLoss, 0) {
		return fmt.Errorf("the training diverged: AUC %v, log loss %v", shown.AUC, shown.LogLoss)
	}
	return nil
}

// addOracle evaluates the true probabilities, if they are known.
func (r *dataSetResult) addOracle(data *datasets.Dataset) {
	if data.TestProbability == nil {
		return
	}
	scores := make([]float32, len(data.TestProbability))
	for i, p := range data.TestProbability {
		scores[i] = float32(p)
	}
	if r.Oracle == nil {
		r.Oracle = &oracle{}
	}
	r.Oracle.AUC = append(r.Oracle.AUC, metric.AUC(scores, data.Test.Labels))
	r.Oracle.LogLoss = append(r.Oracle.LogLoss, metric.LogLoss(scores, data.Test.Labels))
}

// add adds one training.
func (r *variantResult) add(shown *train.Result, keepPredictions bool) {
	r.AUC = append(r.AUC, shown.AUC)
	r.LogLoss = append(r.LogLoss, shown.LogLoss)
	r.Own.Merge(&shown.Staleness.Own)
	r.Cross.Merge(&shown.Staleness.Cross)
	r.Inflight.Merge(&shown.Staleness.Inflight)
	if keepPredictions {
		r.probabilities = append(r.probabilities, shown.Probabilities)
	}
}
