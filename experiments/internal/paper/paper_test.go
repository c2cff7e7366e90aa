package paper

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/experiments/internal/report"
	"tandem/sim/predict"
)

// smallPlan returns a plan of three cases on two GPUs.
func smallPlan() *Plan {
	choice := func(mode string) Choice {
		return Choice{Preset: "persia-paper", Model: "criteo", Mode: mode, GPUs: 2}
	}
	return &Plan{Samples: 8, Seeds: 2, Cases: []Case{
		{Name: "hybrid", Choice: choice(job.Hybrid)}, {Name: "sync", Choice: choice(job.Sync)},
		{Name: "slow", Choice: choice(job.AsyncPS), MiddleOnly: true},
	}, Claims: []Claim{
		{What: "rate", Of: "hybrid", Unit: Kilo, Figure: Digitised(50, 1)},
		{What: "far off", Of: "hybrid", Unit: Mega, Figure: Printed(99, 1), Null: 2},
		{What: "ratio", Of: "hybrid", Over: "sync", Unit: Fold, Figure: DigitisedRatio(4, 2, 1),
			Name: "hybrid-over-sync"},
		{What: "each GPU", Of: "hybrid", Unit: Kilo, Figure: Digitised(50, 1).Over(2), PerGPU: true,
			Name: "each"},
		{What: "spread", Spread: []string{"sync", "hybrid"}, Unit: Fold, Figure: Digitised(1.5, 1)},
		{What: "without", Of: "slow", Over: "sync", Unit: Fold, Figure: Digitised(1, 1), Name: "without"},
		{What: "source", Of: "sync", Unit: Kilo, Figure: Digitised(1, 1), Input: true},
	}, Totals: nil, Causes: []Cause{{
		What: "hybrid ÷ sync", Of: "hybrid", Over: "sync", Target: 1.5,
		Names: []string{"embedding-workers.core-speed"},
	}}}
}

// A figure at an end of an interval is inside. An interval that misses it is outside, however wide it is.
func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      Verdict
	}{
		{8, 12, Inside}, {10.5, 12, Inside}, {10.6, 12, Outside}, {8, 9.5, Inside}, {8, 9.4, Outside},
		{5, 12.5, Inside}, {5, 12.6, NotIdentifiable}, {11, 100, Outside}, {math.NaN(), 1, NoInterval},
	} {
		f := Digitised(10, 0.5)
		if got := Judge(f, c.low, c.high); got != c.want {
			t.Errorf("%v to %v: %s, want %s", c.low, c.high, got, c.want)
		}
	}
	f := Printed(2.6, 0.1)
	if got := Judge(f, 0, 0); got != NoInterval {
		t.Errorf("without an interval: %s", got)
	}
	if math.Abs(f.Low-2.55) > 1e-12 || math.Abs(f.High-2.65) > 1e-12 {
		t.Errorf("2.6, printed, is %+v", f)
	}
	if f := DigitisedRatio(4, 2, 1); f.Value != 2 || f.Low != 1 || f.High != 5 {
		t.Errorf("4±1 ÷ 2±1 is %+v", f)
	}
}

// Every claim is compared with what its cases give: rates in its unit, ratios point by point, the spread of
// several cases.
func TestMeasure(t *testing.T) {
	p := smallPlan()
	r, err := p.Measure(t.Context(), report.Options{})
	if err != nil {
		t.Fatal(err)
	}
	hybrid, sync := r.Of["hybrid"], r.Of["sync"]
	byName := map[string]*Comparison{}
	for i := range r.Comparisons {
		byName[r.Comparisons[i].What] = &r.Comparisons[i]
	}
	rate, ratio := byName["rate"], byName["ratio"]
	if rate.Middle != hybrid.Mid.Throughput/1e3 ||
		math.Abs(rate.Low/(hybrid.Interval.Low/1e3)-1) > 1e-12 || rate.Effects != nil {
		t.Errorf("%+v, want %+v in thousands", rate, hybrid.Interval)
	}
	if want := predict.Ratio(hybrid, sync); ratio.Low != want.Low || ratio.High != want.High ||
		ratio.Middle != hybrid.Mid.Throughput/sync.Mid.Throughput {
		t.Errorf("%+v, want %+v", ratio, want)
	}
	if s := byName["spread"]; s.Middle != ratio.Middle || s.Low < 1 {
		t.Errorf("%+v, want the ratio, %v, for hybrid is faster", s, ratio.Middle)
	}
	for what, want := range map[string]Verdict{"far off": Outside, "without": NoInterval, "source": IsInput} {
		if got := byName[what].Verdict; got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	if each := byName["each GPU"]; each.Middle != rate.Middle/2 || each.Low != rate.Low/2 {
		t.Errorf("%+v, want half of %+v", each, rate)
	}
	if c := r.Causes[0]; c.Now != ratio.Middle || len(c.Causes) != 1 {
		t.Errorf("causes %+v", c)
	}
	var text strings.Builder
	out := p.Report(&r.Results)
	if err := out.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	checkQuantities(t, out.Quantities, byName)
	for _, want := range []string{"Of 7 figures", "Outside: far off: the paper has 99.0 M samples/s",
		r.Inputs.Hash, "Only 8 points", "What alone would make hybrid ÷ sync 1.5"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, &text)
		}
	}
}

// checkQuantities checks that the claims with a name are quantities, with the interval over unknown inputs
// where there is one.
func checkQuantities(t *testing.T, got []report.Quantity, comparisons map[string]*Comparison) {
	t.Helper()
	want := []report.Quantity{
		{Name: "hybrid-over-sync", What: "ratio, ×", Over: report.OverUnknowns},
		{Name: "each", What: "each GPU, k samples/s", Over: report.OverUnknowns},
		{Name: "without", What: "without, ×", Over: report.OverNothing},
	}
	for i, what := range []string{"ratio", "each GPU", "without"} {
		c := comparisons[what]
		want[i].Interval = metric.Interval{Estimate: c.Middle, Low: c.Low, High: c.High}
	}
	want[2].Low, want[2].High = want[2].Estimate, want[2].Estimate
	if !slices.Equal(got, want) {
		t.Errorf("quantities %+v, want %+v", got, want)
	}
}

// Wide ratios are counted by the input that explains most of each; rates are not counted.
func TestWidths(t *testing.T) {
	one := func(unit Unit, high float64, input string) Comparison {
		return Comparison{Claim: Claim{Unit: unit}, Low: 1, High: high,
			Effects: []predict.Effect{{Name: input}}}
	}
	list := []Comparison{one(Fold, 3, "b"), one(Part, 2.1, "a"), one(Fold, 2, "c"),
		one(Kilo, 9, "d"), one(Fold, 4, "a"), {Claim: Claim{Unit: Fold}, Middle: 1}}
	const want = "Ratios with an interval narrower than a factor 2: 1 of 4. The input that explains most " +
		"of the wider ones: a (2), b (1)."
	if got := widths(list); len(got) != 1 || got[0] != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Names are counted, the most frequent first.
func TestCounted(t *testing.T) {
	if got := Counted([]string{"a", "b", "b"}); got != "b (2), a (1)" {
		t.Errorf("%q", got)
	}
}

// The hash changes with every input, and stored results are of the inputs in the tree.
func TestStoredResultsAreOfTheSameInputs(t *testing.T) {
	p := smallPlan()
	inputs, err := p.Freeze()
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range inputs.List {
		if in.Source == "" || in.Kind == "" {
			t.Errorf("input without source or kind: %+v", in)
		}
	}
	path := filepath.Join(t.TempDir(), "stored.json")
	text, err := json.MarshalIndent(map[string]any{"data": Results{Inputs: inputs}}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := p.CheckStored(path, "again"); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(c *Choice){
		"GPUs":      func(c *Choice) { c.GPUs = 4 },
		"rows":      func(c *Choice) { c.Rows = "fp16" },
		"products":  func(c *Choice) { c.Products = "half" },
		"parameter": func(c *Choice) { c.Set = map[string]string{"embedding-ps.count": "10"} },
	} {
		other := smallPlan()
		change(&other.Cases[0].Choice)
		if err := other.CheckStored(path, "again"); err == nil || !strings.Contains(err.Error(), "again") {
			t.Errorf("%s changed: error %v", name, err)
		}
	}
}
