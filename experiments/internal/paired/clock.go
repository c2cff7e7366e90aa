package paired

import (
	"cmp"
	"math"
	"slices"
	"time"

	"tandem/algo/protocol/event"
	"tandem/algo/protocol/pace"
	"tandem/algo/unit"
)

// Stages are the median times of the stages of a batch in seconds, as pace.StageMeter measures them: GE
// (get embeddings), FC (forward), BC (backward), DS (dense synchronisation), PEG (put embedding gradients).
// A stage that the mode does not have is 0.
type Stages struct {
	GE  float64 `json:"ge_s"`
	FC  float64 `json:"fc_s"`
	BC  float64 `json:"bc_s"`
	DS  float64 `json:"ds_s"`
	PEG float64 `json:"peg_s"`
}

// All returns the stages in the order of a batch.
func (s Stages) All() [5]float64 { return [5]float64{s.GE, s.FC, s.BC, s.DS, s.PEG} }

// stageClock is an event.Observer that measures stages and steps.
type stageClock struct {
	stages *pace.StageMeter
	cpu    func() time.Duration // what all cores have worked; nil: not measured
	done   []batchEnd
	last   unit.Tick
}

// batchEnd is the end of a batch of a rank.
type batchEnd struct {
	at  unit.Tick
	cpu time.Duration
}

func newStageClock() *stageClock { return &stageClock{stages: pace.NewStageMeter(0, math.MaxInt32)} }

// Observe implements event.Observer.
func (c *stageClock) Observe(r event.Record) {
	c.last = max(c.last, r.At)
	c.stages.Observe(r)
	if r.Kind == event.BatchDone {
		end := batchEnd{at: r.At}
		if c.cpu != nil {
			end.cpu = c.cpu()
		}
		c.done = append(c.done, end)
	}
}

func (c *stageClock) medians() Stages {
	m := c.stages.Medians()
	return Stages{seconds(m[pace.GE]), seconds(m[pace.FC]), seconds(m[pace.BC]), seconds(m[pace.DS]),
		seconds(m[pace.PEG])}
}

// stepSeconds returns the mean time of a step, in which every rank finishes one batch, and what all cores
// have worked in it. It leaves out the first tenth of the batches, while the pipeline fills, and the last
// tenth.
func (c *stageClock) stepSeconds(ranks int) (step, cpu float64) {
	slices.SortFunc(c.done, func(a, b batchEnd) int { return cmp.Compare(a.at, b.at) })
	n := len(c.done)
	first, last := n/10, n-1-n/10
	if first >= last {
		return seconds(c.last) * float64(ranks) / float64(n), 0
	}
	steps := float64(last-first) / float64(ranks)
	a, b := c.done[first], c.done[last]
	return seconds(b.at-a.at) / steps, (b.cpu - a.cpu).Seconds() / steps
}
