package datasets

import (
	"maps"
	"slices"
	"testing"

	"tandem/algo/job"
)

// Texts are those of the ids that Open makes: of single fields, of whole numbers that are written with a
// point, and of test rows. Lists and numbers have none, nor has a row that is bad.
func TestTextsAreThoseOfIDs(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "train.csv", "user,code,tags,age,label\nann,1,a|b,3,1\n")
	write(t, dir, "test.csv", "user,code,tags,age,label\nbob,17.0,a|b,3,1\n cid ,,a,4,0\nbad\n")
	data := job.Data{Kind: job.KindCSV, Train: "train.csv", Test: "test.csv", OnBadRow: job.OnBadRow{Skip: 1},
		CSV: &job.Table{Slots: []job.IDColumn{{Column: "user"}, {Column: "code", Whole: true},
			{Column: "tags", Separator: "|"}}, Numeric: []string{"age"}, Label: "label"}}
	set, err := Open(data, dir)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Texts(data, dir, 100)
	if err != nil {
		t.Fatal(err)
	}
	if names := slices.Sorted(maps.Keys(got)); !slices.Equal(names, []string{"code", "tags", "user"}) {
		t.Errorf("columns %v", names)
	}
	for s, want := range [][]string{{"bob", "cid"}, {"17.0", ""}} {
		for row, text := range want {
			name := set.Schema.Slots[s].Name
			if found, ok := got[name][set.Test.Slots[s].SampleIDs(row)[0]]; !ok || found != text {
				t.Errorf("%s of row %d: %q, want %q", name, row, found, text)
			}
		}
	}
	if _, ok := got["user"][CategoryID("ann")]; ok {
		t.Error("the texts are of the training rows")
	}
	if one, err := Texts(data, dir, 2); err != nil || len(one["user"]) != 1 {
		t.Errorf("of one row: %v, %v", one["user"], err)
	}
	data.Test = "none.csv"
	if _, err := Texts(data, dir, 2); err == nil {
		t.Error("no error for a file that is not there")
	}
}

// Every id of the census data whose column has few values has a text.
func TestTextsOfOwnData(t *testing.T) {
	data := job.Data{Kind: job.KindAdultIncome}
	set, err := Open(data, "")
	if err != nil {
		t.Fatal(err)
	}
	texts, err := Texts(data, "", 10_000)
	if err != nil {
		t.Fatal(err)
	}
	sex := slices.IndexFunc(slotNames(&set.Schema), func(name string) bool { return name == "sex" })
	for _, id := range set.Test.Slots[sex].IDs {
		if text := texts["sex"][id]; text != "Male" && text != "Female" {
			t.Fatalf("the sex of a row is %q", text)
		}
	}
	if none, err := Texts(job.Data{Kind: job.KindSynthetic}, "", 1); none != nil || err != nil {
		t.Errorf("generated data: %v, %v", none, err)
	}
}
