package predict

import (
	"math/rand/v2"
	"strings"

	"tandem/algo/rng"
	"tandem/sim/param"
)

// SystemPrefix begins the names of the parameters of system software.
const SystemPrefix = "system."

// sample returns n points of the box that the parameters of the job span: a Latin hypercube, but for
// calibrated quantities of the system software. These take the points of the calibration, one after the other
// in a fixed random order and from the start again, so that what was measured of several quantities together
// stays.
func (j *Job) sample(n int, seed uint64) []param.Point {
	v := j.Parameters()
	points := v.Sample(n, seed)
	c := j.Hardware.System.Calibration
	if c == nil {
		return points
	}
	order := rand.New(rand.NewPCG(seed, rng.Key(seed, "sim/predict/calibration"))).Perm(len(c.Points))
	for i, e := range v {
		name, ok := strings.CutPrefix(e.Name, SystemPrefix)
		if !ok {
			continue
		}
		for k := range points {
			if value, ok := c.Value(name, e, order[k%len(order)]); ok {
				points[k][i] = e.Position(value)
			}
		}
	}
	return points
}
