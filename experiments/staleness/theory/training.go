package theory

import (
	"tandem/algo/exec/backend"
	"tandem/algo/exec/reference"
	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/opt"
	"tandem/algo/protocol/delay"
)

// newJob returns logistic regression on ids by plain SGD on their weights. The bias is not trained. The loss
// is the logistic loss, whose curvature stays ¼ to w²/4 of it, so initial weights are small.
func newJob(rate float64, batchSize int, seed uint64) job.Job {
	t := job.Default()
	t.Training.Mode, t.Training.Seed = job.Sequential, seed
	t.Training.GlobalBatch, t.Training.Groups, t.Roles.Ranks = batchSize, 1, 1
	t.Model.Spec = model.Spec{Kind: model.LogisticRegression}
	t.Rows.Optimizer = opt.RowSpec{Kind: opt.SGD, Rate: rate}
	t.Model.Optimizer = opt.DenseSpec{Kind: opt.SGD, Rate: 1e-30, Schedule: opt.Schedule{Decay: opt.NoDecay}}
	t.Rows.Init = initMost
	return t
}

// initMost bounds the initial weights.
const initMost = 1e-3

// training is a delayed training of the reference engine, seen through the weights of its ids.
type training struct {
	*reference.Delayed
	signs   []uint64
	weights []float32 // as of the last step
	step    int
}

// newTraining returns a training whose row gradients take effect d steps late.
func newTraining(c *coins, d int, rate float64, m backend.Backend) (*training, error) {
	t := newJob(rate, c.Batch, c.Seed)
	t.Training.Delay = delay.Spec{Kind: delay.Exactly, Steps: d}
	engine, err := reference.NewDelayed(t, c, m)
	if err != nil {
		return nil, err
	}
	r := &training{Delayed: engine, weights: make([]float32, c.Ids)}
	signer := schema.Signer(0)
	for id := range c.Ids {
		r.signs = append(r.signs, signer.Sign(uint64(id), 0))
	}
	return r, nil
}

// next trains on the next batch.
func (r *training) next() error {
	if err := r.Step(r.step); err != nil {
		return err
	}
	r.step++
	return r.ReadRows(0, r.signs, r.weights)
}

// mean returns the mean of a function of the weights.
func (r *training) mean(f func(w float64) float64) float64 {
	sum := 0.0
	for _, w := range r.weights {
		sum += f(float64(w))
	}
	return sum / float64(len(r.weights))
}

func square(w float64) float64 { return w * w }
