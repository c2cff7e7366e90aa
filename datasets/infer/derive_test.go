package infer

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/algo/exec/backend"
	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/algo/numeric/batch"
	"tandem/datasets"
)

// derive writes a table with the columns a, b and c of ids, x of numbers with some missing, and a label with
// the probability that a function says, of 4,000 rows. It returns what Derive makes of it.
func derive(t *testing.T, split job.Split, probability func(row, a, b, c int, x float64) float64) *Derived {
	t.Helper()
	r := rand.New(rand.NewPCG(5, 6))
	var text strings.Builder
	text.WriteString("label,a,b,c,tags,x\n")
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

// names returns the names of derived slots.
func names(slots []job.DerivedSlot) (all []string) {
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
		if got := names(d.Job.Data.Derived); !slices.Contains(got, c.want) {
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
		t.Errorf("derived %v, and %v with weights, error %v", names(d.Tried), names(more.Tried), err)
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
	if len(d.Job.Data.Derived) > 0 || !slices.Contains(names(d.Tried), "a × b") || d.Choice != d.Without ||
		!(d.With.Best().LogLoss > d.Without.Best().LogLoss) || len(d.Set.Schema.Slots) != 4 {
		t.Errorf("derived %v, tried %v", names(d.Job.Data.Derived), names(d.Tried))
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
	s.limit(newResiduals(predicted, labels))
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
	slots := intervalsOf(part, newResiduals(slices.Repeat([]float32{0.5}, rows), labels))
	if len(slots) != searchColumns || slots[0].Columns[0].Column != fmt.Sprint(columns-1) {
		t.Errorf("%d columns, the first is %q", len(slots), slots[0].Name)
	}
}
