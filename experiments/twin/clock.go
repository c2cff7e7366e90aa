package twin

import (
	"slices"

	"tandem/algo/event"
	"tandem/algo/msg"
	"tandem/algo/unit"
)

// Stages are the medians, in seconds, of the stages of a batch; 0 for one that the
// mode does not have. They overlap, so their sum is no step time. The records of
// roles draw the lines, alike in both worlds:
//
//	GE   lookup issued → pooled by the EW
//	FC   forward started → backward started
//	BC   backward started → first dense gradients handed over
//	DS   from there → all back: where DS overlaps BC, the rest of BC too
//	PEG  embedding gradients sent → every PS has applied, and the rank knows
type Stages struct {
	GE  float64 `json:"ge_s"`
	FC  float64 `json:"fc_s"`
	BC  float64 `json:"bc_s"`
	DS  float64 `json:"ds_s"`
	PEG float64 `json:"peg_s"`
}

// All returns the stages in their order.
func (s Stages) All() [5]float64 { return [5]float64{s.GE, s.FC, s.BC, s.DS, s.PEG} }

// clock is an event.Observer that measures stages and steps.
type clock struct {
	began  map[began]unit.Tick
	stages [5][]unit.Tick
	done   []unit.Tick // ends of batches
	last   unit.Tick
}

// began names an instant of a batch.
type began struct {
	stage      int
	rank, step int32
}

func newClock() *clock { return &clock{began: map[began]unit.Tick{}} }

// Observe implements event.Observer.
func (c *clock) Observe(r event.Record) {
	c.last = max(c.last, r.At)
	switch r.Kind {
	case event.LookupIssued:
		c.begin(0, r)
	case event.Pooled:
		c.end(0, r)
	case event.ForwardStarted:
		c.begin(1, r)
	case event.BackwardStarted:
		c.end(1, r)
		c.begin(2, r)
	case event.SyncStarted:
		c.end(2, r)
		c.begin(3, r)
	case event.SyncDone:
		c.end(3, r)
	case event.GradientsSent:
		if r.Role.Role == msg.NNWorker {
			c.begin(4, r)
		}
	case event.BatchDone:
		c.end(4, r)
		c.done = append(c.done, r.At)
	}
}

func (c *clock) begin(stage int, r event.Record) { c.began[began{stage, r.Rank, r.Step}] = r.At }

func (c *clock) end(stage int, r event.Record) {
	key := began{stage, r.Rank, r.Step}
	if at, ok := c.began[key]; ok {
		c.stages[stage] = append(c.stages[stage], r.At-at)
		delete(c.began, key)
	}
}

func (c *clock) medians() Stages {
	var m [5]float64
	for i, times := range c.stages {
		m[i] = seconds(median(times))
	}
	return Stages{m[0], m[1], m[2], m[3], m[4]}
}

// stepSeconds returns the mean time of a step, in which every rank ends one batch.
// The first tenth of the batches, in which the pipeline fills, and the last do not
// count.
func (c *clock) stepSeconds(ranks int) float64 {
	slices.Sort(c.done)
	n := len(c.done)
	first, last := n/10, n-1-n/10
	if first >= last {
		return seconds(c.last) * float64(ranks) / float64(n)
	}
	return seconds(c.done[last]-c.done[first]) * float64(ranks) / float64(last-first)
}

// median returns the middle of the values, the lower of two; 0 without values.
func median(values []unit.Tick) unit.Tick {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[(len(sorted)-1)/2]
}
