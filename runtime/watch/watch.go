// Package watch follows one training while it runs: what is done, how fast, at which loss, and how long the
// rest may take.
//
// A Training receives the callbacks of train.Options and backend.Backend and keeps a bounded number of
// points, however long the training is.
package watch

import (
	"math"
	"sync"
	"time"
)

// Point is what is known after a number of steps.
type Point struct {
	Step    int
	Samples int
	Seconds float64 // since the begin of the training
	// Loss is the mean training loss of the samples since the point before, in nats; NaN where it is not
	// known.
	Loss float64
	// SamplesPerSecond is the speed since the point before.
	SamplesPerSecond float64
}

// pointsMax is the number of points of a training, more than a figure shows.
const pointsMax = 400

// Training follows one training. Its methods are safe for concurrent use.
type Training struct {
	now     func() time.Time
	start   time.Time
	samples func(step int) int
	every   int // steps between two points

	mu         sync.Mutex
	steps, all int // trained; in all
	trained    int // samples
	before     int // of them, before the training began
	lossSum    float64
	lossOf     int     // samples in lossSum
	latest     Point   // of the latest point
	loss       float64 // of it, or of an earlier one; NaN
	points     []Point
	pace       pace
}

// pace is the speed of the latest few seconds.
type pace struct {
	began   time.Duration
	samples int
	speed   float64
}

// paceSpan is the least time over which a speed is measured.
const paceSpan = 2 * time.Second

// New follows a training of a number of steps that begins now; samples returns the number of samples of a
// step.
func New(steps int, samples func(step int) int, now func() time.Time) *Training {
	return &Training{now: now, start: now(), samples: samples, all: steps, every: (steps-1)/pointsMax + 1,
		loss: math.NaN()}
}

// Begin makes the training one that begins after a number of steps. Call it before the first Step.
func (t *Training) Begin(steps int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for ; t.steps < steps; t.steps++ {
		t.before += t.samples(t.steps)
	}
	t.trained, t.pace.samples = t.before, t.before
	t.latest = Point{Step: steps, Samples: t.before}
}

// Trained receives the sum of the losses of some samples: see backend.Backend.
func (t *Training) Trained(lossSum float64, samples int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lossSum, t.lossOf = t.lossSum+lossSum, t.lossOf+samples
}

// Step receives the number of trained steps, which falls when a training goes back to a checkpoint. If a
// point is due it returns the point; steps that are trained again have none.
func (t *Training) Step(done int) (p Point, due bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for ; t.steps < done; t.steps++ {
		t.trained += t.samples(t.steps)
	}
	since := t.now().Sub(t.start)
	if done < t.steps {
		for ; t.steps > done; t.steps-- {
			t.trained -= t.samples(t.steps - 1)
		}
		t.pace = pace{since, t.trained, t.pace.speed}
	}
	if span := since - t.pace.began; span >= paceSpan {
		t.pace = pace{since, t.trained, float64(t.trained-t.pace.samples) / span.Seconds()}
	}
	if done/t.every == t.latest.Step/t.every && done < t.all || done <= t.latest.Step {
		return Point{}, false
	}
	p = Point{Step: done, Samples: t.trained, Seconds: since.Seconds(), Loss: math.NaN()}
	if span := p.Seconds - t.latest.Seconds; span > 0 {
		p.SamplesPerSecond = float64(p.Samples-t.latest.Samples) / span
	}
	if t.lossOf > 0 {
		p.Loss = t.lossSum / float64(t.lossOf)
		t.loss, t.lossSum, t.lossOf = p.Loss, 0, 0
	}
	t.latest = p
	t.points = append(t.points, p)
	return p, true
}

// Now is a Training at one moment.
type Now struct {
	Steps, StepsInAll, Samples int
	Seconds                    float64 // since the begin
	Loss                       float64 // of the latest point that has one, in nats; NaN if there is none
	SamplesPerSecond           float64 // of the latest few seconds
}

// Now returns what is known.
func (t *Training) Now() Now {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := Now{Steps: t.steps, StepsInAll: t.all, Samples: t.trained, Seconds: t.now().Sub(t.start).Seconds(),
		Loss: t.loss, SamplesPerSecond: t.pace.speed}
	if n.SamplesPerSecond == 0 && n.Seconds > 0 {
		n.SamplesPerSecond = float64(n.Samples-t.before) / n.Seconds
	}
	return n
}

// Points returns all points so far.
func (t *Training) Points() []Point {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]Point(nil), t.points...)
}
