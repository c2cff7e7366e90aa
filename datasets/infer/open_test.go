package infer

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"tandem/algo/exec/backend"
	"tandem/algo/job"
	"tandem/algo/unit"
)

// clicks is the text of a table with a column of two ids on average, one of one, and one number.
func clicks(rows int) string {
	var text strings.Builder
	text.WriteString("user,tags,price,click\n")
	for i := range rows {
		fmt.Fprintf(&text, "u%d,%s,%d.5,%d\n", i%97, []string{"a", "a|b", "a|b|c"}[i%3], i%11, i%4/3)
	}
	return text.String()
}

// Rows stay in the file where they would take more than a quarter of the memory, and all else is the same.
func TestRowsThatExceedTheMemoryStayInTheFile(t *testing.T) {
	path := file(t, clicks(3000))
	// A row: 1 and 2 ids of 8 bytes, two offsets, a number and a label of 4 bytes.
	const rowBytes = 3*8 + 4*4
	found, err := CSV(path, Options{})
	if err != nil || found.RowBytes != rowBytes || found.RowsInFile != 3000 || found.Notes != nil {
		t.Fatalf("%+v, error %v; want rows of %d bytes", found, err, rowBytes)
	}
	for _, c := range []struct {
		memory unit.Bytes
		how    string
		test   float64
		stream bool
	}{
		{0, job.SplitRandom, 0.2, false},
		{4 * 3000 * rowBytes, job.SplitRandom, 0.2, false},
		{4*3000*rowBytes - 4, job.SplitRandom, 0.2, true},
		{4*3000*rowBytes - 4, job.SplitLast, 0.2, true},
		{2 * 3000 * rowBytes, job.SplitLast, 0.12, true}, // an eighth
	} {
		split := job.Split{How: c.how, Test: 0.2}
		j, set, found, err := Open(Request{File: path, Split: split, Memory: c.memory})
		if err != nil {
			t.Fatal(err)
		}
		if j.Data.Stream != c.stream || (set.Rows != nil) != c.stream || len(found.Notes) > 2 ||
			(len(found.Notes) == 2) != (c.test < 0.2) || (found.Notes != nil) != c.stream ||
			math.Abs(j.Data.Split.Test-c.test) > 1e-9 {
			t.Errorf("%+v: streamed %v, %q", c, j.Data.Stream, found.Notes)
		}
		if c.stream {
			decided, err := Decide(t.Context(), j, set, backend.Backend{})
			if err != nil || decided.Training.Epochs != EpochsWithout(set) ||
				decided.Model.Kind != j.Model.Kind {
				t.Errorf("%+v: %d epochs of a %s, error %v", c, decided.Training.Epochs,
					decided.Model.Kind, err)
			}
		}
		if share := float64(set.Test.Samples) / 3000; math.Abs(share-c.test) > 0.03 {
			t.Errorf("%+v: a share of %v is tested on", c, share)
		}
	}
	r := Request{Split: job.Split{How: job.SplitTime, Column: "at"}, Memory: 1}
	if r.stream(found) || len(found.Notes) != 1 ||
		!strings.HasPrefix(found.Notes[0], "a split by time needs") {
		t.Errorf("a split by time is streamed, or without a note: %q", found.Notes)
	}
}

// The column of a split by time is left out, and the reason says why.
func TestColumnOfASplit(t *testing.T) {
	split := job.Split{How: job.SplitTime, Column: "price"}
	_, set, found, err := Open(Request{File: file(t, clicks(300)), Split: split})
	if err != nil || len(set.Schema.Dense) > 0 {
		t.Fatalf("numbers %v, error %v", set.Schema.Dense, err)
	}
	if c := found.Columns[2]; c.Use != Ignored || c.Why != "the split is by it" {
		t.Errorf("%+v", c)
	}
}

// Columns are taken by the first rows of a large file, and the number of its rows is estimated.
func TestLargeFilesAreInferredFromTheirBeginning(t *testing.T) {
	found, err := CSV(file(t, clicks(2*rowsMax)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if found.Rows != rowsMax || math.Abs(float64(found.RowsInFile)/(2*rowsMax)-1) > 0.1 ||
		len(found.Notes) != 1 ||
		!strings.HasPrefix(found.Notes[0], "columns are taken by the first 100000 of") {
		t.Errorf("%d of %d rows, %q", found.Rows, found.RowsInFile, found.Notes)
	}
	columns := make([]string, 400)
	for i := range columns {
		columns[i] = fmt.Sprintf("c%d", i)
	}
	columns[0] = "y"
	rows := strings.Repeat(strings.Repeat("0,", 399)+"1\n"+strings.Repeat("1,", 399)+"2\n", 15_000)
	if found, err = CSV(file(t, strings.Join(columns, ",")+"\n"+rows), Options{}); err != nil ||
		found.Rows != valuesMax/400 || len(found.Notes) != 1 {
		t.Errorf("%d rows of a wide table, error %v; want %d", found.Rows, err, valuesMax/400)
	}
}
