package quantity

import (
	"math"
	"testing"

	"tandem/algo/unit"
)

// The high end of a rate is the better one, the low end of a time or a price.
func TestValueAtAPosition(t *testing.T) {
	rate := Value[unit.BytesPerSec]{Low: 10, Mid: 20, High: 40}
	time := Value[unit.Tick]{Low: 10, Mid: 20, High: 40}
	price := Value[unit.Dollars]{Low: 10, Mid: 20, High: 40}
	for _, c := range []struct {
		position, rate float64
		time           unit.Tick
	}{
		{-1, 10, 40}, {-0.5, 15, 30}, {-0.03, 19.7, 21}, {0, 20, 20},
		{0.01, 20.2, 20}, {0.5, 30, 15}, {1, 40, 10},
	} {
		if got := rate.At(c.position); math.Abs(float64(got)-c.rate) > 1e-9 {
			t.Errorf("rate at %v = %v, want %v", c.position, float64(got), c.rate)
		}
		if got := time.At(c.position); got != c.time {
			t.Errorf("time at %v = %d, want %d", c.position, got, c.time)
		}
	}
	if price.At(1) != 10 {
		t.Errorf("the best price is %v", price.At(1))
	}
}

func TestImproveActsOnTheWholeRange(t *testing.T) {
	rate := Value[unit.FLOPsPerSec]{Low: 10, Mid: 20, High: 40}
	time := Value[unit.Tick]{Low: 10, Mid: 20, High: 40}
	rate.Improve(2)
	time.Improve(2)
	if rate != (Value[unit.FLOPsPerSec]{Low: 20, Mid: 40, High: 80}) ||
		time != (Value[unit.Tick]{Low: 5, Mid: 10, High: 20}) {
		t.Errorf("twice as good: %+v, %+v", rate, time)
	}
}
