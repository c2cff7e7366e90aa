package pace

import "fmt"

// LocalSGD is local SGD (Stich, ICLR 2019). Every rank trains a replica of the dense network with its own
// optimizer. After every Every steps each rank waits for the mean of all replicas and continues with that
// mean. Between two averages ranks do not wait for each other. Embeddings are asynchronous as in Hybrid.
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

// AveragedInStep is Averaged, but ranks wait for each mean and use it as their parameters.
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
	return DenseSync{Strategy: AveragedInStep, OwnReplicas: true, Every: int32(l.Every)}
}

// OverlapSync implements Rule. Steps have no stage DS.
func (LocalSGD) OverlapSync() bool { return false }

// Lead implements Rule. The averages keep the ranks within H steps of each other without clocks.
func (LocalSGD) Lead() int { return Unbounded }

// Bounds implements Rule.
//
// Cross: when rank r reads for step k, it has finished a step j ≥ k−τ−1. Before FC of step j all ranks took
// part in the average after step i = H⌊j/H⌋−1 ≥ j−H. Every rank q had then read for step i, so at most τ of
// the steps of q before i were missing. At most τ+1+H steps are between i and k. The sum is 2τ+H+1.
func (l LocalSGD) Bounds(ranks int) Bounds {
	return asynchronousBounds(l.Staleness, ranks, min(2*l.Staleness+l.Every+1, Unbounded))
}
