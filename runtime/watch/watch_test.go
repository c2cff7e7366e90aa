package watch

import (
	"math"
	"testing"
	"time"
)

// clock is a time that a test sets.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

// Ten samples a second at a loss of 2, then forty at a loss of 1: points have the means since the point
// before, and the speed is that of the latest seconds.
func TestPoints(t *testing.T) {
	c := &clock{time.Unix(0, 0)}
	w := New(4, func(step int) int { return 10 }, c.now)
	if n := w.Now(); n.Steps != 0 || !math.IsNaN(n.Loss) || n.SamplesPerSecond != 0 || n.StepsInAll != 4 {
		t.Errorf("before the first step: %+v", n)
	}
	for step, took := range []time.Duration{time.Second, time.Second, 250 * time.Millisecond,
		1750 * time.Millisecond} {
		loss := 20.0
		if step >= 2 {
			loss = 10
		}
		w.Trained(loss, 10)
		c.at = c.at.Add(took)
		p, due := w.Step(step + 1)
		want := Point{Step: step + 1, Samples: 10 * (step + 1), Seconds: c.at.Sub(time.Unix(0, 0)).Seconds(),
			Loss: loss / 10, SamplesPerSecond: 10 / took.Seconds()}
		if !due || p != want {
			t.Errorf("step %d: %+v, due %v; want %+v", step, p, due, want)
		}
		if _, again := w.Step(step + 1); again {
			t.Errorf("step %d: two points", step)
		}
	}
	// The last two steps took two seconds.
	n := w.Now()
	if n.Steps != 4 || n.Loss != 1 || n.SamplesPerSecond != 10 || n.Seconds != 4 || n.Samples != 40 {
		t.Errorf("after the last step: %+v", n)
	}
}

// A training that goes back to a checkpoint counts its steps from there, and has no point twice.
func TestTrainingGoesBack(t *testing.T) {
	c := &clock{time.Unix(0, 0)}
	w := New(100, func(step int) int { return 10 + step }, c.now)
	c.at = c.at.Add(3 * time.Second)
	w.Step(30)
	w.Step(12)
	if n := w.Now(); n.Steps != 12 || n.Samples != 12*10+12*11/2 || n.SamplesPerSecond <= 0 {
		t.Errorf("after 12 of 30 steps: %+v", n)
	}
	c.at = c.at.Add(4 * time.Second)
	if p, due := w.Step(30); due {
		t.Errorf("point %+v comes twice", p)
	}
	trained := float64(18*10 + (12+29)*18/2)
	if n := w.Now(); n.Steps != 30 || n.SamplesPerSecond != trained/4 {
		t.Errorf("after 30 steps again: %+v", n)
	}
	if p, due := w.Step(31); !due || p.Samples != 31*10+31*30/2 {
		t.Errorf("point %+v", p)
	}
}

// However many steps there are, there are at most pointsMax points and one for the end, and a loss that
// is not reported is not a number.
func TestPointsAreBounded(t *testing.T) {
	for _, steps := range []int{1, 399, 400, 401, 1000, 100_003} {
		c := &clock{time.Unix(0, 0)}
		w := New(steps, func(int) int { return 1 }, c.now)
		for i := range steps {
			c.at = c.at.Add(time.Millisecond)
			w.Step(i + 1)
		}
		points := w.Points()
		last := points[len(points)-1]
		if len(points) > pointsMax+1 || len(points) < min(steps, pointsMax)/2 ||
			last.Step != steps || last.Samples != steps || !math.IsNaN(last.Loss) {
			t.Errorf("%d steps: %d points, the last %+v", steps, len(points), last)
		}
	}
}

// A rank may report several steps at once.
func TestSkippedSteps(t *testing.T) {
	c := &clock{time.Unix(0, 0)}
	w := New(100, func(step int) int { return step }, c.now)
	w.Step(1)
	if p, due := w.Step(5); !due || p.Samples != 0+1+2+3+4 {
		t.Errorf("%+v, due %v", p, due)
	}
}
