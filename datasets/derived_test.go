package datasets

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/rng"
)

// derivedTable returns a table of ids, a list and a number, and what its derived slots combine.
func derivedTable(t *testing.T) job.Data {
	path := filepath.Join(t.TempDir(), "clicks.csv")
	text := "user,tags,price,click\nanna,x|y,1,0\nben,x,2.5,1\nanna,y,2.4,0\n" +
		"ben,,NA,1\nanna,x,9,1\nben,x,-3,0\n"
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return job.Data{Kind: job.KindCSV, Path: path, Split: job.Split{Test: 0.5},
		CSV: &job.Table{Label: "click", Numeric: []string{"price"}, Missing: []string{"NA"},
			Slots: []job.IDColumn{{Column: "user"}, {Column: "tags", Separator: "|"}}},
		Derived: []job.DerivedSlot{
			{Name: "price range", Columns: []job.DerivedColumn{{Column: "price", Edges: []float64{1, 2.5}}}},
			{Name: "user, tag", Columns: []job.DerivedColumn{{Column: "user"}, {Column: "tags"}}},
			{Name: "user, range", Columns: []job.DerivedColumn{{Column: "user"},
				{Column: "price", Edges: []float64{0}}}},
		}}
}

// Intervals begin at their edges, a missing number has its own, and a combination has an id for each of the
// values of a list. The ids are those of the comment of derivedSlot.ids.
func TestDerivedSlots(t *testing.T) {
	set, err := Open(derivedTable(t), "")
	if err != nil {
		t.Fatal(err)
	}
	if names := slotNames(&set.Schema); !slices.Equal(names, []string{"user", "tags", "price range",
		"user, tag", "user, range"}) {
		t.Errorf("slots %q", names)
	}
	anna, ben, x, y := CategoryID("anna"), CategoryID("ben"), CategoryID("x"), CategoryID("y")
	pair := func(a, b uint64) uint64 { return rng.Mix(rng.Mix(a) ^ b) }
	for _, c := range []struct {
		slot  int
		parts [2][][]uint64 // training and test rows
	}{
		{2, [2][][]uint64{{{rng.Mix(1)}, {rng.Mix(2)}, {rng.Mix(1)}},
			{{rng.Mix(3)}, {rng.Mix(2)}, {rng.Mix(0)}}}},
		{3, [2][][]uint64{{{pair(anna, x), pair(anna, y)}, {pair(ben, x)}, {pair(anna, y)}},
			{{}, {pair(anna, x)}, {pair(ben, x)}}}},
		{4, [2][][]uint64{{{pair(anna, 1)}, {pair(ben, 1)}, {pair(anna, 1)}},
			{{pair(ben, 2)}, {pair(anna, 1)}, {pair(ben, 0)}}}},
	} {
		for part, rows := range []*batch.Batch{set.Train, set.Test} {
			for row, want := range c.parts[part] {
				if got := rows.Slots[c.slot].SampleIDs(row); !slices.Equal(got, want) {
					t.Errorf("slot %d, part %d, row %d: ids %v, want %v", c.slot, part, row, got, want)
				}
			}
		}
	}
}

// Rows for a prediction have the derived slots of the training, from a file and from a request.
func TestFeaturesHaveDerivedSlots(t *testing.T) {
	data := derivedTable(t)
	set, err := Open(data, "")
	if err != nil {
		t.Fatal(err)
	}
	check := func(from string, got *batch.Batch) {
		for i, want := range []*batch.Batch{set.Train, set.Test} {
			part := batch.Slice(got, 3*i, 3*i+3)
			for s := range want.Slots {
				for row := range want.Samples {
					if !slices.Equal(part.Slots[s].SampleIDs(row), want.Slots[s].SampleIDs(row)) {
						t.Errorf("%s: slot %d, row %d: %v", from, s, row, part.Slots[s].SampleIDs(row))
					}
				}
			}
			if !slices.Equal(part.Dense, want.Dense) {
				t.Errorf("%s: numbers %v, want %v", from, part.Dense, want.Dense)
			}
		}
	}
	err = ReadFeatures(data, set.Scaling, data.Path, func(b *batch.Batch, _ float64) error {
		check("a file", b)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	b, err := FeatureRows(data, set.Scaling, Features{IDs: [][]string{
		{"anna", "ben", "anna", "ben", "anna", "ben"}, {"x|y", "x", "y", "", "x", "x"}},
		Numbers: [][]float32{{1, 2.5, 2.4, float32(math.NaN()), 9, -3}}})
	if err != nil {
		t.Fatal(err)
	}
	check("a request", b)
}

// A derived slot of a column that the data lack is an error with the columns that they have.
func TestDerivedSlotsOfUnknownColumns(t *testing.T) {
	for _, c := range []struct {
		change func(*job.DerivedSlot)
		want   string
	}{
		{func(s *job.DerivedSlot) { s.Columns[0].Column = "usr" },
			`derived[1].columns[0].column: no slot "usr": the data have user, tags`},
		{func(s *job.DerivedSlot) { s.Columns[0].Edges = []float64{1} },
			`derived[1].columns[0].column: no numeric column "user": the data have price`},
		{func(s *job.DerivedSlot) { s.Name = "price" },
			`derived[1].name: "price" is a column of the data already`},
	} {
		for _, stream := range []bool{false, true} {
			data := derivedTable(t)
			data.Stream = stream
			c.change(&data.Derived[1])
			if _, err := Open(data, ""); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %s", err, c.want)
			}
		}
	}
}

// The combinations of a row's lists are bounded, wherever rows are read, and not before their limit.
func TestCombinationsOfListsAreBounded(t *testing.T) {
	list := func(n int) string {
		var values []string
		for i := range n {
			values = append(values, fmt.Sprint(i))
		}
		return strings.Join(values, "|")
	}
	data := func(length int, stream bool) job.Data {
		path := filepath.Join(t.TempDir(), "lists.csv")
		text := fmt.Sprintf("a,b,click\n1,1,0\n1,1,1\n%s,%s,1\n1,1,0\n", list(100), list(length))
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return job.Data{Kind: job.KindCSV, Path: path, Split: job.Split{Test: 0.5}, Stream: stream,
			CSV: &job.Table{Label: "click", Slots: []job.IDColumn{{Column: "a", Separator: "|"},
				{Column: "b", Separator: "|"}}},
			Derived: []job.DerivedSlot{{Name: "fine", Columns: []job.DerivedColumn{{Column: "a"},
				{Column: "a"}}}, {Name: "both", Columns: []job.DerivedColumn{{Column: "a"},
				{Column: "b"}}}}}
	}
	const want = `derived slot "both": a row has 10100 combinations of the values of its lists, and 10000 ` +
		"are allowed"
	check := func(from string, err error) {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", from, err, want)
		}
	}
	for _, stream := range []bool{false, true} {
		set, err := Open(data(100, stream), "")
		if err != nil || len(set.Test.Slots[3].SampleIDs(0)) != 10_000 {
			t.Fatalf("as many as are allowed: error %v", err)
		}
		_, err = Open(data(101, stream), "")
		check(fmt.Sprint("stream ", stream), err)
	}
	long := data(101, false)
	check("a file", ReadFeatures(long, nil, long.Path, func(*batch.Batch, float64) error { return nil }))
	_, err := FeatureRows(long, nil, Features{IDs: [][]string{{list(100)}, {list(101)}}})
	check("a request", err)
}

// More slots than a prefix of 8 bits can tell apart make it wider, as columns do.
func TestManyDerivedSlotsWidenThePrefix(t *testing.T) {
	schema := newSchema([]string{"user"}, []string{"price"}, "click")
	var many []job.DerivedSlot
	for i := range 255 {
		many = append(many, job.DerivedSlot{Name: string(rune('a' + i)),
			Columns: []job.DerivedColumn{{Column: "price", Edges: []float64{float64(i)}}}})
	}
	if _, err := newDerivation(many, &schema); err != nil {
		t.Fatal(err)
	}
	if whole := WithDim(schema, 1); schema.PrefixBits != 9 || whole.Validate() != nil {
		t.Errorf("%d bits for %d slots: %v", schema.PrefixBits, len(schema.Slots), whole.Validate())
	}
	rows, err := derivation(nil).withSlots(&batch.Batch{Samples: 1})
	if err != nil || !reflect.DeepEqual(rows, &batch.Batch{Samples: 1}) {
		t.Errorf("rows change without derived slots, error %v", err)
	}
}
