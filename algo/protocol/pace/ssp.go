package pace

import "fmt"

// SSP is stale synchronous parallel training (Ho and others, NIPS 2013): AsyncPS,
// but a rank may lead the slowest by Slack steps at most. FC of step c starts,
// and the parameters for it are pulled, only when every rank's clock, the number
// of its pushes that are acknowledged, is at least c − Slack.
type SSP struct {
	AsyncPS
	Slack int // s ≥ 0; 0 is bulk synchronous
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

// Dense implements Rule: a coordinator keeps the ranks' clocks.
func (SSP) Dense() DenseSync { return DenseSync{Strategy: Served, DensePSs: true, Coordinator: true} }

// Bounds implements Rule.
//
// Cross: when rank r reads for step k, it has finished at least one step
// ≥ k−τ−1, whose FC had waited until rank q had pushed step j = k−τ−2−s. q had
// read for step j then, so of q's steps before it at most τ were missing, and
// τ+s+2 more lie between it and k.
//
// Dense: when r pulls for step c, every rank has pushed all steps below c−s, and
// until r's own push of c is acknowledged none starts a step above c+s. Of another
// rank that leaves steps c−s … c+s, of r itself c−s … c−1 if pulls may be early.
func (s SSP) Bounds(ranks int) Bounds {
	if s.Slack >= Unbounded/(2*ranks+1) { // rather than overflow
		return AsyncPS{s.Staleness, PullEarly}.Bounds(ranks)
	}
	b := asynchronousBounds(s.Staleness, ranks, min(2*s.Staleness+s.Slack+2, Unbounded))
	b.Dense = (ranks - 1) * (2*s.Slack + 1)
	if s.Overlap == PullEarly {
		b.Dense += s.Slack
	}
	return b
}
