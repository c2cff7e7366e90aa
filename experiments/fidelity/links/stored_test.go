package links

import (
	"os"
	"strings"
	"testing"

	"tandem/experiments/internal/report"
)

// The stored results are of the plan and the parameters in the tree.
func TestStoredResults(t *testing.T) {
	for name, quick := range map[string]bool{"full.json": false, "quick.json": true} {
		p, err := newPlan(report.Options{Quick: quick, Seed: 1, Seeds: 2})
		if err != nil {
			t.Fatal(err)
		}
		hash, err := p.inputs()
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), `"hash": "`+hash+`"`) {
			t.Errorf("the inputs have changed since %s was stored; run it again: go run ./experiments links",
				name)
		}
	}
}
