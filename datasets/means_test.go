package datasets

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/rng"
)

// meansTable returns a table of 400 rows with two columns of ids, a list, a number, soft labels and weights,
// and means of a column, the list and a pair. change may change the label of a row.
func meansTable(t *testing.T, split job.Split, change func(row int, label float64) float64) job.Data {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	var text strings.Builder
	text.WriteString("user,tags,price,share,weight\n")
	for row := range 400 {
		label := float64(r.IntN(5)) / 4
		if change != nil {
			label = change(row, label)
		}
		fmt.Fprintf(&text, "u%d,%s,%d,%v,%d\n", r.IntN(60), []string{"x", "x|y", "y|x|z", ""}[r.IntN(4)],
			r.IntN(9), label, 1+r.IntN(3))
	}
	path := filepath.Join(t.TempDir(), "table.csv")
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return job.Data{Kind: job.KindCSV, Path: path, Split: split,
		CSV: &job.Table{Label: "share", LabelValues: job.ShareLabels, Weight: "weight",
			Numeric: []string{"price"},
			Slots:   []job.IDColumn{{Column: "user"}, {Column: "tags", Separator: "|"}}},
		Derived: []job.DerivedSlot{{Name: "both", Columns: []job.DerivedColumn{{Column: "user"},
			{Column: "tags"}}}},
		Means: []string{"user", "tags", "both"}}
}

func openMeans(t *testing.T, data job.Data) *Dataset {
	t.Helper()
	set, err := Open(data, "")
	if err != nil {
		t.Fatal(err)
	}
	return set
}

var lastRows = job.Split{How: job.SplitLast, Test: 0.25}

// logOddsOf is what the comment of job.Data.Means says, by plain loops over rows that count.
func logOddsOf(b *batch.Batch, slot int, id uint64, counts func(row int) bool) float64 {
	labels, weights, own, ownWeights := 0.5, 1.0, 0.0, 0.0
	for row := range b.Samples {
		if !counts(row) {
			continue
		}
		w, y := float64(b.Weights[row]), float64(b.Labels[row])
		labels, weights = labels+w*y, weights+w
		for _, other := range b.Slots[slot].SampleIDs(row) {
			if other == id {
				own, ownWeights = own+w*y, ownWeights+w
			}
		}
	}
	m := labels / weights
	p := (own + 1/(1-m)) / (ownWeights + 1/(m*(1-m)))
	return math.Log(p/(1-p)) - math.Log(m/(1-m))
}

// The numbers of test rows are the log odds of all training rows, those of a training row are of the other
// folds, lists have the mean of theirs, and an unknown id counts as the mean of all rows.
func TestMeans(t *testing.T) {
	set := openMeans(t, meansTable(t, lastRows, nil))
	if want := []string{"price", "mean of user", "mean of tags", "mean of both"}; !slices.Equal(
		set.Schema.Dense, want) || len(set.Scaling) != 4 {
		t.Fatalf("numbers %q with the scaling of %d", set.Schema.Dense, len(set.Scaling))
	}
	train := set.Train
	fold := func(row int) int { return int(10 * float64(rng.Unit(rng.Key(1, "folds of means"), row))) }
	for part, rows := range []*batch.Batch{train, set.Test} {
		unknown := 0
		for row := range rows.Samples {
			for c := range 3 {
				want, ids := 0.0, rows.Slots[c].SampleIDs(row)
				for _, id := range ids {
					odds := logOddsOf(train, c, id, func(other int) bool {
						return part == 1 || fold(other) != fold(row)
					})
					if !slices.Contains(train.Slots[c].IDs, id) {
						unknown++
						odds = 0
					}
					want += odds / float64(len(ids))
				}
				s := set.Scaling[1+c]
				got := float64(rows.Dense[row*4+1+c])
				if want = (want - s.Mean) / s.Std; math.Abs(got-want) > 1e-4 {
					t.Fatalf("part %d, row %d, column %d: %v, want %v", part, row, c, got, want)
				}
			}
		}
		if (part == 1) != (unknown > 0) {
			t.Errorf("part %d: %d unknown ids", part, unknown)
		}
	}
}

// numbersOfMeans returns the numbers of the training rows, not standardised, column by column.
func numbersOfMeans(set *Dataset) [][]float32 {
	numbers, _ := set.means.measure(set.Train)
	return numbers
}

// The label of a training row changes the numbers of other rows, but none of its own.
func TestNoLabelEntersItsOwnMean(t *testing.T) {
	before := numbersOfMeans(openMeans(t, meansTable(t, lastRows, nil)))
	for changed := 0; changed < 300; changed += 7 {
		after := numbersOfMeans(openMeans(t, meansTable(t, lastRows, func(row int, label float64) float64 {
			if row == changed {
				return 1 - label + 0.25*float64(row%3)*label
			}
			return label
		})))
		others := 0
		for c := range before {
			if before[c][changed] != after[c][changed] {
				t.Fatalf("row %d, column %d: %v, with another label %v", changed, c, before[c][changed],
					after[c][changed])
			}
			for row := range before[c] {
				if before[c][row] != after[c][row] {
					others++
				}
			}
		}
		if others == 0 && changed%3 != 0 {
			t.Fatalf("row %d: its label changes no number at all", changed)
		}
	}
}

// Labels of test rows enter no number, nor do those of rows that are held back, whose numbers are those of
// the rows that remain.
func TestLabelsOfTestRowsEnterNoMean(t *testing.T) {
	turned := func(from int) func(int, float64) float64 {
		return func(row int, label float64) float64 {
			if row >= from {
				return 1 - label
			}
			return label
		}
	}
	equal := func(what string, a, b *Dataset) {
		t.Helper()
		if !slices.Equal(a.Train.Dense, b.Train.Dense) || !slices.Equal(a.Test.Dense, b.Test.Dense) ||
			!slices.Equal(a.Scaling[1:], b.Scaling[1:]) {
			t.Errorf("%s: labels change numbers", what)
		}
	}
	set := openMeans(t, meansTable(t, lastRows, nil))
	equal("test rows", set, openMeans(t, meansTable(t, lastRows, turned(300))))
	held := func(set *Dataset, latest bool) *Dataset {
		part, err := set.HoldBack(0.2, latest, 1, 250)
		if err != nil {
			t.Fatal(err)
		}
		return part
	}
	whole := slices.Clone(set.Train.Dense)
	equal("the latest rows", held(set, true), held(openMeans(t, meansTable(t, lastRows, turned(200))), true))
	drawn := held(set, false)
	for i := range drawn.Test.Labels { // of the same rows in a data set that is read again
		drawn.Test.Labels[i] = 1 - drawn.Test.Labels[i]
	}
	before := slices.Clone(drawn.Test.Dense)
	drawn.measureMeans()
	if !slices.Equal(before, drawn.Test.Dense) {
		t.Error("drawn rows: labels change numbers")
	}
	if !slices.Equal(whole, set.Train.Dense) {
		t.Error("holding rows back changes the data set")
	}
	if other := held(set, true); slices.Equal(other.Train.Dense, whole[:len(other.Train.Dense)]) {
		t.Error("the numbers of the part are those of all rows")
	}
}

// Rows for a prediction have the numbers of test rows, from a file and from a request, and WithMeans adds
// what Open reads.
func TestFeaturesHaveMeans(t *testing.T) {
	data := meansTable(t, lastRows, nil)
	set := openMeans(t, data)
	from := 0
	err := ReadFeatures(data, set.Scaling, data.Path, func(b *batch.Batch, _ float64) error {
		for row := range b.Samples {
			if test := from + row - 300; test >= 0 && !slices.Equal(b.Dense[row*4:][:4],
				set.Test.Dense[test*4:][:4]) {
				t.Errorf("test row %d: %v", test, b.Dense[row*4:][:4])
			}
		}
		from += b.Samples
		return nil
	})
	if err != nil || from != 400 {
		t.Fatalf("%d rows, error %v", from, err)
	}
	b, err := FeatureRows(data, set.Scaling, Features{
		IDs: [][]string{{"u1", "u999"}, {"y|x", ""}}, Numbers: [][]float32{{3, 4}}})
	if err != nil {
		t.Fatal(err)
	}
	user := func(id uint64) float64 { return logOddsOf(set.Train, 0, id, func(int) bool { return true }) }
	for row, want := range []float64{user(CategoryID("u1")), 0} {
		s := set.Scaling[1]
		if got := float64(b.Dense[row*4+1])*s.Std + s.Mean; math.Abs(got-want) > 1e-5 {
			t.Errorf("row %d of a request: %v, want %v", row, got, want)
		}
	}
	without := data
	without.Means = nil
	more, err := openMeans(t, without).WithMeans(data.Means)
	if err != nil || !slices.Equal(more.Train.Dense, set.Train.Dense) ||
		!slices.Equal(more.Test.Dense, set.Test.Dense) || !slices.Equal(more.Scaling, set.Scaling) {
		t.Errorf("other numbers than of a job with means: %v", err)
	}
}

// Of more ids than the tables may have, the rarest count as unknown, also in training rows.
func TestRareIDsCountAsUnknown(t *testing.T) {
	column := countedIDs{counts: slices.Concat(slices.Repeat([]int32{1}, meansMost), []int32{2, 3})}
	if least := leastCount([]countedIDs{column}); least != 2 {
		t.Errorf("ids count from %d on, want 2", least)
	}
	column.counts = column.counts[2:]
	if least := leastCount([]countedIDs{column}); least != 1 {
		t.Errorf("ids count from %d on, want 1, as all of them may", least)
	}
	slot := batch.Jagged{Offsets: []int32{0, 1, 2, 3, 4, 5, 6, 7}, IDs: []uint64{5, 5, 5, 6, 6, 6, 6}}
	counted := countIDs(&slot)
	folds := newFolds(&batch.Batch{Samples: 7, Labels: []float32{1, 1, 1, 0, 1, 0, 0}})
	numbers, table := counted.measure(&slot, folds, 4)
	if numbers[0] != 0 || numbers[1] != 0 || numbers[2] != 0 || numbers[3] == 0 ||
		table.Len() != 1 || table.Of(5) != 0 || table.Of(6) == 0 {
		t.Errorf("numbers %v, %d ids", numbers, table.Len())
	}
}

// What cannot have means is refused with what to do.
func TestMeansThatAreRefused(t *testing.T) {
	for want, change := range map[string]func(*job.Data){
		`means[1]: no slot "tag": the data have user, tags, both`: func(d *job.Data) { d.Means[1] = "tag" },
		`means[2]: "user" is there twice`:                         func(d *job.Data) { d.Means[2] = "user" },
		"means: not with stream": func(d *job.Data) {
			d.Stream = true
		},
		"means: not with labels that are numbers": func(d *job.Data) { d.CSV.LabelValues = job.NumberLabels },
		`means[0]: "mean of user" is a column of the data already`: func(d *job.Data) {
			d.Derived[0].Name = "mean of user"
			d.Means = d.Means[:1]
		},
	} {
		data := meansTable(t, lastRows, nil)
		change(&data)
		if _, err := Open(data, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}
