package report

import (
	"fmt"
	"regexp"
	"strings"

	"tandem/algo/metric"
)

// Quantity is a number that a paper may report too: a throughput, a ratio, an AUC difference. Experiment
// claims finds it by its name in the results of an experiment and compares it with what a paper has
// published.
type Quantity struct {
	// Name is lower case with hyphens, as hybrid-over-sync-64, and unique in a report. It stays when the text
	// of a report changes.
	Name string `json:"name"`
	// What is the same in words, with the unit: "throughput of hybrid ÷ sync, 64 GPUs".
	What string `json:"what"`
	metric.Interval
	// Over says what the interval spans.
	Over Basis `json:"over"`
}

// Basis is what an interval spans.
type Basis string

// What intervals span.
const (
	OverSeeds    Basis = "seeds"               // 95 % of a mean over seeds, and test rows on real data
	OverUnknowns Basis = "unknown inputs"      // percentiles over the box of unknown inputs of the simulator
	OverBoth     Basis = "seeds and unknowns"  // a training per seed, at sampled unknown inputs
	OverRounds   Basis = "rounds"              // repeated measurements of this machine
	OverNothing  Basis = "nothing: one result" // low and high are the estimate
)

var quantityName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// checkQuantities returns an error if the quantities of a report cannot be found by name.
func (r *Report) checkQuantities() error {
	seen := map[string]bool{}
	for _, q := range r.Quantities {
		if !quantityName.MatchString(q.Name) || seen[q.Name] {
			return fmt.Errorf("report: %s: quantity %q is named twice or is not in lower case with hyphens",
				r.Name, q.Name)
		}
		seen[q.Name] = true
	}
	return nil
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// Slug returns a text as a part of a quantity's name: "α = 0.01" is alpha-0-01.
func Slug(text string) string {
	text = strings.ToLower(strings.NewReplacer("α", "alpha", "τ", "tau", "+", " and ").Replace(text))
	return strings.Trim(notInNames.ReplaceAllString(text, "-"), "-")
}
