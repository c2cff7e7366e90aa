package speed

import (
	"context"
	"time"

	"tandem/algo/exec/backend"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
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
	p.addRows(values, data)
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

// addRows adds the rows of a training to the values for the peers. It numbers their ids from 0, so that a
// peer needs no rows for ids that do not occur.
func (p *prepared) addRows(values map[string]any, data *datasets.Dataset) {
	type slotID struct {
		slot int
		id   uint64
	}
	known := map[slotID]int64{}
	numbered := func(rows *batch.Batch) (numbers []int64) {
		for i := range rows.Samples {
			for s, slot := range rows.Slots {
				key := slotID{s, slot.IDs[i]}
				number, seen := known[key]
				if !seen {
					number = int64(len(known))
					known[key] = number
				}
				numbers = append(numbers, number)
			}
		}
		return numbers
	}
	values["train ids"], values["test ids"] = numbered(data.Train), numbered(data.Test)
	values["train numbers"], values["test numbers"] = data.Train.Dense, data.Test.Dense
	values["train labels"], values["test labels"] = data.Train.Labels, data.Test.Labels
	corpus := *p.Corpus
	corpus.IDs = len(known)
	p.Corpus = &corpus
}
