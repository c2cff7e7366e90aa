package claims

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"testing/fstest"

	"tandem/algo/metric"
	"tandem/experiments/report"
)

func number(v float64) *float64 { return &v }

// A verdict follows from the published number and the interval, at every border.
func TestVerdicts(t *testing.T) {
	fold := published{Value: number(2.6), Low: number(2.5), High: number(2.7), Unit: "×", Form: "printed"}
	loss := published{Value: number(-0.007), Low: number(-0.01), High: number(-0.005), Form: "printed"}
	within := published{Low: number(-0.001), High: number(0.001), Form: "printed"}
	least := published{Low: number(0.9), Form: "printed"}
	for _, test := range []struct {
		name      string
		published published
		void      *float64
		low, high float64
		want      Verdict
	}{
		{"meets and is narrow", fold, number(1), 1.6, 3, Reproduced},
		{"touches the published end", fold, number(1), 1.6, 2.5, Reproduced},
		{"meets, but too wide for a value", fold, number(1), 1.1, 3, ShapeOnly},
		{"misses on the right side", fold, number(1), 1.2, 2, ShapeOnly},
		{"misses beyond", fold, number(1), 3, 4, ShapeOnly},
		{"misses and holds the void value", fold, number(1), 0.9, 1.5, NotReproduced},
		{"misses on the wrong side", fold, number(1), 0.3, 0.8, NotReproduced},
		{"meets, but holds the void value", fold, number(1), 0.9, 3, Inconclusive},
		{"a level that meets and is narrow", fold, nil, 1.5, 3, Reproduced},
		{"a level that meets and is wide", fold, nil, 1, 3, Inconclusive},
		{"a level that misses", fold, nil, 1, 2, NotReproduced},
		{"a difference that meets", loss, number(0), -0.02, -0.001, Reproduced},
		{"a smaller difference", loss, number(0), -0.004, -0.001, ShapeOnly},
		{"no difference", loss, number(0), -0.002, 0.001, NotReproduced},
		{"a wide difference", loss, number(0), -0.02, 0.001, Inconclusive},
		{"inside the bound", within, nil, -0.0009, 0.001, Reproduced},
		{"across the bound", within, nil, -0.0009, 0.0011, Inconclusive},
		{"outside the bound", within, nil, 0.002, 0.003, NotReproduced},
		{"above a least value", least, nil, 0.9, 1, Reproduced},
		{"below a least value", least, nil, 0.8, 0.89, NotReproduced},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := &claim{Published: &test.published, Void: test.void}
			ours := metric.Interval{Estimate: (test.low + test.high) / 2, Low: test.low, High: test.high}
			got, why := judge(c, ours)
			if got != test.want || why == "" || strings.Contains(why, "NaN") {
				t.Errorf("%s: %s; want %s", got, why, test.want)
			}
		})
	}
}

// The reason says how far an interval is from the published number.
func TestReasons(t *testing.T) {
	fold := &claim{
		Published: &published{Value: number(4), Low: number(4), High: number(4), Unit: "×"}, Void: number(1),
	}
	_, why := judge(fold, metric.Interval{Estimate: 1.5, Low: 1.2, High: 2})
	if !strings.Contains(why, "factor 2") {
		t.Errorf("half the published value: %s", why)
	}
	within := &claim{Published: &published{Low: number(-0.001), High: number(0.001)}}
	_, why = judge(within, metric.Interval{Estimate: 0.0002, Low: -0.01, High: 0.01})
	if !strings.Contains(why, "±0.0008") {
		t.Errorf("an estimate 0.0008 from the nearer end: %s", why)
	}
}

// The file of claims can be judged, and has the published sentences that the docs promise.
func TestClaimsFile(t *testing.T) {
	list, err := all()
	if err != nil {
		t.Fatal(err)
	}
	systems := map[string]int{}
	for _, c := range list {
		systems[c.System]++
	}
	if len(list) < 14 || systems["Persia"] == 0 || systems["Neo"] == 0 {
		t.Errorf("%d claims: %v", len(list), systems)
	}
}

func TestClaimsThatCannotBeJudged(t *testing.T) {
	good := func() claim {
		return claim{
			ID: "a", System: "Persia", Text: "it is so", Experiment: "kwai", Quantity: "q", Void: number(1),
			Published: &published{Value: number(2), Low: number(1.9), High: number(2.1), Form: "printed"},
		}
	}
	if c := good(); c.check() != nil {
		t.Fatal(c.check())
	}
	for name, change := range map[string]func(c *claim){
		"no id":                     func(c *claim) { c.ID = "" },
		"nothing published":         func(c *claim) { c.Published = nil },
		"no number of ours":         func(c *claim) { c.Quantity = "" },
		"untestable with a number":  func(c *claim) { c.Untestable = "why" },
		"value outside its ends":    func(c *claim) { c.Published.Value = number(3) },
		"ends the wrong way round":  func(c *claim) { c.Published.Low = number(3) },
		"no ends":                   func(c *claim) { c.Published = &published{Form: "printed"} },
		"void among the ends":       func(c *claim) { c.Void = number(2) },
		"a bound with a void value": func(c *claim) { c.Published.Value = nil },
		"no form":                   func(c *claim) { c.Published.Form = "" },
		"not a number":              func(c *claim) { c.Published.Low = number(math.NaN()) },
	} {
		c := good()
		change(&c)
		if c.check() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// result returns the file of an experiment's numbers.
func result(t *testing.T, name, run, command string, q ...report.Quantity) *fstest.MapFile {
	t.Helper()
	text, err := json.Marshal(report.Result{Name: name, Run: run, Command: command, Quantities: q})
	if err != nil {
		t.Fatal(err)
	}
	return &fstest.MapFile{Data: text}
}

// A claim is judged by the run of the same command, then by a stored full run, then by a quick one; without
// any it is not run.
func TestWhichResultCounts(t *testing.T) {
	at := func(v float64) report.Quantity {
		return report.Quantity{
			Name: "hybrid-over-sync-100t", What: "ratio",
			Interval: metric.Interval{Estimate: v, Low: v, High: v},
		}
	}
	stored := fstest.MapFS{}
	row := func(o report.Options) row {
		t.Helper()
		r, err := New(stored).Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range r.Data.([]row) {
			if row.ID == "capacity-hybrid-over-sync" {
				return row
			}
		}
		t.Fatal("there is no such claim")
		panic("unreachable")
	}
	expect := func(o report.Options, run string, want Verdict) {
		t.Helper()
		if got := row(o); got.Run != run || got.Verdict != want {
			t.Errorf("run %q: %s; want run %q: %s", got.Run, got.Verdict, run, want)
		}
	}
	expect(report.Options{}, "", NotRun)
	stored["capacity/quick.json"] = result(t, "capacity", "0a", "go run ./experiments capacity --quick",
		at(1))
	expect(report.Options{}, "0a", NotReproduced)
	stored["capacity/full.json"] = result(t, "capacity", "0b", "go run ./experiments capacity", at(2))
	expect(report.Options{}, "0b", ShapeOnly)
	folder := t.TempDir()
	r := &report.Report{
		Name: "capacity", Run: "0c", Command: "go run ./experiments capacity --quick", Settings: struct{}{},
		Quantities: []report.Quantity{at(2.6)},
	}
	if err := r.WriteFolder(folder); err != nil {
		t.Fatal(err)
	}
	expect(report.Options{Earlier: []string{folder}}, "0c", Reproduced)
	r.Quantities = nil
	other := t.TempDir()
	if err := r.WriteFolder(other); err != nil {
		t.Fatal(err)
	}
	expect(report.Options{Earlier: []string{other}}, "0c", NotRun)
}

// Tables fit a terminal of 80 columns.
func TestTablesFitATerminal(t *testing.T) {
	list, err := all()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]source{}
	for _, c := range list {
		widest := metric.Interval{Estimate: -0.12, Low: -0.56, High: -0.01}
		q := report.Quantity{Name: c.Quantity, Interval: widest}
		if from, ok := found[c.Experiment]; ok {
			from.Quantities = append(from.Quantities, q)
			continue
		}
		found[c.Experiment] = source{&report.Result{
			Name: c.Experiment, Run: "01234567", Quantities: []report.Quantity{q},
		}, "this command"}
	}
	for _, table := range newReport(&plan{Claims: list}, rows(list, found)).Tables {
		var text strings.Builder
		if err := table.WriteText(&text); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(text.String()) {
			if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 80 {
				t.Errorf("%q has a line of %d columns: %s", table.Caption, n, line)
				break
			}
		}
	}
}
