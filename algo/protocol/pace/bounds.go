package pace

import (
	"fmt"

	"tandem/algo/histogram"
)

// CheckBounds returns an error that names the first kind of staleness in s above the bound that the rule
// promises with a number of ranks. Drivers call it at the end of every run. The cause of an error is a bug in
// the rule, in a role or in a driver, not in the job.
func CheckBounds(r Rule, ranks int, s *Staleness) error {
	b := r.Bounds(ranks)
	for _, c := range []struct {
		quantity string
		seen     *histogram.Histogram
		bound    int
	}{
		{"own", &s.Own, b.Own}, {"cross", &s.Cross, b.Cross}, {"inflight", &s.Inflight, b.Inflight},
		{"dense", &s.Dense, b.Dense},
	} {
		if seen := c.seen.Max(); seen > c.bound {
			return fmt.Errorf("%s staleness reached %d, and %s with ranks = %d promises at most %d:"+
				" a fault of the mode's rule or of Tandem",
				c.quantity, seen, r.Name(), ranks, c.bound)
		}
	}
	return nil
}
