package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/experiments/internal/judge"
)

// made returns a comparison of equal log losses.
func made(treated string, aucs ...float64) *judge.Comparison {
	c := &judge.Comparison{Data: "made", Treated: treated, Reference: "sync", AUCs: aucs}
	for i := range aucs {
		c.Seeds = append(c.Seeds, uint64(i+1))
		c.LogLosses = append(c.LogLosses, 0.5)
	}
	return c
}

// Findings and notes follow from the comparisons, and every difference is in differences.csv.
func TestComparisonsConclude(t *testing.T) {
	r := sample()
	r.Run = "12ab34cd"
	r.Comparisons = []*judge.Comparison{
		made("hybrid", -0.005, -0.0051, -0.0049), made("ssp", -0.003, -0.0031, -0.0029),
		made("gba", 0.0001, 0.0001, 0.0002), made("open", 0.002, -0.003, 0.001),
	}
	judge.Judge(r.Comparisons)
	folder := t.TempDir()
	if err := r.WriteFolder(folder); err != nil {
		t.Fatal(err)
	}
	const finding = "made, AUC − AUC of sync, above 0.002: hybrid −0.00500 ± 0.00025 (different), " +
		"ssp −0.00300 ± 0.00025 (different)."
	if got := r.Findings[len(r.Findings)-1]; got != finding {
		t.Errorf("finding %q", got)
	}
	notes := strings.Join(r.Notes, "\n")
	for _, want := range []string{
		"Holm's adjustment over the 4 comparisons", "over 3 seeds", "1 of 4 comparisons are inconclusive. At",
	} {
		if !strings.Contains(notes, want) {
			t.Errorf("no %q in %s", want, notes)
		}
	}
	text, err := os.ReadFile(filepath.Join(folder, DifferencesName))
	lines := strings.Split(string(text), "\n")
	if err != nil || len(lines) != 1+12+1 ||
		lines[0] != "experiment,data,treated,reference,seed,auc_difference,log_loss_difference_nats,run" ||
		lines[2] != "sample,made,hybrid,sync,2,-0.0051,0.5,12ab34cd" {
		t.Errorf("%q, error %v", lines, err)
	}
	numbers, err := os.ReadFile(filepath.Join(folder, "sample.json"))
	if err != nil || !strings.Contains(string(numbers), `"verdict": "equivalent"`) ||
		!strings.Contains(string(numbers), `"run": "12ab34cd"`) {
		t.Errorf("%s, error %v", numbers, err)
	}
	if rows := ComparisonTables(r.Comparisons)[0].Rows; len(rows) != 4 || rows[2][1] != "equivalent" ||
		rows[0][3] != "< 0.001" {
		t.Errorf("table %q", rows)
	}
}

// Every data set has a table. References are a column only where they differ.
func TestComparisonTablesByDataSet(t *testing.T) {
	a, b, c := made("hybrid", 0.1, 0.2), made("ssp", 0.1, 0.2), made("hybrid", 0.1, 0.2)
	c.Data = "other"
	b.Reference = "hybrid"
	tables := ComparisonTables([]*judge.Comparison{a, c, b})
	if len(tables) != 2 || len(tables[0].Rows) != 2 || tables[0].Rows[1][1] != "hybrid" ||
		len(tables[1].Header) != 4 || !strings.HasPrefix(tables[1].Caption, "other: AUC less that of sync") {
		t.Errorf("tables %+v", tables)
	}
}

// Without a finding, the report says so.
func TestNoFinding(t *testing.T) {
	c := []*judge.Comparison{made("gba", 0.0001, 0.0001, 0.0002)}
	judge.Judge(c)
	const want = "None of 1 AUC differences is above 0.002 with an interval that excludes 0."
	if got := comparisonFindings(c); len(got) != 1 || got[0] != want {
		t.Errorf("%q", got)
	}
}
