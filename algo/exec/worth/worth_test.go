package worth_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"tandem/algo/exec/worth"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/kernel/nn"
	"tandem/algo/rng"
)

// rows returns rows with ids of two slots and a slot of both combined, two numbers, and the label that a
// model of weights predicts with noise.
func rows(n int) *batch.Batch {
	draw := rng.New(1, "rows")
	b := &batch.Batch{Samples: n, Slots: make([]batch.Jagged, 3)}
	for s := range b.Slots {
		b.Slots[s].Offsets = []int32{0}
	}
	for range n {
		user, item := draw.Uint64N(3), draw.Uint64N(4)
		for s, id := range []uint64{user, item, user*4 + item} {
			b.Slots[s].IDs = append(b.Slots[s].IDs, id)
			b.Slots[s].Offsets = append(b.Slots[s].Offsets, int32(len(b.Slots[s].IDs)))
		}
		b.Dense = append(b.Dense, float32(draw.NormFloat64()), float32(draw.IntN(2)))
	}
	p, _ := model(b)
	for i := range n {
		label := float32(0)
		if draw.Float32() < p[i] {
			label = 1
		}
		b.Labels = append(b.Labels, label)
	}
	return b
}

// model predicts by user, by the first number, and by the combination of user and item.
func model(b *batch.Batch) ([]float32, error) {
	out := make([]float32, b.Samples)
	for i := range out {
		z := float32(b.Slots[0].IDs[i]) - 1 + 2*b.Dense[2*i]
		if b.Slots[2].IDs[i]%5 == 0 {
			z++
		}
		out[i] = nn.Sigmoid(z)
	}
	return out, nil
}

var schema = batch.Schema{Slots: []batch.Slot{{Name: "user"}, {Name: "item"}, {Name: "user × item"}},
	Dense: []string{"age", "flag"}}

var derived = []job.DerivedSlot{{Name: "user × item",
	Columns: []job.DerivedColumn{{Column: "user"}, {Column: "item"}}}}

// A row keeps its values together: a derived slot moves with the column that is permuted, by the same order,
// and every column keeps its values.
func TestDerivedSlotsMoveWithTheirColumns(t *testing.T) {
	test := rows(300)
	sorted := func(ids []uint64) []uint64 { return slices.Sorted(slices.Values(ids)) }
	_, err := worth.Permute(context.Background(), func(b *batch.Batch) ([]float32, error) {
		users, items := true, true
		for i, pair := range b.Slots[2].IDs {
			users = users && pair/4 == b.Slots[0].IDs[i]
			items = items && pair%4 == b.Slots[1].IDs[i]
		}
		if !users && !items {
			t.Error("the pairs are neither those of the users nor those of the items")
		}
		for s := range b.Slots {
			if !slices.Equal(sorted(b.Slots[s].IDs), sorted(test.Slots[s].IDs)) {
				t.Errorf("slot %d has other ids than before", s)
			}
		}
		return model(b)
	}, test, worth.Features(&schema, &job.Data{Derived: derived}), 1)
	if err != nil {
		t.Fatal(err)
	}
}

func TestDerivedSlotsBelongToTheirColumns(t *testing.T) {
	intervals := job.DerivedSlot{Name: "age in intervals",
		Columns: []job.DerivedColumn{{Column: "age", Edges: []float64{1}}}}
	with := schema
	with.Slots = append(slices.Clone(schema.Slots), batch.Slot{Name: intervals.Name})
	with.Dense = append(slices.Clone(schema.Dense), "mean of item", "mean of pair")
	got := worth.Features(&with, &job.Data{Derived: append(slices.Clone(derived), intervals),
		Means: []string{"item", derived[0].Name}})
	want := []worth.Feature{{Name: "user", Slots: []int{0, 2}, Means: []int{3}},
		{Name: "item", Slots: []int{1, 2}, Means: []int{2, 3}},
		{Name: "age", Slots: []int{3}, Numbers: []int{0}}, {Name: "flag", Numbers: []int{1}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// Columns that the model does not read fall by exactly 0. An item counts only through the slot that is
// derived from it. The order is that of the weights.
func TestPermuteFindsWhatTheModelReads(t *testing.T) {
	test := rows(6000)
	features := worth.Features(&schema, &job.Data{Derived: derived})
	got, err := worth.Permute(context.Background(), model, test, features, 1)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range got.Falls {
		names = append(names, f.Columns...)
	}
	if !slices.Equal(names, []string{"age", "user", "item", "flag"}) {
		t.Errorf("in the order %v", names)
	}
	for _, f := range got.Falls[:3] {
		if f.Low <= 0 || f.High <= f.Estimate || f.High-f.Low > 0.1 {
			t.Errorf("%v falls by %+v", f.Columns, f.Interval)
		}
	}
	if flag := got.Falls[3]; flag.Estimate != 0 || flag.Low != 0 || flag.High != 0 {
		t.Errorf("a column that the model does not read falls by %+v", flag.Interval)
	}
	if got.Rows != 4000 || got.Positives < 1900 || got.Positives > 2100 {
		t.Errorf("%d rows, %d positive; half of them would be, as there are enough", got.Rows, got.Positives)
	}
	again, err := worth.Permute(context.Background(), model, test, features, 1)
	if err != nil || !reflect.DeepEqual(got, again) {
		t.Errorf("other figures with the same seed: %v", err)
	}
}

// The interval is that by the draw of rows and permutations: over draws of the rows, 95 % of the intervals
// would contain the mean fall of many. Of 40 intervals, 3 or fewer outside have the probability 0.86; 10 or
// more would have 0.00002.
func TestIntervalsOfFallsContainTheMeanFall(t *testing.T) {
	all := rows(40_000)
	features := worth.Features(&schema, &job.Data{Derived: derived})[:1]
	var falls []worth.Fall
	mean := 0.0
	for i := range 40 {
		part, err := worth.Permute(context.Background(), model, batch.Slice(all, i*1000, (i+1)*1000),
			features, uint64(i))
		if err != nil {
			t.Fatal(err)
		}
		falls = append(falls, part.Falls[0])
		mean += part.Falls[0].Estimate / 40
	}
	outside := 0
	for _, f := range falls {
		if mean < f.Low || mean > f.High {
			outside++
		}
	}
	if outside > 9 {
		t.Errorf("%d of 40 intervals do not contain %v", outside, mean)
	}
}

// Of 1,000 columns, the one that matters is found by dividing groups, with at most 100 falls measured; every
// column is in one group.
func TestWideTablesAreDivided(t *testing.T) {
	const columns, rowsWide = 1000, 800
	draw := rng.New(2, "wide")
	b := &batch.Batch{Samples: rowsWide, Dense: make([]float32, columns*rowsWide)}
	for i := range b.Dense {
		b.Dense[i] = draw.Float32()
	}
	var features []worth.Feature
	for i := range columns {
		features = append(features, worth.Feature{Name: fmt.Sprint(i), Numbers: []int{i}})
	}
	for i := range rowsWide {
		b.Labels = append(b.Labels, float32(math.Round(float64(b.Dense[i*columns+567]))))
	}
	calls := 0
	got, err := worth.Permute(context.Background(), func(b *batch.Batch) ([]float32, error) {
		calls++
		out := make([]float32, b.Samples)
		for i := range out {
			out[i] = b.Dense[i*columns+567]
		}
		return out, nil
	}, b, features, 1)
	if err != nil {
		t.Fatal(err)
	}
	first := got.Falls[0].Columns
	if len(first) != 1 || first[0] != "567" || calls > 301 || got.Rows != 500 {
		t.Errorf("first is %v after %d predictions of %d rows", first, calls, got.Rows)
	}
	seen := map[string]bool{}
	for _, f := range got.Falls {
		for _, name := range f.Columns {
			if seen[name] {
				t.Fatalf("column %s is in two groups", name)
			}
			seen[name] = true
		}
	}
	if len(seen) != columns {
		t.Errorf("%d columns, want %d", len(seen), columns)
	}
}

func TestPermuteWithoutAUC(t *testing.T) {
	b := rows(50)
	clear(b.Labels)
	features := worth.Features(&schema, &job.Data{})
	if got, err := worth.Permute(context.Background(), model, b, features, 1); got != nil || err != nil {
		t.Errorf("%+v, %v of rows of one class", got, err)
	}
	failed := errors.New("failed")
	fail := func(*batch.Batch) ([]float32, error) { return nil, failed }
	if _, err := worth.Permute(context.Background(), fail, rows(50), features, 1); !errors.Is(err, failed) {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(failed)
	if _, err := worth.Permute(ctx, model, rows(50), features, 1); !errors.Is(err, failed) {
		t.Errorf("error %v of a context that has ended", err)
	}
}

// Slices cover all rows, by the values of an id or a number; columns with one value, many, or lists have
// none.
func TestByValue(t *testing.T) {
	b := rows(3000)
	predicted, _ := model(b)
	for _, c := range []struct {
		feature worth.Feature
		values  int
	}{
		{worth.Feature{Slots: []int{0, 2}}, 3}, {worth.Feature{Slots: []int{2}}, 12},
		{worth.Feature{Numbers: []int{1}}, 2}, {worth.Feature{Numbers: []int{0}}, 0},
	} {
		got := worth.ByValue(predicted, b.Labels, b, c.feature)
		count := 0
		for i, s := range got {
			count += s.Rows
			if i > 0 && s.Rows > got[i-1].Rows {
				t.Errorf("%+v: the slices are not in the order of their rows", c.feature)
			}
			if s.AUC == nil || !(s.AUC.Low < s.AUC.Estimate && s.AUC.Estimate < s.AUC.High) {
				t.Errorf("%+v: AUC %v", c.feature, s.AUC)
			}
			want := 0
			for row := range b.Samples {
				if c.feature.Slots != nil && b.Slots[c.feature.Slots[0]].IDs[row] == s.ID ||
					c.feature.Numbers != nil && b.Dense[2*row+1] == s.Number {
					want++
				}
			}
			if s.Rows != want {
				t.Errorf("%+v: %d rows of value %d %v, want %d", c.feature, s.Rows, s.ID, s.Number, want)
			}
		}
		if len(got) != c.values || c.values > 0 && count != b.Samples {
			t.Errorf("%+v: %d slices of %d rows, want %d of all", c.feature, len(got), count, c.values)
		}
	}
	b.Slots[0].Offsets[1] = 0 // the first row has no id, the second two
	if worth.ByValue(predicted, b.Labels, b, worth.Feature{Slots: []int{0}}) != nil {
		t.Error("lists have slices")
	}
}

// Parts have an AUC where each class has ten rows.
func TestInOrder(t *testing.T) {
	predicted, labels := []float32{0.25, 0.75, 0.5}, []float32{0, 1, 0}
	for i := range 40 {
		predicted, labels = append(predicted, float32(i)/40), append(labels, float32(i/20))
	}
	got := worth.InOrder(predicted[:7], labels[:7], 2)
	if len(got) != 2 || got[0].Rows != 3 || got[1].Rows != 4 || got[0].Positives != 1 ||
		got[0].Predicted != 0.5 || got[0].AUC != nil || got[1].AUC != nil {
		t.Errorf("%+v", got)
	}
	whole := worth.InOrder(predicted[3:], labels[3:], 1)
	if whole[0].AUC == nil || whole[0].AUC.Estimate != 1 {
		t.Errorf("%+v", whole)
	}
	if few := worth.InOrder(predicted[3:32], labels[3:32], 1); few[0].AUC != nil {
		t.Errorf("nine rows of a class have the AUC %v", few[0].AUC)
	}
	if len(worth.InOrder(labels[:7], labels[:7], 10)) != 7 {
		t.Error("more parts than rows")
	}
}
