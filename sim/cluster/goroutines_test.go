package cluster

import (
	"testing"

	"tandem/algo/job"
	"tandem/algo/protocol/pace"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
	"tandem/sim/cost"
)

// Four ranks on one core: work that is shorter than a turn takes on its core what it takes alone, however
// many wait, and longer work is interrupted by others.
func TestWorkShorterThanATurnRunsToItsEnd(t *testing.T) {
	const short, long = 4 * unit.Millisecond, 40 * unit.Millisecond
	for _, takes := range []unit.Tick{short, long} {
		r := &cost.RecordedTimes{Work: []cost.RecordedWork{{Kind: role.Forward, Time: takes},
			{Kind: role.Backward, Time: takes}}}
		m := cost.MeasuredMachine{Cores: 1, Multiply: 1e15, CopySpeed: 1e12, RowTime: 1, MessageTime: 2,
			Date: "2026-01-01", Recorded: r}
		a := runOn(t, cost.ThisMachine(m), training(job.AsyncPS, 4), Options{check: true})
		alone := float64(a.StageTimes[pace.FC]) / float64(takes)
		if takes == short && (alone < 1 || alone > 1.5) {
			t.Errorf("FC takes %.2f times the work of %v", alone, takes)
		}
		if takes == long && alone < 1.5 {
			t.Errorf("FC takes %.2f times the work of %v: no other rank ran in between", alone, takes)
		}
		// Whoever runs when, one core does the work of four ranks.
		if step, least := a.StepTime, 4*2*takes; step < least || float64(step) > 1.2*float64(least) {
			t.Errorf("a step takes %v, the work %v", step, least)
		}
	}
}
