package infer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
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

// derive returns the variants of a table, the one that is chosen, and its job.
func derive(t *testing.T, split job.Split, probability func(row, a, b, c int, x float64) float64) (
	all []*Variant, best *Variant, chosen job.Job) {
	t.Helper()
	j, set := openTable(t, usual, split, probability)
	all, err := Derive(t.Context(), j, set, reopen, Share(set), backend.Backend{})
	if err == nil {
		err = TryNetworks(t.Context(), all, Share(set), true, backend.Backend{})
	}
	if err != nil {
		t.Fatal(err)
	}
	best, _, chosen = Choose(all, true)
	if j, err = Decide(t.Context(), j, set, backend.Backend{}); err != nil || !reflect.DeepEqual(j, chosen) {
		t.Errorf("Decide has chosen %+v, want %+v; error %v", j, chosen, err)
	}
	return all, best, chosen
}

// slotsOf returns the names of the slots of a data set.
func slotsOf(set *datasets.Dataset) (names []string) {
	for _, s := range set.Schema.Slots {
		names = append(names, s.Name)
	}
	return names
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
		all, _, _ := derive(t, drawn, c.probability)
		if len(all) < 2 || !slices.Contains(namesOf(all[1].Job.Data.Derived), c.want) {
			t.Errorf("%s: %d variants, want %s", c.name, len(all), c.want)
			continue
		}
		given, d := all[0], all[1]
		slots := d.Set.Schema.Slots
		if d.Regression.Best().LogLoss > given.Regression.Best().LogLoss-0.05 ||
			slots[4].Name != d.Job.Data.Derived[0].Name {
			t.Errorf("%s: log loss %v with slots %v, %v without", c.name, d.Regression.Best().LogLoss, slots,
				given.Regression.Best().LogLoss)
		}
		if d.Baseline.Data.Derived == nil || d.Job.Rows.Optimizer.Rate >= 0.5/4 {
			t.Errorf("%s: rate %v, the baseline has %v", c.name, d.Job.Rows.Optimizer.Rate,
				d.Baseline.Data.Derived)
		}
		pairs := 0
		for _, s := range d.Job.Data.Derived { // pairs are wide, intervals of numbers are not
			if len(s.Columns) == 2 {
				pairs++
			}
			if slices.Contains(d.Job.Model.Wide, s.Name) != (len(s.Columns) == 2) {
				t.Errorf("%s: of %q, %q are wide", c.name, s.Name, d.Job.Model.Wide)
			}
		}
		if pairs > 0 && (len(all) != 4 || all[2].Job.Model.Wide != nil || all[2].Set != d.Set) {
			t.Errorf("%s: %d variants, want a third one without wide slots", c.name, len(all))
		}
		if last := all[len(all)-1]; !slices.Equal(last.Job.Data.Means, slotsOf(d.Set)) ||
			!slices.Equal(last.Baseline.Data.Means, slotsOf(d.Set)) ||
			!slices.Equal(last.Job.Model.Wide, d.Job.Model.Wide) || last.Regression == d.Regression {
			t.Errorf("%s: the last variant has means of %q", c.name, last.Job.Data.Means)
		}
	}
}

// Labels that follow from single columns need no derived slots, and get none, also where positive rows weigh
// more, which moves all predictions.
func TestNothingIsDerivedFromNoise(t *testing.T) {
	all, d, _ := derive(t, drawn, func(_, a, b, c int, x float64) float64 {
		return 0.1 + 0.05*float64(a) + 0.06*float64(b) + 0.02*float64(c) + 0.05*x
	})
	weighted := d.Job
	weighted.Model.Heads = slices.Clone(weighted.Model.Heads)
	weighted.Model.Heads[0].PositiveWeight = 10
	weighted.Model.Heads[0].Bias += math.Log(10)
	more, err := Derive(t.Context(), weighted, d.Set, reopen, Share(d.Set), backend.Backend{})
	if err != nil || len(all) != 2 || len(more) != 2 || all[1].Job.Data.Derived != nil ||
		!slices.Equal(all[1].Job.Data.Means, slotsOf(all[0].Set)) {
		t.Errorf("%d variants, and %d with weights, error %v", len(all), len(more), err)
	}
}

// Slots that are found in the rows before those held back, and mislead there, are not kept.
func TestSlotsThatPredictWorseAreNotKept(t *testing.T) {
	latest := job.Split{How: job.SplitLast, Test: 0.2}
	all, best, j := derive(t, latest, func(row, a, b, _ int, _ float64) float64 {
		if row < 2400 {
			return 0.2 + 0.6*float64((a+b)%2)
		}
		return 0.8 - 0.6*float64((a+b)%2)
	})
	if len(all) < 2 || !slices.Contains(namesOf(all[1].Job.Data.Derived), "a × b") || best != all[0] ||
		len(j.Data.Derived) > 0 || len(j.Model.Wide) > 0 || len(best.Set.Schema.Slots) != 4 {
		t.Errorf("%d variants, chosen is %v", len(all), namesOf(j.Data.Derived))
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
	all, err := Derive(ctx, j, set, reopen, Share(set), m)
	if err != nil || engines != 4 || len(all) != 1 || all[0].Regression == nil || all[0].Set != set ||
		all[0].Job.Data.Derived != nil {
		t.Fatalf("%d engines, %d variants, error %v", engines, len(all), err)
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
	all, err := Derive(t.Context(), j, set, reopen, Share(set), backend.Backend{})
	if err != nil || len(all) < 2 {
		t.Fatalf("%d variants, error %v", len(all), err)
	}
	got := namesOf(all[1].Job.Data.Derived)
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
	all, err := Derive(t.Context(), j, set, reopen, Share(set), backend.Backend{})
	if err != nil || len(all) != 1 || all[0].Regression == nil ||
		!slices.Equal(namesOf(all[0].Job.Data.Derived), []string{"own"}) {
		t.Errorf("%d variants, error %v", len(all), err)
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

// Of few rows, of which a fold may have one or none, each is predicted.
func TestEachOfFewRowsIsPredicted(t *testing.T) {
	for _, rows := range []int{20, 40} {
		var text strings.Builder
		text.WriteString("label,user\n")
		for row := range rows {
			fmt.Fprintf(&text, "%d,u%d\n", row%2, row%3)
		}
		j, set, _, err := Open(Request{File: file(t, text.String()), Options: Options{IDs: []string{"user"}},
			Split: drawn})
		if err != nil {
			t.Fatal(err)
		}
		whole := batch.NewGatherer(set.Train)
		for n := int32(2); n <= 8; n++ {
			var few []int32
			for row := range n {
				few = append(few, row)
			}
			part := *set
			part.Train = whole.Rows(few)
			predicted, err := outOfFold(t.Context(), logistic(j), &part, backend.Backend{})
			if err != nil {
				t.Fatalf("%d rows: %v", n, err)
			}
			for row, p := range predicted {
				if !(p > 0 && p < 1) {
					t.Errorf("row %d of %d is predicted as %v", row, n, p)
				}
			}
		}
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

// A variant with weights alone has them for the slots of pairs, in place of those that it had; without pairs,
// or another network, there is none.
func TestWideVariants(t *testing.T) {
	slot := func(name string, columns int) job.DerivedSlot {
		return job.DerivedSlot{Name: name, Columns: make([]job.DerivedColumn, columns)}
	}
	for _, c := range []struct {
		kind    string
		derived []job.DerivedSlot
		want    []string
	}{
		{model.DeepFM, []job.DerivedSlot{slot("x", 1), slot("a × b", 2), slot("a × b × c", 3)},
			[]string{"a × b", "a × b × c"}},
		{model.DeepFM, []job.DerivedSlot{slot("x", 1)}, nil}, {model.DeepFM, nil, nil},
		{model.DLRM, []job.DerivedSlot{slot("a × b", 2)}, nil},
	} {
		before := &Variant{}
		before.Job.Model.Kind, before.Job.Data.Derived = c.kind, c.derived
		before.Job.Model.Wide = []string{"old"}
		var got []string
		if v := before.wide(); v != nil {
			got = v.Job.Model.Wide
		}
		if !slices.Equal(got, c.want) || !slices.Equal(before.Job.Model.Wide, []string{"old"}) {
			t.Errorf("%s of %v: %q, want %q, of what had %q", c.kind, c.derived, got, c.want,
				before.Job.Model.Wide)
		}
	}
}
