package pace

import "fmt"

// SSP is stale synchronous parallel training (Ho and others, NIPS 2013): AsyncPS in which a rank leads the
// slowest rank by at most Slack steps. The clock of a rank is the number of its acknowledged pushes. A rank
// pulls the parameters of step c and starts FC only when every clock is at least c − Slack.
type SSP struct {
	AsyncPS
	Slack int // s ≥ 0; 0: bulk synchronous
}

var sspMode = Mode{
	Name: "ssp", Overlaps: []string{"none", "pull"},
	Settings: []Setting{{
		Name: "slack", Default: Fixed(3), Min: Fixed(0), Max: Fixed(1_000_000),
		Doc: "steps that a rank may lead the slowest rank by",
	}},
	New: func(s Settings) Rule {
		return SSP{AsyncPS{s.Staleness, PullOverlap(s.Overlap)}, s.Values["slack"]}
	},
}

// Name implements Rule.
func (SSP) Name() string { return "ssp" }

// Validate implements Rule.
func (s SSP) Validate() error {
	if s.Slack < 0 {
		return fmt.Errorf("pace: ssp with slack %d; want 0 or more", s.Slack)
	}
	return s.AsyncPS.Validate()
}

// Lead implements Rule.
func (s SSP) Lead() int { return s.Slack }

// Dense implements Rule. A coordinator keeps the clocks of the ranks.
func (SSP) Dense() DenseSync { return DenseSync{Strategy: Served, DensePSs: true, Coordinator: true} }

// Bounds implements Rule.
//
// Cross: when rank r reads for step k, it has finished a step ≥ k−τ−1, whose FC waited until every rank q had
// pushed step j = k−τ−2−s. Rank q had then read for step j, so at most τ of its steps before j were missing.
// At most τ+s+2 steps are between j and k. The sum is 2τ+s+2.
//
// Dense: when r pulls for step c, every rank has pushed all steps below c−s. Until the push of step c of r is
// acknowledged, no rank starts a step above c+s. The pull may therefore miss the steps c−s … c+s of each
// other rank, and the steps c−s … c−1 of r itself if pulls are early.
func (s SSP) Bounds(ranks int) Bounds {
	if s.Slack >= Unbounded/(2*ranks+1) { // the bounds would overflow
		return AsyncPS{s.Staleness, PullEarly}.Bounds(ranks)
	}
	b := asynchronousBounds(s.Staleness, ranks, min(2*s.Staleness+s.Slack+2, Unbounded))
	b.Dense = (ranks - 1) * (2*s.Slack + 1)
	if s.Overlap == PullEarly {
		b.Dense += s.Slack
	}
	return b
}
