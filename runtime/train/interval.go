package train

import (
	"time"

	"tandem/algo/saving"
	"tandem/algo/unit"
)

// interval is a saving.Interval of a training that began at an instant.
type interval struct {
	saving.Interval
	begun time.Time
}

// next returns the time from now, when training has begun again a number of times since the model was saved,
// until it is saved.
func (v *interval) next(now time.Time, restarts int) time.Duration {
	return time.Duration(v.Next(unit.Tick(now.Sub(v.begun)), restarts))
}

// paused notes what a pause has cost.
func (v *interval) paused(p Pause) {
	v.Cost = unit.Tick(max(p.Drain+p.Save+p.Start, time.Millisecond))
}
