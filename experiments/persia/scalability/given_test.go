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
	d := &draws{map[cell]float64{}, map[cell][]float64{}}
	machine := func(add func(cell, float64)) {
		step, exchange := math.Exp(r.Float64()), math.Exp(2*r.Float64())
		for set := range dataSets() {
			for _, gpus := range paper.ScalingGPUs() {
				times := step*(1+0.1*float64(set)) + exchange*(1-1/float64(gpus))
				noise := 0.02 * r.NormFloat64()
				add(cell{set, gpus}, math.Log(1e5*float64(gpus)/times)+noise)
			}
		}
	}
	for range 512 {
		machine(func(c cell, v float64) { d.at[c] = append(d.at[c], v) })
	}
	machine(func(c cell, v float64) { d.bars[c] = v })
	return d
}

// leftOutCells are the figures that are left out in turn.
func leftOutCells() (list []cell) {
	for set := range dataSets() {
		for _, gpus := range []int{2, 4, 8} {
			list = append(list, cell{set, gpus})
		}
	}
	return list
}

// On made-up machines, the draws that are nearest to the other data sets have narrower intervals, and hold
// the bar that was left out.
func TestGivenTheOtherDataSets(t *testing.T) {
	held, of := 0, 0
	for seed := range uint64(20) {
		d := planted(seed)
		all := d.nearest(nil, d.size())
		for _, c := range leftOutCells() {
			before := d.over(all, c, share)
			after := d.over(d.nearest(others(c), d.size()/keptPart), c, share)
			if wide, narrow := before.High/before.Low, after.High/after.Low; narrow > 0.6*wide {
				t.Errorf("seed %d, %v: a factor %.2f of %.2f", seed, c, narrow, wide)
			}
			truth := math.Exp(share(func(c cell) float64 { return d.bars[c] }, c))
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
	d.at[cell{0, 8}][best] = math.NaN()
	if kept := d.nearest(others(c), d.size()); slices.Contains(kept, best) || len(kept) != d.size()-1 {
		t.Errorf("%d of %d draws are kept", len(kept), d.size())
	}
	d.bars[cell{0, 8}], d.bars[cell{1, 8}] = math.Log(2e3), math.Log(8e3)
	if got := d.null(c, bar); math.Abs(got-4) > 1e-9 {
		t.Errorf("null %v thousand, want 4", got)
	}
}
