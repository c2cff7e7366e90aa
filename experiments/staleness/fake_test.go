package staleness

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/algo/numeric/batch"
	"tandem/algo/rng"
	"tandem/experiments/report"
	"tandem/runtime/train"
)

// tinyPlan returns a plan with one small generated data set and two τ.
func tinyPlan() plan {
	p := newPlan([]int{0, 2}, []float64{0.1}, 600, 500, 50)
	p.DataSets = p.DataSets[:1]
	p.DataSets[0].Data = job.Data{Kind: job.KindSynthetic, Synthetic: &job.Synthetic{
		TrainRows: 600, TestRows: 500, Alpha: 0.1, Numeric: 2,
		Columns: []job.SyntheticColumn{{Cardinality: 50, Exponent: 1}},
	}}
	p.Job.Training.GlobalBatch = 100
	return p
}

// call is one call of a fake runner.
type call struct {
	training job.Job
	rows     uint64 // fingerprint of all training batches, in order
}

// fakeRunner replaces train.Run. It predicts the label of a row correctly with a probability that falls
// with τ, and its staleness reaches the bounds.
type fakeRunner struct {
	calls []call
	// change, if not nil, changes the result of call i or makes the call fail.
	change func(i int, r *train.Result) error
}

func (f *fakeRunner) run(
	_ context.Context, t job.Job, source batch.Source, test *batch.Batch, o train.Options,
) (*train.Result, error) {
	c := call{training: t}
	for step := range source.Steps() {
		b, err := source.Read(step)
		if err != nil {
			return nil, err
		}
		for _, id := range b.Slots[0].IDs {
			c.rows = rng.Mix(c.rows ^ id)
		}
		o.Progress(step+1, source.Steps())
	}
	r := &train.Result{Job: t, Steps: source.Steps(), Probabilities: make([]float32, test.Samples)}
	tau := 0
	if t.Training.Staleness != nil {
		tau = *t.Training.Staleness
		r.Staleness.Own.Add(tau)
		r.Staleness.Cross.Add(2*tau + 1)
	}
	wrong := 0.2 + 0.05*float32(tau)
	for i, label := range test.Labels {
		r.Probabilities[i] = 0.25 + 0.5*label
		if rng.Unit(rng.Key(t.Training.Seed, "fake"), i) < wrong {
			r.Probabilities[i] = 1 - r.Probabilities[i]
		}
	}
	r.AUC = metric.AUC(r.Probabilities, test.Labels)
	r.LogLoss = metric.LogLoss(r.Probabilities, test.Labels)
	f.calls = append(f.calls, c)
	if f.change != nil {
		if err := f.change(len(f.calls)-1, r); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// executeTiny runs a tiny plan under two seeds with a fake runner.
func executeTiny(t *testing.T, f *fakeRunner) (r *report.Report, folder string, err error) {
	t.Helper()
	folder = t.TempDir()
	r, err = (&Experiment{run: f.run}).execute(context.Background(), tinyPlan(),
		report.Options{Seeds: 2, Seed: 7, Folder: folder})
	return r, folder, err
}

func csvPath(folder string) string { return filepath.Join(folder, "staleness.csv") }

func texts(lines []string) string { return fmt.Sprintf("%q", lines) }
