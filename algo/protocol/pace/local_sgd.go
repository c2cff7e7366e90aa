package pace

import "fmt"

// LocalSGD trains a replica of the dense network on every rank with an optimizer of its own, and makes all
// replicas their mean after every so many steps: a rank waits for the mean before it goes on (local SGD, as
// Stich, ICLR 2019, has it). Between two averages a rank goes on by itself. Embeddings are those of Hybrid.
type LocalSGD struct {
	Staleness int // τ ≥ 0 of the embeddings
	Every     int // H ≥ 1: steps of a rank between two averages
}

var localSGDMode = Mode{
	Name: "local-sgd", Overlaps: []string{"none"},
	Settings: []Setting{{
		Name: "every", Default: Fixed(16), Min: Fixed(1), Max: Fixed(1_000_000_000),
		Doc: "steps of a rank between two averages",
	}},
	New: func(s Settings) Rule { return LocalSGD{s.Staleness, s.Values["every"]} },
}

// AveragedInStep is Averaged, but ranks wait for each mean, and take it as it is.
const AveragedInStep Strategy = "averaged-in-step"

// Name implements Rule.
func (LocalSGD) Name() string { return "local-sgd" }

// Validate implements Rule.
func (l LocalSGD) Validate() error {
	if l.Every < 1 {
		return fmt.Errorf("pace: averaging every %d steps; want at least 1", l.Every)
	}
	return checkStaleness(l.Staleness)
}

// MayIssue implements Rule.
func (l LocalSGD) MayIssue(outstanding int) bool { return outstanding <= l.Staleness }

// EveryPS implements Rule.
func (LocalSGD) EveryPS() bool { return false }

// InStep implements Rule.
func (LocalSGD) InStep() bool { return false }

// Exact implements Rule.
func (LocalSGD) Exact() bool { return false }

// Dense implements Rule.
func (l LocalSGD) Dense() DenseSync {
	return DenseSync{Strategy: AveragedInStep, Own: true, Every: int32(l.Every)}
}

// OverlapSync implements Rule: no step has a DS that could overlap.
func (LocalSGD) OverlapSync() bool { return false }

// Lead implements Rule: the averages keep ranks within H steps, without clocks.
func (LocalSGD) Lead() int { return Unbounded }

// Bounds implements Rule.
//
// Cross: when rank r reads for step k, it has finished a step j ≥ k−τ−1, before whose FC it took part in the
// average after step H⌊j/H⌋−1 ≥ j−H, as did every rank q, which had then read for that step: of q's steps
// before it at most τ were missing, and at most τ+1+H lie between it and k.
func (l LocalSGD) Bounds(ranks int) Bounds {
	return asynchronousBounds(l.Staleness, ranks, min(2*l.Staleness+l.Every+1, Unbounded))
}
