package synth

import (
	"math"

	"tandem/algo/job"
	"tandem/algo/rng"
)

// conversion is the teacher of the second label.
type conversion struct {
	scorer      *scorer
	shared, own float64     // weights of the standardised scores
	click, mine calibration // standardise the two scores
	calibration calibration // of the weighted sum
}

func newConversion(spec job.Synthetic) *conversion {
	return &conversion{
		scorer: newScorer(rng.Key(teacherSeed(spec), "synthetic conversion"), spec),
		shared: spec.Conversion.Shared, own: math.Sqrt(
			1 - float64(spec.Conversion.Shared*spec.Conversion.Shared)),
	}
}

// calibrate fits the calibrations to the scores of a pilot sample: those of the clicks and those
// of its own teacher, which it overwrites.
func (c *conversion) calibrate(clicks, own []float64, spec job.Synthetic) {
	c.click, c.mine = calibrate(clicks, 1, 0.5), calibrate(own, 1, 0.5)
	for i := range own {
		own[i] = c.mix(clicks[i], own[i])
	}
	c.calibration = calibrate(own, spec.Teacher.Scale, spec.Conversion.Rate)
}

// mix returns the score of a conversion.
func (c *conversion) mix(click, own float64) float64 {
	return float64(c.shared*c.click.standard(click)) + float64(c.own*c.mine.standard(own))
}

// probability returns the probability of a conversion after a click, given both scores.
func (c *conversion) probability(click, own float64) float64 {
	return c.calibration.probability(c.mix(click, own))
}

// standard returns the standardised score.
func (c calibration) standard(score float64) float64 { return float64(c.slope * (score - c.mean)) }
