package infer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/algo/exec/backend"
	"tandem/algo/exec/reference"
	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/datasets"
)

// openTable opens a table with the columns a, b and c of ids, x of numbers with some missing, and a label
// with the probability that a function says, of 4,000 rows, and returns its job. header names the columns.
func openTable(t *testing.T, header string, split job.Split,
	probability func(row, a, b, c int, x float64) float64) (job.Job, *datasets.Dataset) {
	t.Helper()
	r := rand.New(rand.NewPCG(5, 6))
	var text strings.Builder
	text.WriteString(header + "\n")
	for row := range 4000 {
		a, b, c, x, label := r.IntN(6), r.IntN(5), r.IntN(9), 3*r.Float64()-1.5, 0
		if r.Float64() < probability(row, a, b, c, x) {
			label = 1
		}
		number := fmt.Sprintf("%.2f", x)
		if r.IntN(20) == 0 {
			number = "NA"
		}
		fmt.Fprintf(&text, "%d,a%d,b%d,c%d,t%d|t%d,%s\n", label, a, b, c, r.IntN(4), r.IntN(4), number)
	}
	path := filepath.Join(t.TempDir(), "table.csv")
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	j, set, _, err := Open(Request{File: path, Split: split})
	if err != nil {
		t.Fatal(err)
	}
	j.Training.Epochs = EpochsToTry(set)
	return j, set
}

// usual are the columns of a table.
const usual = "label,a,b,c,tags,x"

// derive returns what Derive makes of a table.
func derive(t *testing.T, split job.Split, probability func(row, a, b, c int, x float64) float64) *Derived {
	t.Helper()
	j, set := openTable(t, usual, split, probability)
	d, err := Derive(t.Context(), j, set, reopen, Share(set), backend.Backend{})
	if err != nil {
		t.Fatal(err)
	}
	if j, err = Decide(t.Context(), j, set, backend.Backend{}); err != nil ||
		len(j.Data.Derived) != len(d.Job.Data.Derived) {
		t.Errorf("Decide derives %v, error %v", j.Data.Derived, err)
	}
	return d
}

// drawn is the default split of a table.
var drawn = job.Split{How: job.SplitRandom, Test: 0.2}

// namesOf returns the names of derived slots.
func namesOf(slots []job.DerivedSlot) (all []string) {
	for _, s := range slots {
		all = append(all, s.Name)
	}
	return all
}

// What no column says alone is derived: whether two ids are both odd or both even, a range of numbers, or
// ranges that differ by id. The regression is better for it, and the data have the slots.
func TestDerive(t *testing.T) {
	for _, c := range []struct {
		name        string
		probability func(row, a, b, c int, x float64) float64
		want        string
	}{
		{"two ids", func(_, a, b, _ int, _ float64) float64 { return 0.2 + 0.6*float64((a+b)%2) }, "a × b"},
		{"a range", func(_, _, _, _ int, x float64) float64 {
			if x > -0.5 && x < 0.5 {
				return 0.8
			}
			return 0.2
		}, "intervals of x"},
		{"ranges by id", func(_, a, _, _ int, x float64) float64 {
			if (x > 0) == (a < 3) {
				return 0.8
			}
			return 0.2
		}, "a × x"},
	} {
		d := derive(t, drawn, c.probability)
		if got := namesOf(d.Job.Data.Derived); !slices.Contains(got, c.want) {
			t.Errorf("%s: derived %v, want %s", c.name, got, c.want)
			continue
		}
		slots := d.Set.Schema.Slots
		if d.Choice != d.With || d.With.Best().LogLoss > d.Without.Best().LogLoss-0.05 ||
			slots[4].Name != d.Job.Data.Derived[0].Name {
			t.Errorf("%s: log loss %v with slots %v, %v without", c.name, d.With.Best().LogLoss, slots,
				d.Without.Best().LogLoss)
		}
		if d.Baseline.Data.Derived == nil || d.Job.Rows.Optimizer.Rate >= 0.5/4 {
			t.Errorf("%s: rate %v, the baseline has %v", c.name, d.Job.Rows.Optimizer.Rate,
				d.Baseline.Data.Derived)
		}
	}
}

// Labels that follow from single columns need no derived slots, and get none, also where positive rows weigh
// more, which moves all predictions.
func TestNothingIsDerivedFromNoise(t *testing.T) {
	d := derive(t, drawn, func(_, a, b, c int, x float64) float64 {
		return 0.1 + 0.05*float64(a) + 0.06*float64(b) + 0.02*float64(c) + 0.05*x
	})
	weighted := d.Job
	weighted.Model.Heads = slices.Clone(weighted.Model.Heads)
	weighted.Model.Heads[0].PositiveWeight = 10
	weighted.Model.Heads[0].Bias += math.Log(10)
	more, err := Derive(t.Context(), weighted, d.Set, reopen, Share(d.Set), backend.Backend{})
	if err != nil || len(d.Tried)+len(more.Tried) > 0 {
		t.Errorf("derived %v, and %v with weights, error %v", namesOf(d.Tried), namesOf(more.Tried), err)
	}
}

// Slots that are found in the rows before those held back, and mislead there, are not kept.
func TestSlotsThatPredictWorseAreNotKept(t *testing.T) {
	d := derive(t, job.Split{How: job.SplitLast, Test: 0.2}, func(row, a, b, _ int, _ float64) float64 {
		if row < 2400 {
			return 0.2 + 0.6*float64((a+b)%2)
		}
		return 0.8 - 0.6*float64((a+b)%2)
	})
	if len(d.Job.Data.Derived) > 0 || !slices.Contains(namesOf(d.Tried), "a × b") || d.Choice != d.Without ||
		!(d.With.Best().LogLoss > d.Without.Best().LogLoss) || len(d.Set.Schema.Slots) != 4 {
		t.Errorf("derived %v, tried %v", namesOf(d.Job.Data.Derived), namesOf(d.Tried))
	}
}

// parity is a label that follows from a and b together.
func parity(_, a, b, _ int, _ float64) float64 { return 0.2 + 0.6*float64((a+b)%2) }

// diverging is an engine whose weights begin with NaN.
type diverging struct{ model.Engine }

func (d diverging) Init(seed uint64) (params, running []float32) {
	params, running = d.Engine.Init(seed)
	for i := range params {
		params[i] = float32(math.NaN())
	}
	return params, running
}

// A search whose regression diverges on a part of the rows leaves the job as it was, and one that is stopped
// is an error.
func TestSearchThatFailsDerivesNothing(t *testing.T) {
	j, set := openTable(t, usual, drawn, parity)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	engines, inFold := 0, func() {}
	m := backend.Backend{Engine: func(schema *batch.Schema) (model.Engine, error) {
		regression := logistic(j)
		engine, err := backend.NewEngine(&regression, schema, backend.Backend{})
		if engines++; engines > 2 { // those of the choice are made
			inFold()
			engine = diverging{engine}
		}
		return engine, err
	}}
	engines = 2
	if _, err := outOfFold(ctx, logistic(j), set, m); !errors.Is(err, reference.ErrNonFinite) {
		t.Fatalf("a fold diverges: error %v", err)
	}
	engines = 0
	d, err := Derive(ctx, j, set, reopen, Share(set), m)
	if err != nil || engines != 3 || d.Choice == nil || d.Tried != nil || d.Set != set ||
		d.Job.Data.Derived != nil {
		t.Fatalf("%d engines, choice %v, tried %v, error %v", engines, d.Choice, d.Tried, err)
	}
	engines, inFold = 0, cancel
	if _, err := Derive(ctx, j, set, reopen, Share(set), m); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: error %v", err)
	}
}

// Columns may have the names that derived slots would have.
func TestDerivedSlotsHaveNamesOfTheirOwn(t *testing.T) {
	const header = "label,a,b,a × b,intervals of x,x"
	j, set := openTable(t, header, drawn, func(row, a, b, c int, x float64) float64 {
		return (parity(row, a, b, c, x) + math.Round(math.Abs(x)/1.5)) / 2
	})
	d, err := Derive(t.Context(), j, set, reopen, Share(set), backend.Backend{})
	if err != nil {
		t.Fatal(err)
	}
	got := namesOf(d.Job.Data.Derived)
	if !slices.Contains(got, "a × b (2)") || !slices.Contains(got, "intervals of x (2)") {
		t.Errorf("derived %q", got)
	}
	column := func(name string) job.DerivedColumn { return job.DerivedColumn{Column: name} }
	taken := names{}
	first, second := taken.slot(column("a × b"), column("c")), taken.slot(column("a"), column("b × c"))
	if first.Name != "a × b × c" || second.Name != "a × b × c (2)" {
		t.Errorf("names %q and %q", first.Name, second.Name)
	}
}

// A job that has derived slots keeps them alone.
func TestDerivedSlotsOfAJobAreKept(t *testing.T) {
	j, _ := openTable(t, usual, drawn, parity)
	j.Data.Derived = []job.DerivedSlot{{Name: "own", Columns: []job.DerivedColumn{{Column: "a"},
		{Column: "c"}}}}
	set, err := reopen(j.Data)
	if err != nil {
		t.Fatal(err)
	}
	d, err := Derive(t.Context(), j, set, reopen, Share(set), backend.Backend{})
	if err != nil || d.Choice == nil || d.Tried != nil ||
		!slices.Equal(namesOf(d.Job.Data.Derived), []string{"own"}) {
		t.Errorf("derived %q, tried %q, error %v", namesOf(d.Job.Data.Derived), namesOf(d.Tried), err)
	}
}

// The predictions that a search begins with know nothing of the labels of their own rows: of labels by lot,
// with three rows for each id, they are as good as a guess.
func TestPredictionsAreOutOfFold(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	var text strings.Builder
	text.WriteString("label,user\n")
	for row := range 3000 {
		fmt.Fprintf(&text, "%d,u%d\n", r.IntN(2), row/3)
	}
	path := filepath.Join(t.TempDir(), "table.csv")
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	j, set, _, err := Open(Request{File: path, Options: Options{IDs: []string{"user"}}, Split: drawn})
	if err != nil {
		t.Fatal(err)
	}
	predicted, err := outOfFold(t.Context(), logistic(j), set, backend.Backend{})
	if err != nil {
		t.Fatal(err)
	}
	if auc := metric.AUC(predicted, set.Train.Labels); auc > 0.55 {
		t.Errorf("AUC %.3f of labels by lot", auc)
	}
}

// Of very many columns, those that say most by themselves are combined.
func TestFewColumnsOfManyAreCombined(t *testing.T) {
	all, labels, predicted := columnsOf(1000)
	s := &columns{}
	for i := range searchColumns + 10 {
		c := all[3]
		if i == searchColumns+5 { // a column that says what the label is
			c = indexed{make([]int32, len(labels)), 2}
			for row, label := range labels {
				c.values[row] = int32(label)
			}
		}
		s.columns, s.from = append(s.columns, c), append(s.from, job.DerivedColumn{Column: fmt.Sprint(i)})
	}
	s.limit(newResiduals(predicted, labels, nil, 0))
	if len(s.columns) != searchColumns || s.from[0].Column != fmt.Sprint(searchColumns+5) {
		t.Errorf("%d columns, the first is %s", len(s.columns), s.from[0].Column)
	}
}

// Of very many columns of numbers, those whose intervals say most by themselves are divided.
func TestFewColumnsOfNumbersAreDivided(t *testing.T) {
	const columns, rows = searchColumns + 10, 500
	r := rand.New(rand.NewPCG(11, 12))
	part := &datasets.Dataset{Train: &batch.Batch{Samples: rows}}
	for c := range columns {
		part.Schema.Dense = append(part.Schema.Dense, fmt.Sprint(c))
		part.Scaling = append(part.Scaling, batch.Scaling{Std: 1})
	}
	labels := make([]float32, rows)
	for row := range rows {
		labels[row] = float32(r.IntN(2))
		for c := range columns {
			x := r.Float32()
			if c == columns-1 {
				x += labels[row] // the last column says what the label is
			}
			part.Train.Dense = append(part.Train.Dense, x)
		}
	}
	slots := intervalsOf(part, newResiduals(slices.Repeat([]float32{0.5}, rows), labels, nil, 0))
	if len(slots) != searchColumns || slots[0].Columns[0].Column != fmt.Sprint(columns-1) {
		t.Errorf("%d columns, the first is %q", len(slots), slots[0].Name)
	}
}
