package speed

import (
	"context"
	"time"

	"tandem/algo/exec/backend"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/kernel/gemm"
	"tandem/algo/numeric/model"
	"tandem/datasets"
	"tandem/runtime/memory"
	"tandem/runtime/train"
)

// corpus describes generated rows of Criteo's shape to both sides.
type corpus struct {
	Train  int `json:"train" yaml:"train-rows"`
	Test   int `json:"test" yaml:"test-rows"`
	Epochs int `json:"epochs" yaml:"epochs"`
	// IDs is the number of distinct ids, which PyTorch's table needs. fillTraining sets it.
	IDs int `json:"ids" yaml:"-"`
}

// spec returns the generated data of cmd/train/jobs/criteo-shaped.yaml.
func (c *corpus) spec() job.Synthetic {
	criteo := job.Synthetic{Preset: job.PresetCriteo}.Resolve()
	spec := job.Synthetic{Seed: 1, TrainRows: c.Train, TestRows: c.Test, Numeric: criteo.Numeric,
		PositiveRate: criteo.PositiveRate}
	for _, column := range criteo.Columns {
		spec.Columns = append(spec.Columns, job.SyntheticColumn{Name: column.Name,
			Cardinality: column.Cardinality, Exponent: 1.05})
	}
	return spec
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

// fillTraining generates the rows. For PyTorch, it numbers their ids from 0, so that PyTorch needs no table
// for ids that do not occur. PyTorch begins with Tandem's dense parameters and with its own embedding rows.
func (p *prepared) fillTraining() error {
	data, err := datasets.Open(job.Data{Kind: job.KindSynthetic, Synthetic: ptr(p.Corpus.spec())}, "")
	if err != nil {
		return err
	}
	p.data = data
	t := p.job()
	engine, err := model.New(t.Model.Spec, p.Net.Schema(), nil)
	if err != nil {
		return err
	}
	params, _ := engine.Init(t.Training.Seed)
	if err := p.write("params", params); err != nil {
		return err
	}
	known := make([]map[uint64]int64, len(data.Schema.Slots))
	corpus := *p.Corpus
	for _, part := range []struct {
		name string
		rows *batch.Batch
	}{{"train", data.Train}, {"test", data.Test}} {
		numbers := make([]int64, 0, part.rows.Samples*len(known))
		for i := range part.rows.Samples {
			for s, slot := range part.rows.Slots {
				if known[s] == nil {
					known[s] = map[uint64]int64{}
				}
				id := slot.IDs[i]
				number, seen := known[s][id]
				if !seen {
					number = int64(corpus.IDs)
					known[s][id] = number
					corpus.IDs++
				}
				numbers = append(numbers, number)
			}
		}
		if err := p.write(part.name+" ids", numbers); err != nil {
			return err
		}
		if err := p.write(part.name+" numbers", part.rows.Dense); err != nil {
			return err
		}
		if err := p.write(part.name+" labels", part.rows.Labels); err != nil {
			return err
		}
	}
	p.Corpus = &corpus
	return nil
}

func ptr[T any](v T) *T { return &v }

// trainingRun runs whole trainings, each with a new model, as cmd/train does: all roles in this process.
type trainingRun struct {
	job      job.Job
	data     *datasets.Dataset
	products gemm.Products
	logLoss  float64 // on the test rows, of the last training
}

func newTrainingRun(p *prepared) (*trainingRun, error) {
	return &trainingRun{job: p.job(), data: p.data, products: p.products}, nil
}

// run implements stepper: a step is a whole training. Its time does not include building the model and
// predicting the test rows.
func (t *trainingRun) run(ctx context.Context, steps int) (took time.Duration, err error) {
	for range steps {
		source, err := datasets.TrainingSource(t.data, &t.job)
		if err != nil {
			return 0, err
		}
		var arena memory.Arena
		r, err := train.Run(ctx, t.job, source, t.data.Test,
			train.Options{Backend: backend.Backend{Products: t.products, Arena: &arena}})
		_ = arena.Close()
		if err != nil {
			return 0, err
		}
		took, t.logLoss = took+r.Wall, r.LogLoss
	}
	return took, nil
}

// check implements stepper.
func (t *trainingRun) check() float64 { return t.logLoss }

// share compares a run with the least time that its pieces of work allow; see train.Share.
func (p *prepared) share(ctx context.Context) (*train.Share, error) {
	run, err := newTrainingRun(p)
	if err != nil {
		return nil, err
	}
	source, err := datasets.TrainingSource(run.data, &run.job)
	if err != nil {
		return nil, err
	}
	return train.MeasureShare(ctx, run.job, source, backend.Backend{Products: p.products, Arena: p.arena})
}
