package goodput

import (
	"math"

	"tandem/algo/unit"
)

// Between returns the mean time between failures after which training is repeated, or unit.Forever if no
// failure has this consequence. A failure that is Redone counts as Replay failures, since it repeats that
// share of the training.
func (p *Plan) Between() unit.Tick {
	rate := 0.0
	for i := range p.Kinds {
		switch k := &p.Kinds[i]; k.Consequence {
		case GoesBack:
			rate += k.rate()
		case Redone:
			rate += k.rate() * p.Replay
		}
	}
	if rate*float64(unit.Forever) <= 1 {
		return unit.Forever
	}
	return unit.Tick(1 / rate)
}

// Young returns the interval between checkpoints that loses least, to first order, for a pause and a mean
// time between failures (J. W. Young, "A first order approximation to the optimum checkpoint interval",
// Communications of the ACM 17, 1974). Package saving applies it to the failures that a training has seen.
func Young(pause, between unit.Tick) unit.Tick {
	return unit.Tick(math.Min(math.Sqrt(2*float64(pause)*float64(between)), float64(unit.Forever/2)))
}

// Daly returns the interval of higher order (J. T. Daly, "A higher order estimate of the optimum checkpoint
// interval for restart dumps", Future Generation Computer Systems 22, 2006).
func Daly(pause, between unit.Tick) unit.Tick {
	d, m := float64(pause), float64(between)
	if d >= 2*m {
		return between
	}
	x := math.Sqrt(d / (2 * m))
	return unit.Tick(math.Min(math.Sqrt(2*d*m)*(1+x/3+x*x/9)-d, float64(unit.Forever/2)))
}
