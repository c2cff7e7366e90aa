package reporttest

import (
	"strings"
	"testing"
)

// Progress returns a function for report.Options that reports an error if the number of trainings to come
// grows, because the time left would then grow too. What an experiment simulates afterwards does not count.
func Progress(t *testing.T) func(done, total int, what string) {
	last := 0
	return func(_, total int, what string) {
		if strings.HasPrefix(what, "simulating") {
			return
		}
		if last > 0 && total > last {
			t.Errorf("progress counts to %d, then to %d: %s", last, total, what)
		}
		last = total
	}
}
