package turns

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"
)

// fixed is a side whose step always takes the same time.
type fixed time.Duration

func (f fixed) Run(_ context.Context, steps int) (time.Duration, error) {
	return time.Duration(steps) * time.Duration(f), nil
}

// The steps of a side fill a window, also those that are longer than it or take no time at all.
func TestStepsOf(t *testing.T) {
	for step, want := range map[fixed]int{fixed(30 * time.Millisecond): 34, fixed(time.Hour): 1, 0: 1e6} {
		if got, err := StepsOf(t.Context(), step, time.Second); got != want || err != nil {
			t.Errorf("steps of %v: %d, error %v, want %d", time.Duration(step), got, err, want)
		}
	}
}

// Every side has a turn in every round, and another one begins in the next. An error ends them.
func TestRounds(t *testing.T) {
	var order []int
	err := Rounds(4, 3, func(round, side int) error {
		if order = append(order, side); round == 3 {
			return errors.New("stop")
		}
		return nil
	})
	if want := []int{0, 1, 2, 1, 2, 0, 2, 0, 1, 0}; !slices.Equal(order, want) || fmt.Sprint(err) != "stop" {
		t.Errorf("order %v, error %v, want %v", order, err, want)
	}
}

// Steps end with their context and with their first error.
func TestTimeEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	steps := 0
	if _, err := Time(ctx, 9, func() error { steps++; cancel(); return nil }); err != context.Canceled {
		t.Errorf("error %v", err)
	}
	if _, err := Time(t.Context(), 9, func() error { steps++; return errors.New("no") }); steps != 2 ||
		fmt.Sprint(err) != "no" {
		t.Errorf("%d steps, error %v", steps, err)
	}
}

// A ratio is taken round by round. The machine is half as fast in the second round; the ratios are 2, 1
// and 4.
func TestSpreads(t *testing.T) {
	ratios := Ratios([]float64{2, 2, 4}, []float64{1, 2, 1})
	if got := Range(ratios); got != (Spread{1, 2, 4}) {
		t.Errorf("range %v", got)
	}
	if got := Quartiles(ratios); got != (Spread{1.5, 2, 3}) {
		t.Errorf("quartiles %v", got)
	}
	text := Range(ratios).Times(2).Text(func(v float64) string { return fmt.Sprint(v) })
	if text != "4 (2–8)" {
		t.Errorf("text %s", text)
	}
}

// Goals are counted by what has them; the lowest is one that is missed if any is. NaN reaches no goal.
func TestTallies(t *testing.T) {
	goals := []Goal{{"a", "a1", 2, 1}, {"b", "b1", 0, 1}, {"a", "a2", 1, 1}, {"a", "a3", 0.5, 1},
		{"b", "b2", math.NaN(), 1}}
	want := []Tally{{"a", 3, 2, goals[3]}, {"b", 2, 0, goals[1]}}
	if got := Tallies(goals); !slices.Equal(got, want) {
		t.Errorf("tallies %v, want %v", got, want)
	}
}
