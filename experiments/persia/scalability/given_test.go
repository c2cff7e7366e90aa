package scalability

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tandem/experiments/internal/paper"
)

// planted returns draws of a made-up machine: a draw has a time of its own for a step and for the exchange of
// gradients on a wire, and a little noise. The bars are those of a draw that is not among them.
func planted(seed uint64) *draws {
	r := rand.New(rand.NewPCG(seed, 1))
	d := &draws{}
	machine := func() rates {
		at := rates{}
		step, exchange := math.Exp(r.Float64()), math.Exp(2*r.Float64())
		for _, c := range cells() {
			times := step*(1+0.1*float64(c.set)) + exchange*(1-1/float64(c.gpus))
			at[c] = math.Log(1e5*float64(c.gpus)/times) + 0.02*r.NormFloat64()
		}
		return at
	}
	for range 512 {
		d.at = append(d.at, machine())
	}
	d.bars = machine()
	return d
}

// leftOutCells are the figures that are left out in turn.
func leftOutCells() []cell {
	return slices.DeleteFunc(cells(), func(c cell) bool { return c.gpus == 1 })
}

// On made-up machines, the draws that are nearest to the other data sets have narrower intervals, and hold
// the bar that was left out.
func TestGivenTheOtherDataSets(t *testing.T) {
	held, of := 0, 0
	for seed := range uint64(20) {
		d := planted(seed)
		all := d.nearest(nil, len(d.at))
		for _, c := range leftOutCells() {
			before := d.over(all, c, share)
			after := d.over(d.nearest(others(c), len(d.at)/keptPart), c, share)
			if wide, narrow := before.High/before.Low, after.High/after.Low; narrow > 0.6*wide {
				t.Errorf("seed %d, %v: a factor %.2f of %.2f", seed, c, narrow, wide)
			}
			truth := math.Exp(share(d.bars, c))
			if of++; after.Low <= truth && truth <= after.High {
				held++
			}
		}
	}
	if held < of*9/10 {
		t.Errorf("%d of %d bars inside", held, of)
	}
}

// The bars of a data set have no part in its own prediction, and those of the others have.
func TestTheDataSetItselfIsLeftOut(t *testing.T) {
	for _, c := range leftOutCells() {
		d := planted(1)
		before := d.nearest(others(c), 32)
		for _, gpus := range paper.ScalingGPUs() {
			d.bars[cell{c.set, gpus}] += 1
		}
		if after := d.nearest(others(c), 32); !slices.Equal(before, after) {
			t.Errorf("%v: its own bars change its prediction", c)
		}
		for _, of := range others(c) {
			d.bars[of] += 1
		}
		if after := d.nearest(others(c), 32); slices.Equal(before, after) {
			t.Errorf("%v: the bars of the other data sets change nothing", c)
		}
	}
}

// A draw at which a job does not fit is not kept, and a null model is the geometric mean of the others.
func TestDrawsThatDoNotFit(t *testing.T) {
	d := planted(1)
	c := cell{2, 8}
	best := d.nearest(others(c), 1)[0]
	d.at[best][cell{0, 8}] = math.NaN()
	if kept := d.nearest(others(c), len(d.at)); slices.Contains(kept, best) || len(kept) != len(d.at)-1 {
		t.Errorf("%d of %d draws are kept", len(kept), len(d.at))
	}
	d.bars[cell{0, 8}], d.bars[cell{1, 8}] = math.Log(2e3), math.Log(8e3)
	if got := d.null(c, bar); math.Abs(got-4) > 1e-9 {
		t.Errorf("null %v thousand, want 4", got)
	}
}
