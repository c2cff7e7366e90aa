package datasets

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
)

// A missing number is the mean of its column in the training rows, and counts neither in the mean nor in the
// deviation: the numbers 1 and 3 of the training rows become −1 and 1.
func TestMissingNumbersAreTheMean(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table.csv")
	text := "user,price,y\na,1,1\nb,NA,0\nc,,1\nd,3,0\ne,NA,1\nf,5,0\n"
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	table := &job.Table{Slots: []job.IDColumn{{Column: "user"}}, Numeric: []string{"price"}, Label: "y",
		Missing: []string{"NA", ""}}
	data := job.Data{Kind: job.KindCSV, Path: path, CSV: table, Split: job.Split{Test: 1. / 3}}
	set, err := Open(data, "")
	if err != nil {
		t.Fatal(err)
	}
	if want := []float32{-1, 0, 0, 1}; !slices.Equal(set.Train.Dense, want) {
		t.Errorf("training rows %v, want %v", set.Train.Dense, want)
	}
	if want := []float32{0, 3}; !slices.Equal(set.Test.Dense, want) {
		t.Errorf("test rows %v, want %v", set.Test.Dense, want)
	}
	table.Missing = []string{"NA"} // an empty field is then a bad number
	if _, err := Open(data, ""); err == nil {
		t.Error("an empty field was read")
	}
}

// A column without a number in the training rows is 0 everywhere.
func TestColumnOfMissingNumbers(t *testing.T) {
	b := thirds(2).Train
	b.Dense = []float32{float32(math.NaN()), float32(math.NaN())}
	scaling := measureScaling(b, 1)
	standardise(b, scaling)
	if scaling[0] != (batch.Scaling{Mean: 0, Std: 1}) || !slices.Equal(b.Dense, []float32{0, 0}) {
		t.Errorf("%v, %v", scaling, b.Dense)
	}
}
