package serving

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"tandem/experiments/internal/report"
)

// The page of modules has the rates of the stored run.
func TestPageHasTheStoredRates(t *testing.T) {
	text, err := os.ReadFile("modules.json")
	if err != nil {
		t.Fatal(err)
	}
	var stored struct{ Data []*result }
	if err := json.Unmarshal(text, &stored); err != nil || len(stored.Data) == 0 {
		t.Fatalf("%d results, error %v", len(stored.Data), err)
	}
	page, err := os.ReadFile("../../../docs/pytorch.md")
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]string{}
	for _, r := range stored.Data {
		name := "64-32"
		if strings.HasSuffix(r.Model, "DLRM") {
			name = "DLRM"
		}
		name = fmt.Sprintf("| %s, %d | %s |", name, r.Rows, r.Way)
		lines[name] += fmt.Sprintf(" %.1f |", report.Median(r.SamplesPerSecond)/1e3)
	}
	for name, cells := range lines { // order-free: each is compared by itself
		if !strings.Contains(string(page), name+cells) {
			t.Errorf("docs/pytorch.md lacks %s%s", name, cells)
		}
	}
}
