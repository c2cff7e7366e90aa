package process

import (
	"time"

	"tandem/algo/job"
)

// asking decides before which steps rank 0 asks the host, which may then evaluate the model. An answer takes
// a round trip, for which all ranks wait in modes in lock step.
type asking struct {
	every job.Every // between two evaluations
	begin int       // number of global steps before the run
	due   int       // the first global step before which an evaluation by steps may be due
	last  time.Time // when an evaluation by time may last have been due
}

// askInterval is how often the host is asked at most, if evaluations are due by time. The host, which knows
// the time of the last one, evaluates this late at the most.
const askInterval = 100 * time.Millisecond

// isDue reports whether an evaluation may be due before a step of the run. A rank may skip steps.
func (a *asking) isDue(step int, now time.Time) bool {
	step += a.begin
	if a.every.Steps > 0 {
		if step < a.due {
			return false
		}
		a.due = (step/a.every.Steps + 1) * a.every.Steps
		return true
	}
	if now.Sub(a.last) < min(askInterval, time.Duration(a.every.Time)) {
		return false
	}
	a.last = now
	return true
}
