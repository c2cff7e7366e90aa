package predict

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"tandem/algo/rng"
)

// addErrors multiplies throughputs at sampled points by the error of the model, as far as it is known for the
// system software: see system.Accuracy and errors.
func (j *Job) addErrors(samples []float64) {
	for k, e := range j.errors(len(samples)) {
		samples[k] *= math.Exp(e)
	}
}

// alike is the part of the variance of single errors that predictions of one model and size share with any
// accelerator and precision: the correlation of their errors in pairs of the published steps of
// sim/validation (TestErrorsOfNeighboursAreAlike).
const alike = 0.6

// errors returns the logarithms of the errors that addErrors adds at n sampled points; nil if they are not
// known.
//
// Predictions with the same software share the common part point by point. Those of the same setting share
// the whole error, so that a what-if of hardware is not blurred, and those of neighbours nearly all of it:
// the single part is a field over the logarithms of the number of GPUs and of the batch of each, of which
// settings twice as large share little, and those four times as large nothing. Published steps are off in
// this way, too: TestErrorsOfNeighboursAreAlike of sim/validation.
func (j *Job) errors(n int) []float64 {
	a := j.Hardware.System.Accuracy
	if a == nil {
		return nil
	}
	system := j.Hardware.System.Name
	model := fmt.Sprint(system, " ", j.Name)
	device := fmt.Sprint(model, " ", j.Hardware.Accelerator.Name, " ", j.Hardware.Precision)
	gpus := math.Log2(float64(j.Roles.Ranks))
	batch := math.Log2(float64(j.Training.GlobalBatch) / float64(j.Roles.Ranks))
	common := normals("common "+system, n)
	ofModel, ofDevice := field("model "+model, gpus, batch, n), field("device "+device, gpus, batch, n)
	single := make([]float64, n)
	for k := range single {
		single[k] = float64(math.Sqrt(alike)*ofModel[k]) + float64(math.Sqrt(1-alike)*ofDevice[k])
	}
	errors := make([]float64, n)
	// The spread of few sums is not exactly 1, so they only give the order.
	for rank, k := range ascending(single) {
		errors[k] = float64(a.Common*common[k]) + float64(a.Single*quantile(rank, n))
	}
	return errors
}

// field returns n values of a random field at a place of the plane. They have a standard normal distribution
// at every place, and the correlation of two places follows from how far they are apart: 0.96 at a fifth,
// 0.28 at 1 and 0 at 2 along one coordinate. A value is the weighted sum of independent ones at the four
// corners of a cell around the place; every value has cells of its own.
func field(name string, x, y float64, n int) []float64 {
	corners := map[[2]float64][]float64{}
	corner := func(at [2]float64) []float64 {
		if corners[at] == nil {
			corners[at] = normals(fmt.Sprint(name, " ", at[0], " ", at[1]), n)
		}
		return corners[at]
	}
	values := make([]float64, n)
	r := rand.New(rand.NewPCG(sampleSeed, rng.Key(sampleSeed, "sim/predict/errors/cells")))
	for k := range values {
		atX, atY := x+r.Float64(), y+r.Float64()
		squares := 0.0
		for _, cx := range []float64{math.Floor(atX), math.Floor(atX) + 1} {
			for _, cy := range []float64{math.Floor(atY), math.Floor(atY) + 1} {
				weight := float64((1 - math.Abs(atX-cx)) * (1 - math.Abs(atY-cy)))
				squares += float64(weight * weight)
				values[k] += float64(weight * corner([2]float64{cx, cy})[k])
			}
		}
		values[k] /= math.Sqrt(squares)
	}
	return values
}

// ascending returns the places of values, that of the lowest first.
func ascending(values []float64) []int {
	places := make([]int, len(values))
	for k := range places {
		places[k] = k
	}
	slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	return places
}

// quantile returns the middle of one of n equal parts of the standard normal distribution.
func quantile(part, n int) float64 {
	return distuv.UnitNormal.Quantile((float64(part) + 0.5) / float64(n))
}

// normals returns n quantiles of the standard normal distribution, one of each of n equal parts, in an order
// that follows from a name.
func normals(name string, n int) []float64 {
	values := make([]float64, n)
	r := rand.New(rand.NewPCG(sampleSeed, rng.Key(sampleSeed, "sim/predict/errors/"+name)))
	for k, part := range r.Perm(n) {
		values[k] = quantile(part, n)
	}
	return values
}
