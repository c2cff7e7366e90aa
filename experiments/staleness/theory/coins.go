package theory

import (
	"math"

	"tandem/algo/numeric/batch"
	"tandem/algo/rng"
)

// coins is a batch.Source whose every sample has one of Ids ids and a label that is a fair coin, so that the
// best weight of every id is 0, where the logistic loss has the curvature ¼.
type coins struct {
	Ids, Batch int  // samples of a batch: a multiple of 2·Ids, unless Random
	Random     bool // the ids of a batch are drawn; otherwise, each has Batch/Ids samples of every batch
	// Balanced labels the samples of an id 0 and 1 in turns, two at a time, so that gradients have no noise.
	// Otherwise, labels are drawn.
	Balanced bool
	Length   int // steps
	Seed     uint64
	fixed    *batch.Batch // every batch, if nothing is drawn
}

const curvature = 0.25 // of the logistic loss of a fair coin

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

// share returns q, the share of the samples that has an id.
func (c *coins) share() float64 { return 1 / float64(c.Ids) }

// spread returns the variance of the share of an id in a batch, divided by q²: ids are drawn for single
// samples, or for pairs if labels are balanced.
func (c *coins) spread() float64 {
	draws := float64(c.Batch)
	switch {
	case !c.Random:
		return 0
	case c.Balanced:
		draws /= 2
	}
	return (1 - c.share()) / (c.share() * draws)
}

// excess returns the expected loss of a weight on a fair coin less the smallest possible: ln cosh(w/2), in
// nats.
func excess(w float64) float64 { return math.Log(math.Cosh(w / 2)) }
