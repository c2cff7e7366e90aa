package train

import (
	"math"
	"time"
)

// interval chooses when a model is saved, from what saving it costs and how often processes are lost: by
// Young's formula, √(2 · cost · mean time between losses), which loses least to pauses and to steps that are
// trained again (J. W. Young, "A first order approximation to the optimum checkpoint interval",
// Communications of the ACM 17, 1974).
type interval struct {
	begun  time.Time
	cost   time.Duration // of the latest pause; 0 before the first
	losses int
}

const (
	// The mean time between losses is estimated as if a tenth of a loss had been seen before, in a tenth of
	// this time: what was seen outweighs it from the first loss on.
	lossPrior  = 6 * time.Hour
	priorShare = 0.1
	// costPrior stands for the cost before the first pause.
	costPrior = time.Second
	// Unless losses come faster, pauses take at most a tenth of the time. The model is saved once an hour at
	// least.
	pausesLeast = 10
	intervalMin = 5 * time.Second
	intervalMax = time.Hour
	// firstMax bounds the time until the first pause, from which the cost is known.
	firstMax = 10 * time.Second
)

// next returns the time from now, when training has begun again a number of times since the model was saved,
// until it is saved.
func (v *interval) next(now time.Time, restarts int) time.Duration {
	cost, most := v.cost, intervalMax
	if cost == 0 {
		cost, most = costPrior, firstMax
	}
	seen := now.Sub(v.begun).Seconds() + priorShare*lossPrior.Seconds()
	between := seen / (float64(v.losses) + priorShare)
	best := time.Duration(math.Sqrt(2*cost.Seconds()*between) * float64(time.Second))
	best = min(max(best, pausesLeast*cost, intervalMin), most)
	return best >> min(restarts, 8) // losses come faster than the model is saved
}

// paused notes what a pause has cost.
func (v *interval) paused(p Pause) { v.cost = max(p.Drain+p.Save+p.Start, time.Millisecond) }
