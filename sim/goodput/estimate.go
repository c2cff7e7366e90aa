package goodput

import (
	"math"
	"slices"

	"tandem/algo/unit"
)

// Estimate sums up simulated trainings of one plan.
type Estimate struct {
	Runs int
	// Share is the useful part of the time of all trainings, and Shares has the part of each.
	Share  float64
	Shares []float64
	Lost   [causes]float64 // shares of the time of all trainings; with Share they have the sum 1
	Deaths []float64       // by kind, in the time of one training
	// Repeats is the largest number of times that a training began again with one checkpoint, and GivenUp the
	// number of trainings for which failures come too fast.
	Repeats, GivenUp int
}

// givenUpMax is the number of trainings that are given up, one after the other, after which no more are
// simulated.
const givenUpMax = 4

// Simulations estimates a plan by a number of trainings, with seeds from a first one on.
func Simulations(p *Plan, seed uint64, trainings int) Estimate {
	var e Estimate
	e.Deaths = make([]float64, len(p.Kinds))
	var wall, useful float64
	var lost [causes]float64
	for i := range trainings {
		if e.GivenUp == givenUpMax && i == givenUpMax {
			break
		}
		r := Simulate(p, seed+uint64(i))
		e.Runs++
		wall, useful = wall+r.Wall.Seconds(), useful+r.Useful.Seconds()
		for c := range lost {
			lost[c] += r.Lost[c].Seconds()
		}
		for k, n := range r.Deaths {
			e.Deaths[k] += float64(n)
		}
		e.Shares = append(e.Shares, r.Useful.Seconds()/r.Wall.Seconds())
		e.Repeats = max(e.Repeats, r.Repeats)
		if r.GivenUp {
			e.GivenUp++
		}
	}
	e.Share = useful / wall
	for c := range lost {
		e.Lost[c] = lost[c] / wall
	}
	for k := range e.Deaths {
		e.Deaths[k] /= float64(e.Runs)
	}
	return e
}

// Point is the share of the time that is useful with an interval.
type Point struct {
	Every unit.Tick
	Share float64
}

// octaves is the number of octaves on either side of Young's interval in which Best tries intervals.
const octaves = 3

// PerOctave is the number of intervals that Best tries in an octave: from one interval to its double.
const PerOctave = 4

// checkpointsMax is the number of checkpoints above which a training takes too long to simulate.
const checkpointsMax = 10_000_000

// Shortest returns the shortest interval between checkpoints that is simulated for a training of a length.
func Shortest(length unit.Tick) unit.Tick { return max(unit.Millisecond, length/checkpointsMax) }

// Best tries intervals between checkpoints, none below Shortest or in which no checkpoint can be written, and
// returns them in ascending order with the index of the best. All have the same failures.
func Best(p *Plan, seed uint64, trainings int) (points []Point, best int) {
	middle := Young(p.Pause, p.Between())
	least, most := max(Shortest(p.Length), min(p.Write, p.Length)), p.Length
	for i := -octaves * PerOctave; i <= octaves*PerOctave; i++ {
		every := middle.Seconds() * math.Exp2(float64(i)/PerOctave)
		if every < least.Seconds() || every >= most.Seconds() {
			continue
		}
		q := *p
		q.Every = unit.Tick(every * float64(unit.Second))
		points = append(points, Point{q.Every, Simulations(&q, seed, trainings).Share})
	}
	if len(points) == 0 {
		q := *p
		q.Every = min(max(middle, least), most)
		points = []Point{{q.Every, Simulations(&q, seed, trainings).Share}}
	}
	for i := range points {
		if points[i].Share > points[best].Share {
			best = i
		}
	}
	return points, best
}

// Within returns the shortest and the longest interval around the best one with which at most a part of the
// time more is lost.
func Within(points []Point, best int, part float64) (least, most unit.Tick) {
	enough := func(p Point) bool { return p.Share >= points[best].Share-part }
	low := best
	for low > 0 && enough(points[low-1]) {
		low--
	}
	high := best
	for high+1 < len(points) && enough(points[high+1]) {
		high++
	}
	return points[low].Every, points[high].Every
}

// Range returns the 1st and the 99th percentile of shares.
func Range(shares []float64) (low, high float64) {
	sorted := slices.Sorted(slices.Values(shares))
	last := float64(len(sorted) - 1)
	return sorted[int(math.Floor(0.01*last))], sorted[int(math.Ceil(0.99*last))]
}
