package saving

import (
	"math"

	"tandem/algo/unit"
)

// Interval chooses when a model is saved, from what saving it costs and what is repeated after losses: by
// Young's formula, √(2 · cost · mean time between losses), which loses least to pauses and to steps that are
// trained again (J. W. Young, "A first order approximation to the optimum checkpoint interval",
// Communications of the ACM 17, 1974).
type Interval struct {
	Cost   unit.Tick // of the latest pause; 0 before the first
	Losses int       // after which training has begun again
	// Replayed counts the losses after which a process has handled its inputs since the checkpoint again,
	// while the others waited: each as the share of the time since the checkpoint that this took, because
	// that is its share of what a loss costs after which training begins again.
	Replayed float64
}

const (
	// Before the first loss, the mean time between losses is estimated as this plus the time without a loss.
	lossPrior = 6 * unit.Hour
	// costPrior stands for the cost before the first pause.
	costPrior = unit.Second
	// Unless losses come faster, pauses take at most a tenth of the time. The model is saved once an hour at
	// least.
	pausesLeast = 10
	intervalMin = unit.Second
	intervalMax = unit.Hour
	// firstMax bounds the time until the first pause, from which the cost is known.
	firstMax = 10 * unit.Second
)

// Next returns the time until the model is saved next. The training began a time ago; since its newest
// checkpoint it has begun again a number of times, each of which halves the time.
func (v *Interval) Next(ago unit.Tick, restarts int) unit.Tick {
	cost, most := v.Cost, intervalMax
	if cost == 0 {
		cost, most = costPrior, firstMax
	}
	between := (lossPrior + ago).Seconds()
	if lost := float64(v.Losses) + v.Replayed; lost > 0 {
		between = min(between, ago.Seconds()/lost)
	}
	best := unit.Tick(math.Sqrt(2*cost.Seconds()*between) * float64(unit.Second))
	best = min(max(best, pausesLeast*cost, intervalMin), most)
	return best >> min(restarts, 8) // losses come faster than the model is saved
}
