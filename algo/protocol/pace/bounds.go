package pace

import (
	"fmt"

	"tandem/algo/histogram"
)

// CheckBounds reports the first kind of staleness in s that is above the bound which
// the rule promises for the number of ranks. Drivers call it at the end of every run:
// an error is a fault of the rule, of a role or of a driver, not of the job.
func CheckBounds(r Rule, ranks int, s *Staleness) error {
	b := r.Bounds(ranks)
	for _, c := range []struct {
		quantity string
		seen     *histogram.Histogram
		bound    int
	}{
		{"own", &s.Own, b.Own}, {"cross", &s.Cross, b.Cross}, {"inflight", &s.Inflight, b.Inflight}, {"dense", &s.Dense, b.Dense},
	} {
		if seen := c.seen.Max(); seen > c.bound {
			return fmt.Errorf("%s staleness reached %d, and %s with ranks = %d promises at most %d:"+
				" a fault of the mode's rule or of Tandem",
				c.quantity, seen, r.Name(), ranks, c.bound)
		}
	}
	return nil
}
