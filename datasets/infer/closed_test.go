package infer

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"tandem/datasets/internal/input/inputtest"
)

// The files whose columns are inferred are closed, also those that are no tables.
func TestInferredFilesAreClosed(t *testing.T) {
	files := inputtest.Counted()
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
		before := files.Opened
		_, err := File(inputtest.Scheme+file(t, c.text), Options{Label: "click"})
		if (err == nil) != c.isValid {
			t.Errorf("%s: error %v", name, err)
		}
		if files.Open != 0 || files.Opened == before {
			t.Errorf("%s: %d of %d files stay open", name, files.Open, files.Opened-before)
			files.Open = 0
		}
	}
}
