package defaults

import (
	"context"
	"path/filepath"
	"time"

	"tandem/algo/exec/backend"
	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/datasets"
	"tandem/datasets/infer"
	"tandem/experiments/internal/report"
	"tandem/runtime/train"
)

// result is the result on one table.
type result struct {
	Table         string  `json:"table"`
	Tuned         bool    `json:"tuned"`
	Rows          int     `json:"train_rows"`
	TestRows      int     `json:"test_rows"`
	TestPositives int     `json:"test_positives"`
	Constant      float64 `json:"constant_log_loss"`
	// AUC, LogLoss, Seconds, Models and Epochs are by seed; seconds are of choosing and training.
	AUC     []float64 `json:"auc"`
	LogLoss []float64 `json:"log_loss"`
	Seconds []float64 `json:"seconds"`
	Models  []string  `json:"models"`
	Epochs  []int     `json:"epochs"`
	Peer    *peer     `json:"peer"`
	PeerAUC float64   `json:"peer_auc"`
	PeerLog float64   `json:"peer_log_loss"`
	// StandardError is of the mean over seeds of the differences in AUC, by the draw of the test rows.
	StandardError float64 `json:"standard_error"`
}

const (
	// marginLeast is the AUC that a default model may lack, unless twice the standard error is more.
	marginLeast = 0.02
	// secondsMost is what choosing and training may take under a seed.
	secondsMost = 60
	// resamples is the number of resamples of the bootstrap.
	resamples = 500
)

// difference returns the AUC of the default model, as the mean over seeds, less that of the peer.
func (r *result) difference() float64 { return metric.MeanInterval(r.AUC).Estimate - r.PeerAUC }

// margin returns the AUC that the default model may lack.
func (r *result) margin() float64 { return max(marginLeast, 2*r.StandardError) }

// open reads a table as cmd/train does.
func (t *table) open(folder string) (*datasets.Dataset, error) {
	if t.Label == "" {
		return datasets.Open(t.Data, folder)
	}
	path := filepath.Join(folder, t.Data.Path)
	found, err := infer.CSV(path, infer.Options{Label: t.Label})
	if err != nil {
		return nil, err
	}
	data := found.Data
	data.Path, data.Split = path, job.Split{How: job.SplitRandom, Test: 0.2}
	return datasets.Open(data, folder)
}

// measure trains on every table whose files are there.
func (p *plan) measure(ctx context.Context, python string, o report.Options) ([]*result, error) {
	present, _ := report.Present(p.Tables, p.folder)
	meter := &report.Meter{Total: len(present), Unit: "tables", Report: o.Progress}
	return report.MeasureCases(o, meter, present, table.name, func(t table) (*result, error) {
		meter.Show(0, 1, t.Name)
		return p.compare(ctx, t, python, o.Backend)
	})
}

// compare trains a table under every seed, and the peer.
func (p *plan) compare(ctx context.Context, t table, python string, m backend.Backend) (*result, error) {
	set, err := t.open(p.folder)
	if err != nil {
		return nil, err
	}
	r := &result{Table: t.Name, Tuned: t.Tuned, Rows: set.TrainRows(), TestRows: set.Test.Samples}
	positives := 0.0
	for _, label := range set.Train.Labels {
		positives += float64(label)
	}
	constant := make([]float32, r.TestRows)
	for i, label := range set.Test.Labels {
		constant[i] = float32(positives / float64(r.Rows))
		r.TestPositives += int(label)
	}
	r.Constant = metric.LogLoss(constant, set.Test.Labels)
	var predicted []float32
	if r.Peer, predicted, err = fit(ctx, python, set); err != nil {
		return nil, err
	}
	r.PeerAUC = metric.AUC(predicted, set.Test.Labels)
	r.PeerLog = metric.LogLoss(predicted, set.Test.Labels)
	var ours, theirs [][]float32
	for seed := range p.Seeds {
		own, err := r.train(ctx, set, p.Seed+uint64(seed), m)
		if err != nil {
			return nil, err
		}
		ours, theirs = append(ours, own), append(theirs, predicted)
	}
	r.StandardError = metric.AUCRowDeviation(ours, theirs, set.Test.Labels, resamples, p.Seed)
	return r, nil
}

// train chooses and trains under a seed, and returns the predictions.
func (r *result) train(ctx context.Context, set *datasets.Dataset, seed uint64, m backend.Backend) ([]float32,
	error) {
	start := time.Now()
	j := infer.Job(set)
	j.Training.Seed, j.Training.Epochs = seed, infer.EpochsToTry(set)
	share := infer.Share(set)
	first, err := infer.ChooseEpochs(ctx, j, set, share, m)
	if err != nil {
		return nil, err
	}
	_, baseline, err := infer.Baseline(ctx, first.Job, set, share, m)
	if err != nil {
		return nil, err
	}
	j = infer.Prefer(first, baseline)
	source, err := datasets.TrainingSource(set, &j)
	if err != nil {
		return nil, err
	}
	trained, err := train.Run(ctx, j, source, set.Test, train.Options{Backend: m})
	if err != nil {
		return nil, err
	}
	r.Seconds = append(r.Seconds, time.Since(start).Seconds())
	r.AUC, r.LogLoss = append(r.AUC, trained.AUC), append(r.LogLoss, trained.LogLoss)
	r.Models, r.Epochs = append(r.Models, j.Model.Kind), append(r.Epochs, j.Training.Epochs)
	return trained.Probabilities, nil
}
