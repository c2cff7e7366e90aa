package predict

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"

	"tandem/algo/rng"
)

// addErrors multiplies throughputs at sampled points by the error of the model, as far as it is known for the
// system software: see system.Accuracy. Predictions with the same software share the common part point by
// point, and those of the same setting the whole of it, so that a what-if of hardware is not blurred.
func (j *Job) addErrors(samples []float64) {
	for k, e := range j.errors(len(samples)) {
		samples[k] *= math.Exp(e)
	}
}

// errors returns the logarithms of the errors that addErrors adds at n sampled points; nil if they are not
// known.
func (j *Job) errors(n int) []float64 {
	a := j.Hardware.System.Accuracy
	if a == nil {
		return nil
	}
	name := j.Hardware.System.Name
	setting := fmt.Sprint(name, " ", j.Name, " ", j.Hardware.Accelerator.Name, " ", j.Roles.Ranks, " ",
		j.Training.GlobalBatch, " ", j.Hardware.Precision)
	common, single := normals("common "+name, n), normals("single "+setting, n)
	errors := make([]float64, n)
	for k := range errors {
		errors[k] = float64(a.Common*common[k]) + float64(a.Single*single[k])
	}
	return errors
}

// normals returns n quantiles of the standard normal distribution, one of each of n equal parts, in an order
// that follows from a name.
func normals(name string, n int) []float64 {
	values := make([]float64, n)
	r := rand.New(rand.NewPCG(sampleSeed, rng.Key(sampleSeed, "sim/predict/errors/"+name)))
	for k, part := range r.Perm(n) {
		values[k] = distuv.UnitNormal.Quantile((float64(part) + 0.5) / float64(n))
	}
	return values
}
