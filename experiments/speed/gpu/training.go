package gpu

import (
	"context"
	"math"
	"runtime"

	"tandem/algo/exec/backend"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/datasets"
	"tandem/experiments/internal/report"
	"tandem/runtime/cuda"
	"tandem/runtime/cuda/engine"
	"tandem/runtime/memory"
	"tandem/runtime/train"
)

// trainingPlan describes the trainings, but for network, batch, precision and the cores of the machine.
type trainingPlan struct {
	Mode  string `yaml:"mode"`
	Rows  int    `yaml:"rows"`  // generated
	Steps int    `yaml:"steps"` // of an epoch, at most
}

// The steps of an epoch: stepsLeast with the largest batch, at most stepsMost with smaller ones, which then
// train on the first rows.
const (
	stepsLeast = 8
	stepsMost  = 64
)

// testRows is the number of rows that are predicted after a training, whose time does not count.
const testRows = 256

// epochsMost bounds the epochs of a training.
const epochsMost = 100

// train measures trainings of a case, as cmd/train runs them: all roles in this process.
func (m *measurement) train(ctx context.Context, r *result) (err error) {
	m.meter.Show(0, 1, r.String()+", training")
	if m.data == nil {
		spec := report.Like(job.PresetCriteo, m.Training.Rows, testRows).WithSeed(m.Seed)
		if m.data, err = datasets.Open(spec, ""); err != nil {
			return err
		}
	}
	data := *m.data
	data.Train = batch.Slice(data.Train, 0, min(data.Train.Samples, m.Training.Steps*r.Batch))
	j := m.job(r.Precision)
	j.Model.Spec = r.Network.Spec()
	j.Training.Mode, j.Training.GlobalBatch, j.Training.Groups = m.Training.Mode, r.Batch, 1
	j.Training.Epochs = 1
	j.Roles.Ranks, j.Roles.EmbeddingWorkers, j.Roles.EmbeddingPSs = 1, m.EmbeddingWorkers, m.EmbeddingPSs
	r.placeRows(&j)
	if r.Training, err = m.trainings(ctx, r, j, &data); err != nil || r.Tables == 0 {
		return err
	}
	return m.trainShared(ctx, r, j, &data)
}

// trainShared measures trainings on 2, 4, 8 … GPUs of this machine, which have the rows together.
func (m *measurement) trainShared(ctx context.Context, r *result, j job.Job, data *datasets.Dataset) error {
	driver, err := cuda.Open(m.libraries)
	if err != nil {
		return err
	}
	devices, err := driver.Devices()
	if err != nil {
		return err
	}
	for n := 2; n <= min(len(devices), r.Batch); n *= 2 {
		j.Roles.Ranks, j.Training.Groups, j.Wire.AllReduce = n, n, job.NCCLSums
		j.Model.Device.Ordinals = nil
		for i := range n {
			j.Model.Device.Ordinals = append(j.Model.Device.Ordinals, devices[i].Ordinal)
		}
		rates, err := m.trainings(ctx, r, j, data)
		if err != nil {
			return err
		}
		if r.Shared == nil {
			r.Shared = map[int][]float64{}
		}
		r.Shared[n] = rates
	}
	return nil
}

// trainings measures trainings of a job of a case, in samples per second, and predicts them.
func (m *measurement) trainings(ctx context.Context, r *result, j job.Job, data *datasets.Dataset,
) (rates []float64, err error) {
	once, err := m.trainOnce(ctx, j, data) // the first opens libraries and shows the time of an epoch
	if err != nil {
		return nil, err
	}
	j.Training.Epochs = min(epochsMost, int(math.Ceil(m.Window.Seconds()/once.Wall.Seconds())))
	for range m.Rounds {
		trained, err := m.trainOnce(ctx, j, data)
		if err != nil {
			return nil, err
		}
		rates = append(rates, float64(trained.Samples)/trained.Wall.Seconds())
	}
	p, err := m.predict(ctx, j, data)
	if p != nil {
		if r.Predicted == nil {
			r.Predicted = map[int]*prediction{}
		}
		r.Predicted[j.Roles.Ranks] = p
	}
	return rates, err
}

// trainOnce trains a new model.
func (m *measurement) trainOnce(ctx context.Context, j job.Job, data *datasets.Dataset,
) (*train.Result, error) {
	g, err := engine.Open(m.libraries, &j)
	if err != nil {
		return nil, err
	}
	source, err := datasets.TrainingSource(data, &j)
	if err != nil {
		return nil, err
	}
	var arena memory.Arena
	r, err := train.Run(ctx, j, source, data.Test, train.Options{
		Backend: backend.Backend{Products: m.options.Backend.Products, Arena: &arena, Trainer: g.Trainer}})
	_ = arena.Close()
	runtime.GC() // gives the replica on the GPU back
	return r, err
}
