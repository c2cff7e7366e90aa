package pace

import "fmt"

// AsyncAverage trains a replica of the dense network on every rank, each with its own optimizer, and averages
// the replicas in the background. After every Every steps a rank passes a copy c of its parameters to the
// all-reduce and continues training. When the mean arrives, the rank adds mean(c) − c to its parameters.
// Embeddings are asynchronous as in Hybrid. The evaluated model is the mean of the replicas.
type AsyncAverage struct {
	Staleness int // τ ≥ 0 of the embeddings
	Every     int // steps of a rank between two averages; ≥ 1
}

var asyncAverageMode = Mode{
	Name: "async-average", Overlaps: []string{"none"},
	Settings: []Setting{{
		Name: "every", Default: Fixed(16), Min: Fixed(1), Max: Fixed(1_000_000_000),
		Doc: "steps of a rank between two averages",
	}},
	New: func(s Settings) Rule { return AsyncAverage{s.Staleness, s.Values["every"]} },
}

// Name implements Rule.
func (AsyncAverage) Name() string { return "async-average" }

// Validate implements Rule.
func (a AsyncAverage) Validate() error {
	if a.Every < 1 {
		return fmt.Errorf("pace: averaging every %d steps; want at least 1", a.Every)
	}
	return checkStaleness(a.Staleness)
}

// MayIssue implements Rule.
func (a AsyncAverage) MayIssue(outstanding int) bool { return outstanding <= a.Staleness }

// EveryPS implements Rule.
func (AsyncAverage) EveryPS() bool { return false }

// InStep implements Rule.
func (AsyncAverage) InStep() bool { return false }

// Exact implements Rule.
func (AsyncAverage) Exact() bool { return false }

// Dense implements Rule.
func (a AsyncAverage) Dense() DenseSync {
	return DenseSync{Strategy: Averaged, OwnReplicas: true, Every: int32(a.Every)}
}

// OverlapSync implements Rule. Steps have no stage DS.
func (AsyncAverage) OverlapSync() bool { return false }

// Lead implements Rule.
func (AsyncAverage) Lead() int { return Unbounded }

// Bounds implements Rule. A rank does not wait for the copies of others, so Cross has no bound.
func (a AsyncAverage) Bounds(ranks int) Bounds {
	return asynchronousBounds(a.Staleness, ranks, Unbounded)
}
