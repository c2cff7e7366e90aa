package speed

import (
	"context"
	"time"

	"tandem/algo/exec/backend"
	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/datasets"
	"tandem/experiments/internal/pytorch"
	"tandem/runtime/memory"
	"tandem/runtime/train"
)

// data returns the generated data of cmd/train/jobs/criteo-shaped.yaml.
func (c *corpus) data() job.Data {
	criteo := job.Synthetic{Preset: job.PresetCriteo}.Resolve()
	spec := job.Synthetic{Seed: 1, TrainRows: c.Train, TestRows: c.Test, Numeric: criteo.Numeric,
		PositiveRate: criteo.PositiveRate}
	for _, column := range criteo.Columns {
		spec.Columns = append(spec.Columns, job.SyntheticColumn{Name: column.Name,
			Cardinality: column.Cardinality, Exponent: 1.05})
	}
	return job.Data{Kind: job.KindSynthetic, Synthetic: &spec}
}

// job returns the job of a case: the job of cmd/train/jobs/criteo-shaped.yaml, except for the network, the
// number of steps, and the optimizer of rows, which is that of the peer.
func (c *testCase) job() job.Job {
	t := job.Default()
	t.Training.Mode, t.Model.Spec, t.Rows.Optimizer = job.Hybrid, c.Net.Spec(), c.adagrad()
	t.Training.GlobalBatch, t.Training.Epochs = c.Batch, c.Corpus.Epochs
	t.Roles.Ranks, t.Roles.EmbeddingWorkers, t.Roles.EmbeddingPSs = 1, 1, 1
	t.Training.Groups = t.Roles.Ranks // more groups would only add sums
	staleness := 3
	t.Training.Staleness, t.Training.Prefetch = &staleness, 10
	return t
}

// training generates the rows. A step is a whole training of a new model as cmd/train runs it, with all
// roles in this process; its time does not include building the model and predicting the test rows. Peers
// begin with Tandem's dense parameters and with their own embedding rows.
func (p *prepared) training() error {
	data, err := datasets.Open(p.Corpus.data(), "")
	if err != nil {
		return err
	}
	j := p.job()
	engine, err := model.New(j.Model.Spec, p.Net.Schema(), nil)
	if err != nil {
		return err
	}
	initial, _ := engine.Init(j.Training.Seed)
	values := map[string]any{"params": initial}
	corpus := *p.Corpus
	corpus.IDs = pytorch.AddRows(values, data)
	p.Corpus = &corpus
	if p.files, err = pytorch.NewFiles(values); err != nil {
		return err
	}
	p.tandem = func() (*work, error) {
		logLoss := 0.0 // on the test rows
		return &work{check: func() float64 { return logLoss },
			run: func(ctx context.Context, steps int) (took time.Duration, err error) {
				for range steps {
					source, err := datasets.TrainingSource(data, &j)
					if err != nil {
						return 0, err
					}
					var arena memory.Arena
					r, err := train.Run(ctx, j, source, data.Test,
						train.Options{Backend: backend.Backend{Products: p.products, Arena: &arena}})
					_ = arena.Close()
					if err != nil {
						return 0, err
					}
					took, logLoss = took+r.Wall, r.LogLoss
				}
				return took, nil
			}}, nil
	}
	p.share = func(ctx context.Context) (*train.Share, error) {
		source, err := datasets.TrainingSource(data, &j)
		if err != nil {
			return nil, err
		}
		return train.MeasureShare(ctx, j, source, backend.Backend{Products: p.products, Arena: p.arena})
	}
	return nil
}
