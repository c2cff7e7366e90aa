package report

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tandem/algo/metric"
)

// Quantities are in the file of numbers, under the names that claims look for; names that could not be found
// again are refused.
func TestQuantities(t *testing.T) {
	q := Quantity{"hybrid-over-sync-64", "throughput of hybrid ÷ sync, 64 GPUs", metric.Interval{Estimate: 2,
		Low: 1.5, High: 3}, OverUnknowns}
	r := &Report{Name: "kwai", Quantities: []Quantity{q}, Settings: struct{}{}, Started: time.Now()}
	folder := t.TempDir()
	if err := r.WriteFolder(folder); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(folder, "kwai.json"))
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Quantities []Quantity }
	if err := json.Unmarshal(text, &got); err != nil || len(got.Quantities) != 1 || got.Quantities[0] != q {
		t.Errorf("read back %+v, %v; want %+v", got.Quantities, err, q)
	}
	for _, name := range []string{"", "Hybrid", "a b", "a--b", q.Name} {
		r.Quantities = []Quantity{q, {Name: name}}
		if err := r.WriteFolder(t.TempDir()); err == nil {
			t.Errorf("a quantity named %q was written", name)
		}
	}
}

func TestSlug(t *testing.T) {
	for text, want := range map[string]string{
		"α = 0.01": "alpha-0-01", "adult-income": "adult-income", " MovieLens 1M!": "movielens-1m",
		"hybrid(τ = 9)": "hybrid-tau-9",
	} {
		if got := Slug(text); got != want {
			t.Errorf("Slug(%q) = %q, want %q", text, got, want)
		}
	}
}
