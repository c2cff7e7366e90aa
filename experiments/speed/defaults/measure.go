package defaults

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"

	"tandem/algo/exec/backend"
	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/datasets"
	"tandem/datasets/infer"
	"tandem/experiments/internal/report"
	"tandem/runtime/train"
)

// result is the result on one split of a table.
type result struct {
	Table         string   `json:"table"`
	Tuned         bool     `json:"tuned,omitempty"`
	Seed          uint64   `json:"seed"`
	Rows          int      `json:"train_rows"`
	TestRows      int      `json:"test_rows"`
	TestPositives int      `json:"test_positives"`
	Constant      float64  `json:"constant_log_loss"`
	AUC           float64  `json:"auc"`
	LogLoss       float64  `json:"log_loss"`
	Seconds       float64  `json:"seconds"` // of choosing and training
	Model         string   `json:"model"`
	Epochs        int      `json:"epochs"`
	Derived       []string `json:"derived,omitempty"` // slots
	Peers         []peer   `json:"peers"`
}

const (
	// margin is the AUC that the default model may lack.
	margin = 0.01
	// secondsMost is what choosing and training may take on a split.
	secondsMost = 60
)

// peer returns the classifier of a library, or nil if the split was measured without it.
func (r *result) peer(name string) *peer {
	if at := slices.IndexFunc(r.Peers, func(p peer) bool { return p.Name == name }); at >= 0 {
		return &r.Peers[at]
	}
	return nil
}

// describe returns the data of a split as cmd/train reads them, with files below folder. Generated rows are
// written there.
func (s *split) describe(folder string) (data job.Data, err error) {
	if s.Label == "" {
		return s.Data, nil
	}
	path := filepath.Join(folder, s.Data.Path)
	if s.Generated {
		at := slices.IndexFunc(generatedTables, func(g generated) bool { return g.name == s.Name })
		if path, err = generatedTables[at].write(folder); err != nil {
			return data, err
		}
	}
	found, err := infer.CSV(path, infer.Options{Label: s.Label})
	if err != nil {
		return data, err
	}
	data = found.Data
	data.Path, data.Split = path, job.Split{How: job.SplitRandom, Test: 0.2, Seed: s.seed}
	return data, nil
}

// measure trains on every split of every table whose files are there.
func (p *plan) measure(ctx context.Context, python string, o report.Options) ([]*result, error) {
	present, _ := report.Present(p.Tables, p.folder)
	var splits []split
	for seed := range p.Seeds {
		for _, t := range present {
			splits = append(splits, split{t, p.Seed + uint64(seed)})
		}
	}
	meter := &report.Meter{Total: len(splits), Unit: "splits", Report: o.Progress}
	return report.MeasureCases(o, meter, splits, split.name, func(s split) (*result, error) {
		meter.Show(0, 1, s.name())
		return p.compare(ctx, s, python, o.Backend)
	})
}

// compare trains on a split, and has the other libraries do so.
func (p *plan) compare(ctx context.Context, s split, python string, m backend.Backend) (*result, error) {
	folder := p.folder
	if s.Generated {
		drawn, err := os.MkdirTemp("", "tandem-defaults-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(drawn)
		folder = drawn
	}
	data, err := s.describe(folder)
	if err != nil {
		return nil, err
	}
	open := func(data job.Data) (*datasets.Dataset, error) { return datasets.Open(data, folder) }
	set, err := open(data)
	if err != nil {
		return nil, err
	}
	r := &result{Table: s.Name, Tuned: s.Tuned, Seed: s.seed, Rows: set.TrainRows(),
		TestRows: set.Test.Samples}
	constant := make([]float32, r.TestRows)
	for i, label := range set.Test.Labels {
		constant[i] = float32(set.LabelMean(0))
		r.TestPositives += int(label)
	}
	r.Constant = metric.LogLoss(constant, set.Test.Labels)
	if err := r.train(ctx, data, set, open, m); err != nil {
		return nil, err
	}
	r.Peers, err = fit(ctx, python, p.Libraries, set)
	for i := range r.Peers {
		one := &r.Peers[i]
		one.AUC, one.LogLoss = metric.AUC(one.Predicted, set.Test.Labels),
			metric.LogLoss(one.Predicted, set.Test.Labels)
		one.Predicted = nil
	}
	return r, err
}

// train chooses and trains.
func (r *result) train(ctx context.Context, data job.Data, set *datasets.Dataset,
	open func(job.Data) (*datasets.Dataset, error), m backend.Backend) error {
	start := time.Now()
	j := infer.Job(set)
	j.Data, j.Training.Seed, j.Training.Epochs = data, r.Seed, infer.EpochsToTry(set)
	share := infer.Share(set)
	d, err := infer.Derive(ctx, j, set, open, share, m)
	if err != nil {
		return err
	}
	first, err := infer.ChooseEpochs(ctx, d.Job, d.Set, share, m)
	if err != nil {
		return err
	}
	j = infer.Prefer(first, d.Choice)
	source, err := datasets.TrainingSource(d.Set, &j)
	if err != nil {
		return err
	}
	trained, err := train.Run(ctx, j, source, d.Set.Test, train.Options{Backend: m})
	if err != nil {
		return err
	}
	r.Seconds, r.AUC, r.LogLoss = time.Since(start).Seconds(), trained.AUC, trained.LogLoss
	r.Model, r.Epochs = j.Model.Kind, j.Training.Epochs
	for _, slot := range j.Data.Derived {
		r.Derived = append(r.Derived, slot.Name)
	}
	return nil
}
