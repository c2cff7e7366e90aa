package synth

import (
	"math"
	"testing"

	"tandem/algo/job"
)

// The shares of the tiny columns were measured on the first 10,000 rows of
// train.txt; the exponent has two decimals.
func TestCriteoTinyColumnsHaveTheMeasuredHead(t *testing.T) {
	want := map[string]float64{"C6": 0.4593, "C9": 0.8871, "C17": 0.4304, "C20": 0.4496, "C22": 0.8182}
	for _, c := range job.SyntheticCriteo().Columns {
		if share, ok := want[c.Name]; ok && math.Abs(NewZipf(c).Probability(1)-share) > 0.005 {
			t.Errorf("%s: top share %v, want %v", c.Name, NewZipf(c).Probability(1), share)
		}
	}
}

// Coverage measured on 20,000 rows with global frequency ranks. The tolerances are those of the
// doc comment of job.SyntheticCriteo.
func TestCriteoCoversRoughlyAsMeasured(t *testing.T) {
	ranks := []int64{10, 100, 1_000, 10_000, 100_000, 1_000_000}
	measured := map[string][]float64{
		"C3":  {0.161, 0.272, 0.419, 0.563, 0.669, 0.766},
		"C12": {0.160, 0.288, 0.441, 0.587, 0.696, 0.790},
		"C21": {0.166, 0.306, 0.462, 0.616, 0.727, 0.825},
		"C16": {0.166, 0.318, 0.489, 0.657, 0.778, 0.873},
		"C4":  {0.226, 0.368, 0.564, 0.764, 0.900, 0.966},
		"C24": {0.357, 0.536, 0.745, 0.920, 0.990, 1},
		"C26": {0.561, 0.679, 0.824, 0.949, 0.998, 1},
		"C10": {0.301, 0.442, 0.721, 0.953, 1, 1},
		"C15": {0.091, 0.398, 0.812, 0.999, 1, 1},
		"C7":  {0.060, 0.253, 0.641, 0.997, 1, 1},
		"C11": {0.106, 0.355, 0.796, 1, 1, 1},
		"C18": {0.229, 0.594, 0.942, 1, 1, 1},
		"C13": {0.117, 0.408, 0.860, 1, 1, 1},
	}
	for _, c := range job.SyntheticCriteo().Columns {
		for i, want := range measured[c.Name] {
			got, tolerance := NewZipf(c).Share(ranks[i]), 0.25
			if c.Cardinality > 200_000 {
				tolerance = 0.1
			}
			if math.Abs(got-want) > tolerance {
				t.Errorf("%s: top %d: %.3f, measured %.3f", c.Name, ranks[i], got, want)
			}
		}
	}
}
