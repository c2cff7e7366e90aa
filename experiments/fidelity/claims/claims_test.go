package claims

import (
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"tandem/algo/metric"
	"tandem/experiments/internal/report"
)

func number(v float64) *float64 { return &v }

// A verdict follows from the published number and the interval, at every border.
func TestVerdicts(t *testing.T) {
	fold := published{Value: number(2.6), Low: number(2.5), High: number(2.7), Unit: "×", Form: "printed"}
	loss := published{Value: number(-0.007), Low: number(-0.01), High: number(-0.005), Form: "printed"}
	within := published{Low: number(-0.001), High: number(0.001), Form: "printed"}
	least := published{Low: number(0.9), Form: "printed"}
	slight := published{Value: number(-0.002), Low: number(-0.0021), High: number(-0.0019), Form: "printed"}
	level := published{Value: number(0.89), Low: number(0.889), High: number(0.891), Form: "printed"}
	for _, test := range []struct {
		name      string
		published published
		void      *float64
		low, high float64
		want      Verdict
		lacks     Lack
	}{
		{"meets and is narrow", fold, number(1), 1.6, 3, Reproduced, ""},
		{"touches the published end", fold, number(1), 1.6, 2.5, Reproduced, ""},
		{"meets, but too wide for a value", fold, number(1), 1.1, 3, ShapeOnly, TooWide},
		{"misses on the right side", fold, number(1), 1.2, 2, ShapeOnly, ValueMissed},
		{"misses beyond", fold, number(1), 3, 4, ShapeOnly, ValueMissed},
		{"misses, however wide", fold, number(1), 2.8, 40, ShapeOnly, ValueMissed},
		{"misses and holds the void value", fold, number(1), 0.9, 1.5, NotReproduced, ValueMissed},
		{"misses on the wrong side", fold, number(1), 0.3, 0.8, NotReproduced, ValueMissed},
		{"meets, but holds the void value", fold, number(1), 0.9, 3, Inconclusive, NotToldApart},
		{"a level that meets and is narrow", fold, nil, 1.5, 3, Reproduced, ""},
		{"a level that meets and is wide", fold, nil, 1, 3, Inconclusive, TooWide},
		{"a level that meets from zero", fold, nil, 0, 3, Inconclusive, TooWide},
		{"a level that misses", fold, nil, 1, 2, NotReproduced, ValueMissed},
		{"a difference that meets", loss, number(0), -0.011, -0.001, Reproduced, ""},
		{"a difference that meets too widely", loss, number(0), -0.0111, -0.001, ShapeOnly, TooWide},
		{"a smaller difference", loss, number(0), -0.004, -0.001, ShapeOnly, ValueMissed},
		{"no difference", loss, number(0), -0.002, 0.001, NotReproduced, ValueMissed},
		{"a wide difference", loss, number(0), -0.02, 0.001, Inconclusive, NotToldApart},
		{"wider than a small effect", slight, number(0), -0.0045, -0.0004, ShapeOnly, TooWide},
		{"as wide as a small effect", slight, number(0), -0.0044, -0.0004, Reproduced, ""},
		{"an AUC that meets", level, nil, 0.8901, 0.9, Reproduced, ""},
		{"an AUC that meets too widely", level, nil, 0.88, 0.9, Inconclusive, TooWide},
		{"inside the bound", within, nil, -0.0009, 0.001, Reproduced, ""},
		{"across the bound", within, nil, -0.0009, 0.0011, Inconclusive, TooWide},
		{"outside the bound", within, nil, 0.002, 0.003, NotReproduced, ValueMissed},
		{"above a least value", least, nil, 0.9, 1, Reproduced, ""},
		{"below a least value", least, nil, 0.8, 0.89, NotReproduced, ValueMissed},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := &claim{Published: &test.published, Void: test.void}
			ours := metric.Interval{Estimate: (test.low + test.high) / 2, Low: test.low, High: test.high}
			got := judge(c, ours)
			if got.Verdict != test.want || got.Lacks != test.lacks || got.Why == "" ||
				strings.Contains(got.Why, "NaN") || strings.Contains(got.Why, "Inf") {
				t.Errorf("%+v; want %s, lacks %q", got, test.want, test.lacks)
			}
		})
	}
}

// The reason says how far an interval is from the published number, how narrow an interval must be to decide,
// and how narrow ours is.
func TestReasons(t *testing.T) {
	four := published{Value: number(4), Low: number(4), High: number(4), Unit: "×"}
	loss := published{Value: number(-0.0075), Low: number(-0.01), High: number(-0.005)}
	within := published{Low: number(-0.001), High: number(0.001)}
	for _, test := range []struct {
		published published
		void      *float64
		ours      metric.Interval
		want      []string
	}{
		// Half the published value.
		{four, number(1), metric.Interval{Estimate: 1.5, Low: 1.2, High: 2}, []string{"by a factor 2"}},
		// No interval within a factor 4 holds both 4 and 1.
		{four, number(1), metric.Interval{Estimate: 1.5, Low: 0.9, High: 2},
			[]string{"by a factor 2;", "within a factor 4, ours spans 2.2"}},
		{four, number(1), metric.Interval{Estimate: 3, Low: 1.5, High: 6},
			[]string{"within a factor 2.5 is needed, ours spans 4.0"}},
		// No interval of ±0.0025 holds both −0.005 and 0.
		{loss, number(0), metric.Interval{Estimate: 0, Low: -0.002, High: 0.002},
			[]string{"by 0.0030;", "needs ±0.0025, ours is ±0.0020"}},
		// The estimate is 0.0008 from the nearer end.
		{within, nil, metric.Interval{Estimate: 0.0002, Low: -0.01, High: 0.01},
			[]string{"±0.0008 decides, ours is ±0.0100"}},
	} {
		got := judge(&claim{Published: &test.published, Void: test.void}, test.ours)
		for _, want := range test.want {
			if !strings.Contains(got.Why, want) {
				t.Errorf("%+v of %s: %s; want %q", test.ours, test.published.oneLine(), got.Why, want)
			}
		}
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
		"times nothing":             func(c *claim) { c.Times = &quantityName{Experiment: "kwai"} },
		"untestable times a number": func(c *claim) {
			*c = claim{ID: "a", System: "Persia", Text: "it is so", Untestable: "why",
				Times: &quantityName{Experiment: "kwai", Quantity: "q"}}
		},
		"no form":      func(c *claim) { c.Published.Form = "" },
		"not a number": func(c *claim) { c.Published.Low = number(math.NaN()) },
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

// A claim of a product has the widest interval of its two numbers, is as quick as one of them, and is not run
// without either.
func TestProductsNeedBothNumbers(t *testing.T) {
	stored := func(name, command string, v metric.Interval) map[string]Source {
		return map[string]Source{name: {Result: &report.Result{Name: name, Command: command,
			Quantities: []report.Quantity{{Name: "q-" + name, What: name, Interval: v}}}}}
	}
	samples := stored("curves", "curves", metric.Interval{Estimate: 0.7, Low: 0.5, High: 0.9})
	lead := stored("rates", "rates --quick", metric.Interval{Estimate: 8, Low: 4, High: 11})
	c := claim{ID: "a", Experiment: "curves", Quantity: "q-curves", Void: number(1),
		Published: &published{Value: number(7.12), Low: number(7.1), High: number(7.2), Unit: "×"},
		Times:     &quantityName{Experiment: "rates", Quantity: "q-rates"}}
	alone := rows([]claim{c}, samples)[0]
	if alone.Verdict != NotRun || alone.Ours != nil || !strings.Contains(alone.Why, "q-rates") {
		t.Errorf("without rates: %+v", alone)
	}
	maps.Copy(samples, lead)
	both := rows([]claim{c}, samples)[0]
	if both.Ours == nil || both.Version != quick || both.Verdict != ShapeOnly || both.Lacks != TooWide {
		t.Fatalf("%+v", both)
	}
	want := metric.Interval{Estimate: 0.7 * 8, Low: 2, High: 0.9 * 11}
	if both.Ours.Interval != want {
		t.Errorf("%+v, want %+v", both.Ours.Interval, want)
	}
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
	row := func(o report.Options) Row {
		t.Helper()
		r, err := New(stored).Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range r.Data.([]Row) {
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

// Verdicts are counted apart by the versions of their runs, and every row has its version.
func TestVersionsAreCountedApart(t *testing.T) {
	at := func(version string, j judgement) Row {
		return Row{Version: version, judgement: j, Ours: &report.Quantity{},
			claim: claim{Published: &published{Value: number(2), Form: "printed"}}}
	}
	judged := []Row{
		at(full, judgement{Reproduced, "", "so"}), at(quick, judgement{ShapeOnly, TooWide, "so"}),
		at(quick, judgement{ShapeOnly, ValueMissed, "so"}), at(quick, judgement{Reproduced, "", "so"}),
		{Version: quick, judgement: judgement{NotRun, "", "so"}},
	}
	const want = "There are 5 claims. By full runs, 1: 1 reproduced. By quick runs, 3: 1 reproduced, " +
		"2 shape only (1 value missed, 1 met but too wide). Without a number, 1: 1 not run."
	if got := findings(judged)[0]; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for i, r := range claimTable(judged).Rows[:4] {
		if want := judged[i].Version + " run"; !strings.Contains(r[2], want) {
			t.Errorf("row %d has %q, want %q", i, r[2], want)
		}
	}
}

// Tables fit a terminal of 80 columns.
func TestTablesFitATerminal(t *testing.T) {
	list, err := all()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]Source{}
	for _, c := range list {
		widest := metric.Interval{Estimate: -0.12, Low: -0.56, High: -0.01}
		q := report.Quantity{Name: c.Quantity, Interval: widest}
		if from, ok := found[c.Experiment]; ok {
			from.Quantities = append(from.Quantities, q)
			continue
		}
		found[c.Experiment] = Source{Result: &report.Result{
			Name: c.Experiment, Run: "01234567", Quantities: []report.Quantity{q},
		}, Origin: "this command"}
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

// The table of a page replaces what stands between the marks, and nothing else.
func TestPageKeepsTheRest(t *testing.T) {
	name := filepath.Join(t.TempDir(), "page.md")
	write := func(text string) {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	judged := []Row{{claim: claim{System: "Persia", Text: "It is fast."}, File: "persia/gantt/full.json",
		judgement: judgement{Verdict: NotRun}}}
	judged[0].Experiment = "gantt"
	write("before\n" + pageBegin + "old\n" + pageEnd + "after\n")
	if err := writePage(name, judged); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	const want = "| Persia: It is fast | – | – | not run | [gantt](../experiments/persia/README.md#gantt) |\n"
	if page := string(text); err != nil || !strings.HasPrefix(page, "before\n"+pageBegin+"\n| claim") ||
		!strings.HasSuffix(page, "not run.\n\n"+pageEnd+"after\n") || !strings.Contains(page, want) ||
		strings.Contains(page, "old") {
		t.Errorf("%s, error %v", text, err)
	}
	write("no marks\n")
	if err := writePage(name, judged); err == nil || !strings.Contains(err.Error(), "the page has no marks") {
		t.Errorf("error %v", err)
	}
}
