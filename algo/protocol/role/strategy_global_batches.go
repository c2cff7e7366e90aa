package role

import (
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/pace"
)

var globalBatchesStrategy = strategy{
	worker: func(*Config) denseSync { return &served{} },
	puts:   newGlobalBatches, pushes: newGlobalBatches,
}

// globalBatches applies gradients by global batches. A global batch consists of the next Batches gradients
// that arrive, or of the remaining ones at the end of the run. The PS acknowledges gradients when they
// arrive. Gradients that are too late belong to a global batch, but are dropped.
type globalBatches struct {
	rule   pace.GBA
	ranks  int32
	steps  int32 // of the run
	closed int64 // number of global batches so far: the global step
	left   int64 // number of gradients of the run that are in no global batch yet
}

func newGlobalBatches(cfg *Config) accessOrder {
	d := cfg.Rule.Dense()
	rule := pace.GBA{Batches: int(d.Batches), Tolerance: int(d.Tolerance)}
	return &globalBatches{rule: rule, ranks: cfg.Ranks, steps: cfg.Steps,
		left: int64(cfg.Steps) * int64(cfg.Ranks)}
}

func (*globalBatches) buffers() bool { return true }

func (g *globalBatches) nextGroup(waiting []request) (group, bool) {
	taken := int64(len(waiting))
	if taken == 0 || taken < min(int64(g.rule.Batches), g.left) {
		return group{}, false
	}
	all := group{work: Work{Rank: event.NoRank}, closes: -1}
	for i, r := range waiting {
		all.work.Step = max(all.work.Step, r.step)
		all.work.StepSamples += r.samples
		if g.rule.Counts(g.rule.Token(g.ranks, r.rank, r.step), g.closed) {
			all.apply = append(all.apply, i)
		} else {
			all.drop = append(all.drop, i)
		}
	}
	g.left -= taken
	g.closed++
	return all, true
}

func (g *globalBatches) setEnd(end int32) {
	g.left -= int64(g.steps-end) * int64(g.ranks)
	g.steps = end
}

func (*globalBatches) mayServe(*request) bool { return true }
func (*globalBatches) outdated(*request) bool { return false }

func (g *globalBatches) clone() accessOrder {
	c := *g
	return &c
}

func (g *globalBatches) appendState(dst []byte) []byte {
	return appendInts(dst, int32(g.closed), int32(g.left))
}
