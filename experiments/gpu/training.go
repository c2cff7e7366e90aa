package gpu

import (
	"context"
	"math"
	"runtime"
	"time"

	"tandem/algo/exec/backend"
	"tandem/algo/job"
	"tandem/datasets"
	"tandem/experiments/report"
	"tandem/runtime/cuda/engine"
	"tandem/runtime/memory"
	"tandem/runtime/train"
)

// trainingPlan describes the trainings.
type trainingPlan struct {
	Mode             string `yaml:"mode"`
	Steps            int    `yaml:"steps"` // of an epoch
	EmbeddingWorkers int    `yaml:"embedding-workers"`
	EmbeddingPSs     int    `yaml:"embedding-pss"`
	AllReduce        string `yaml:"all-reduce"`
}

// newTrainingPlan gives half of the cores to embedding PSs, and a quarter to embedding workers.
func newTrainingPlan(allReduce string) trainingPlan {
	cores := runtime.NumCPU()
	return trainingPlan{Mode: job.Hybrid, Steps: 8, EmbeddingWorkers: max(1, cores/4),
		EmbeddingPSs: max(1, cores/2), AllReduce: allReduce}
}

// testRows is the number of rows that are predicted after a training, whose time does not count.
const testRows = 256

// epochsMost bounds the epochs of a training.
const epochsMost = 100

// trainingData are generated rows for one batch.
type trainingData struct {
	batch int
	*datasets.Dataset
}

// train measures trainings of a case, as cmd/train runs them: all roles in this process.
func (m *measurement) train(ctx context.Context, r *result, o report.Options) error {
	m.meter.Show(0, 1, r.String()+", training")
	if m.data == nil || m.data.batch != r.Batch {
		spec := report.Like(job.PresetCriteo, m.Training.Steps*r.Batch, testRows).WithSeed(m.seed)
		data, err := datasets.Open(spec, "")
		if err != nil {
			return err
		}
		m.data = &trainingData{r.Batch, data}
	}
	j := m.trainingJob(r)
	took, _, err := m.trainOnce(ctx, j, o) // the first opens libraries and shows the time of an epoch
	if err != nil {
		return err
	}
	j.Training.Epochs = min(epochsMost, int(math.Ceil(m.Window.Seconds()/took.Seconds())))
	for round := range m.Rounds {
		took, samples, err := m.trainOnce(ctx, j, o)
		if err != nil {
			return err
		}
		r.Training = append(r.Training, float64(samples)/took.Seconds())
		steps := j.Training.Epochs * m.Training.Steps
		if err := m.add(r, round, "training", steps, took.Seconds()/float64(steps)); err != nil {
			return err
		}
	}
	return nil
}

// trainingJob returns the job of the trainings of a case.
func (m *measurement) trainingJob(r *result) job.Job {
	j := *m.jobOf(r.Precision)
	j.Model.Spec = r.Network.spec()
	j.Training.Mode, j.Training.GlobalBatch, j.Training.Groups = m.Training.Mode, r.Batch, 1
	j.Training.Epochs = 1
	j.Roles.Ranks, j.Roles.EmbeddingWorkers = 1, m.Training.EmbeddingWorkers
	j.Roles.EmbeddingPSs, j.Wire.AllReduce = m.Training.EmbeddingPSs, m.Training.AllReduce
	return j
}

// trainOnce trains a new model, and returns the time of its training and its samples.
func (m *measurement) trainOnce(ctx context.Context, j job.Job, o report.Options,
) (took time.Duration, samples int, err error) {
	g, err := engine.Open(m.libraries, &j)
	if err != nil {
		return 0, 0, err
	}
	source, err := datasets.TrainingSource(m.data.Dataset, &j)
	if err != nil {
		return 0, 0, err
	}
	var arena memory.Arena
	r, err := train.Run(ctx, j, source, m.data.Test, train.Options{
		Backend: backend.Backend{Products: o.Backend.Products, Arena: &arena, Trainer: g.Trainer}})
	_ = arena.Close()
	runtime.GC() // gives the replica on the GPU back
	if err != nil {
		return 0, 0, err
	}
	return r.Wall, r.Samples, nil
}
