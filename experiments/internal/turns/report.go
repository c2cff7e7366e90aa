package turns

import (
	"fmt"
	"slices"

	"tandem/experiments/internal/report"
)

// Ratios returns a ÷ b, round by round. What slows both sides of a round cancels.
func Ratios(a, b []float64) []float64 {
	of := make([]float64, len(a))
	for i := range of {
		of[i] = a[i] / b[i]
	}
	return of
}

// Spread is the median of a value over rounds, between its ends: see Range and Quartiles.
type Spread struct{ Low, Median, High float64 }

// Range returns the spread of one or more values from the smallest to the largest.
func Range(values []float64) Spread {
	return Spread{slices.Min(values), report.Median(values), slices.Max(values)}
}

// Quartiles returns the spread of one or more values between their quartiles, interpolated between
// neighbours.
func Quartiles(values []float64) Spread {
	sorted := slices.Sorted(slices.Values(values))
	at := func(share float64) float64 {
		position := share * float64(len(sorted)-1)
		below := int(position)
		above := min(below+1, len(sorted)-1)
		return sorted[below] + (position-float64(below))*(sorted[above]-sorted[below])
	}
	return Spread{at(0.25), at(0.5), at(0.75)}
}

// Times returns the spread of a positive multiple of the values.
func (s Spread) Times(by float64) Spread { return Spread{by * s.Low, by * s.Median, by * s.High} }

// Text returns the median with both ends, whose format is that of number.
func (s Spread) Text(number func(float64) string) string {
	return fmt.Sprintf("%s (%s–%s)", number(s.Median), number(s.Low), number(s.High))
}

// Bar returns a ratio as a bar of a figure, with a mark at its goal; 0 is no goal.
func (s Spread) Bar(name string, color int, goal float64) report.Bar {
	return report.Bar{Name: name, Color: color, Value: s.Median, Low: s.Low, High: s.High, Target: goal}
}

// Percent returns a share in percent, without decimals.
func Percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

// Goal is a value of a case that should be at least as large as a target.
type Goal struct {
	Of              string // what has the goal and the target, the same for many cases
	Text            string // the value and the case
	Reached, Target float64
}

// Tally is what became of the goals of one kind.
type Tally struct {
	Of           string
	All, Reached int
	Lowest       Goal // the one with the lowest value
}

// Tallies returns the tally of every kind of goals, in the order of the first of each.
func Tallies(goals []Goal) (tallies []Tally) {
	for _, g := range goals {
		at := slices.IndexFunc(tallies, func(t Tally) bool { return t.Of == g.Of })
		if at < 0 {
			at = len(tallies)
			tallies = append(tallies, Tally{Of: g.Of, Lowest: g})
		}
		t := &tallies[at]
		t.All++
		if g.Reached >= g.Target {
			t.Reached++
		}
		if g.Reached < t.Lowest.Reached {
			t.Lowest = g
		}
	}
	return tallies
}
