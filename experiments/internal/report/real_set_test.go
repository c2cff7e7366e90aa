package report

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/datasets"
	"tandem/internal/cli"
)

// Every real data set opens as its comment says. MovieLens has a test in package datasets.
func TestRealSetsOpen(t *testing.T) {
	folder := os.Getenv("TANDEM_DATA")
	if folder == "" {
		t.Skip("TANDEM_DATA is not set")
	}
	for name, want := range map[string]struct{ train, test, slots int }{
		"adult-income": {32_561, 16_281, 8},
		"frappe":       {57_722, 28_860, 10},
		"avazu":        {12_000, 3_000, 23},
		"criteo-head":  {8_000, 2_000, 26},
		"ijcai18":      {42_582, 10_645, 8},
		"taobao-ad":    {400, 100, 18},
	} {
		at := slices.IndexFunc(realSets(), func(d DataSet) bool { return d.Name == name })
		d := realSets()[at]
		if d.Check(folder) != nil {
			continue // a folder with other data sets
		}
		data, err := datasets.Open(d.WithSeed(1), folder)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		train, test, slots := data.Train.Samples, data.Test.Samples, len(data.Schema.Slots)
		if train != want.train || test != want.test || slots != want.slots {
			t.Errorf("%s: %d train and %d test rows, %d slots; want %+v", name, train, test, slots, want)
		}
	}
}

// Missing data are one line that says what to get and where to put it.
func TestMissingData(t *testing.T) {
	folder := t.TempDir()
	got, notes := Present(realSets(), folder)
	if len(got) != 1 || got[0].Name != "adult-income" || len(notes) != len(realSets())-1 {
		t.Errorf("present in an empty folder: %v, notes %q", got, notes)
	}
	var e *cli.Error
	path := filepath.Join(folder, "avazu", "avazu_random15k.csv")
	if err := Avazu().Check(folder); !errors.As(err, &e) || err.Error() != "avazu: there is no "+path ||
		!strings.HasPrefix(e.Hint, "put there 15,000 random rows of train.csv") {
		t.Errorf("%#v", err)
	}
	if err := CriteoHead().Check(""); !errors.As(err, &e) ||
		!strings.HasPrefix(err.Error(), "criteo-head: there is no data folder") ||
		!strings.HasPrefix(e.Hint, "give --data-folder or set TANDEM_DATA; the file has the first 10,000") {
		t.Errorf("%#v", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got, _ := Present(realSets(), folder); len(got) != 2 {
		t.Errorf("present with Avazu: %v", got)
	}
	frappe := func(s DataSet) bool { return s.Name == "frappe" } // measured, and gone since
	if got := Absent(realSets(), folder, frappe); len(got) != len(notes)-2 {
		t.Errorf("absent without Avazu and Frappe: %q", got)
	}
}

// The data of a job file have the hint of a known set of their kind.
func TestMissingDataOfAJob(t *testing.T) {
	var e *cli.Error
	err := OfJob(job.Data{Kind: job.KindCriteo, Path: "day_0.gz"}).Check("mine")
	if !errors.As(err, &e) || err.Error() != "criteo: there is no "+filepath.Join("mine", "day_0.gz") ||
		!strings.HasPrefix(e.Hint, "put there data of kind criteo, for example the first 10,000 rows of") {
		t.Errorf("%#v", err)
	}
	if err := OfJob(job.Data{Kind: job.KindAdultIncome}).Check(""); err != nil {
		t.Error(err)
	}
}
