package census

import (
	"math"
	"testing"
)

// Chao 1984, section 2: by the Cauchy–Schwarz inequality, E f₀ ≥ (E f₁)²/(2 E f₂) in Poisson sampling, with
// equality if all ids are equally frequent. So the estimate from expected values is a lower bound of the
// number of ids, and equal to it for a uniform law.
func TestTheEstimateFromExpectedValuesIsALowerBound(t *testing.T) {
	for _, l := range laws() {
		for _, draws := range []float64{100, 1_000, 10_000} {
			var s spectrum
			for _, p := range l.p {
				mean := draws * p
				s.distinct += -math.Expm1(-mean)
				s.once += mean * math.Exp(-mean)
				s.twice += mean * mean / 2 * math.Exp(-mean)
			}
			ids, isUniform := float64(len(l.p)), l.p[0] == l.p[len(l.p)-1]
			got := s.distinct + s.once*s.once/(2*s.twice)
			if got > ids*(1+1e-9) || isUniform && got < ids*(1-1e-9) {
				t.Errorf("%s, %v draws: %v", l.name, draws, got)
			}
		}
	}
}
