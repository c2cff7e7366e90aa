package infer

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/algo/job"
)

// Columns are those of the first file with rows. One without a byte was torn, and is an error.
func TestColumnsOfAStreamAreThoseOfItsFirstRows(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("1.csv", "user,click\n")
	write("2.csv", "user,click\n"+strings.Repeat("a,1\nb,0\n", 20))
	j, stream, _, found, err := Follow(t.Context(), Request{File: folder}, job.Data{}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Base(stream.First()) != "2.csv" || found.Rows != 40 || j.Data.Kind != job.KindFollow {
		t.Errorf("first %s, %d rows, %v", stream.First(), found.Rows, j.Data.Kind)
	}
	write("0.csv", "")
	_, _, _, _, err = Follow(t.Context(), Request{File: folder}, job.Data{}, nil, nil)
	if err == nil || !strings.Contains(err.Error(), "0.csv") {
		t.Errorf("an empty file: error %v", err)
	}
}
