package theory

import (
	"math"

	"tandem/algo/exec/backend"
	"tandem/algo/exec/reference"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/opt"
	"tandem/algo/protocol/delay"
	"tandem/algo/rng"
)

// samples describes samples with one of Ids ids each and a label that is a fair coin, so that the best weight
// of every id is 0, where the logistic loss has the curvature ¼.
type samples struct {
	Ids   int `json:"ids"`
	Batch int `json:"batch"` // samples: a multiple of 2·Ids, unless Random
	// Random draws the ids of a batch; otherwise, each has Batch/Ids samples of every batch.
	Random bool `json:"random,omitempty"`
	// Balanced labels the samples of an id 0 and 1 in turns, two at a time, so that gradients have no noise.
	// Otherwise, labels are drawn.
	Balanced bool   `json:"balanced,omitempty"`
	Length   int    `json:"steps,omitempty"`
	Seed     uint64 `json:"seed"`
}

const curvature = 0.25 // of the logistic loss of a fair coin

// share returns q, the share of the samples that has an id.
func (s samples) share() float64 { return 1 / float64(s.Ids) }

// spread returns the variance of the share of an id in a batch, divided by q²: ids are drawn for single
// samples, or for pairs if labels are balanced.
func (s samples) spread() float64 {
	draws := float64(s.Batch)
	switch {
	case !s.Random:
		return 0
	case s.Balanced:
		draws /= 2
	}
	return (1 - s.share()) / (s.share() * draws)
}

// coins is a batch.Source of samples.
type coins struct {
	samples
	fixed *batch.Batch // every batch, if nothing is drawn
}

// schema has one slot with one weight for each id.
var schema = batch.Schema{Slots: []batch.Slot{{Name: "id", Dim: 1}}, Labels: []string{"coin"}, PrefixBits: 8}

// Schema implements batch.Source.
func (*coins) Schema() *batch.Schema { return &schema }

// Steps implements batch.Source.
func (c *coins) Steps() int { return c.Length }

// Samples implements batch.Source.
func (c *coins) Samples(int) int { return c.Batch }

// Read implements batch.Source. It is not safe for concurrent use if nothing is drawn.
func (c *coins) Read(step int) (*batch.Batch, error) {
	if c.fixed != nil {
		return c.fixed, nil
	}
	b := &batch.Batch{
		Samples: c.Batch,
		Slots:   []batch.Jagged{{Offsets: make([]int32, c.Batch+1), IDs: make([]uint64, c.Batch)}},
		Labels:  make([]float32, c.Batch),
	}
	draw := rng.New(c.Seed, "coins", uint64(step))
	for i := range c.Batch {
		b.Slots[0].Offsets[i+1] = int32(i + 1)
		id := uint64(i / 2 % c.Ids)
		switch {
		case c.Random && c.Balanced && i%2 == 1:
			id = b.Slots[0].IDs[i-1] // a pair
		case c.Random:
			id = draw.Uint64N(uint64(c.Ids))
		}
		b.Slots[0].IDs[i] = id
		if c.Balanced {
			b.Labels[i] = float32(i % 2)
		} else {
			b.Labels[i] = float32(draw.IntN(2))
		}
	}
	if c.Balanced && !c.Random {
		c.fixed = b
	}
	return b, nil
}

// initMost bounds the initial weights.
const initMost = 1e-3

// newJob returns logistic regression on ids by plain SGD on their weights. The bias is not trained. The loss
// is the logistic loss, whose curvature stays ¼ to w²/4 of it, so initial weights are small.
func newJob(rate float64, s samples) job.Job {
	t := job.Default()
	t.Training.Mode, t.Training.Seed = job.Sequential, s.Seed
	t.Training.GlobalBatch, t.Training.Groups, t.Roles.Ranks = s.Batch, 1, 1
	t.Model.Spec = model.Spec{Kind: model.LogisticRegression}
	t.Rows.Optimizer = opt.RowSpec{Kind: opt.SGD, Rate: rate}
	t.Model.Optimizer = opt.DenseSpec{Kind: opt.SGD, Rate: 1e-30, Schedule: opt.Schedule{Decay: opt.NoDecay}}
	t.Rows.Init = initMost
	return t
}

// training is a delayed training of the reference engine, seen through the weights of its ids.
type training struct {
	*reference.Delayed
	signs   []uint64
	weights []float32 // as of the last step
	step    int
}

// newTraining returns a training whose row gradients take effect d steps late.
func newTraining(s samples, d int, rate float64, m backend.Backend) (*training, error) {
	t := newJob(rate, s)
	t.Training.Delay = delay.Spec{Kind: delay.Exactly, Steps: d}
	engine, err := reference.NewDelayed(t, &coins{samples: s}, m)
	if err != nil {
		return nil, err
	}
	r := &training{Delayed: engine, weights: make([]float32, s.Ids)}
	signer := schema.Signer(0)
	for id := range s.Ids {
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

// excess returns the expected loss of a weight on a fair coin less the smallest possible: ln cosh(w/2), in
// nats. Its derivative is halfTanh.
func excess(w float64) float64 { return math.Log(math.Cosh(w / 2)) }

func halfTanh(w float64) float64 { return math.Tanh(w/2) / 2 }
