package infer

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"tandem/datasets/internal/input"
)

// openFile is a file that counts those that are open.
type openFile struct {
	*os.File
	size int64
	open *int
}

// Size implements input.File.
func (f openFile) Size() int64 { return f.size }

// Close implements io.Closer.
func (f openFile) Close() error {
	*f.open--
	return f.File.Close()
}

// The files whose columns are inferred are closed, also those that are no tables.
func TestInferredFilesAreClosed(t *testing.T) {
	open, opened := 0, 0
	input.RegisterURLs("counted", func(url string) (input.File, error) {
		file, err := os.Open(strings.TrimPrefix(url, "counted://"))
		if err != nil {
			return nil, err
		}
		info, err := file.Stat()
		if err != nil {
			return nil, err
		}
		open++
		opened++
		return openFile{file, info.Size(), &open}, nil
	})
	parquet, err := os.ReadFile("../parquet/testdata/snappy.parquet")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		text    string
		isValid bool
	}{
		"a table": {strings.Replace(odd(price(strconv.Itoa)), ",y\n", ",click\n", 1), true}, "nothing": {"",
			false},
		"a line": {"a,b\n", false}, "Parquet": {string(parquet), true},
		"half of it": {string(parquet[:len(parquet)/2]), false}, "another label": {"a,b\n1,2\n3,4\n", false},
	} {
		before := opened
		if _, err := File("counted://"+file(t, c.text), Options{Label: "click"}); (err == nil) != c.isValid {
			t.Errorf("%s: error %v", name, err)
		}
		if open != 0 || opened == before {
			t.Errorf("%s: %d of %d files stay open", name, open, opened-before)
			open = 0
		}
	}
}
