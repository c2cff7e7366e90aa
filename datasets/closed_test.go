package datasets

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/datasets/internal/input/inputtest"
)

// Every reader of a file of a URL closes it, also if the file is not what it should be: a server that reads
// again and again has no more files open than it needs.
func TestFilesOfURLsAreClosed(t *testing.T) {
	files := inputtest.Counted()
	path := filepath.Join(t.TempDir(), "t.csv")
	url := inputtest.Scheme + path
	data := job.Data{Kind: job.KindCSV, Path: url, CSV: &job.Table{Label: "click", Numeric: []string{"price"},
		Slots: []job.IDColumn{{Column: "user"}}}}
	scaling := []batch.Scaling{{Std: 1}}
	good := "user,price,click\n" + strings.Repeat("a,1,1\nb,2,0\n", 20)
	for name, c := range map[string]struct {
		text    string
		isValid bool
	}{
		"a table": {good, true}, "nothing": {"", false}, "a torn row": {good + "a\n", false},
		"other columns": {"x,y\n1,2\n", false}, "compressed": {string(gzipped(t, good)), true},
		"torn": {string(gzipped(t, good)[:40]), false},
	} {
		if err := os.WriteFile(path, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		for what, read := range map[string]func() error{
			"Open":     func() error { _, err := Open(data, ""); return err },
			"ReadRows": func() error { _, err := ReadRows(data, url); return err },
			"ReadFeatures": func() error {
				return ReadFeatures(data, scaling, url, func(*batch.Batch, float64) error { return nil })
			},
			"EachID": func() error { return EachID(data, url, "user", func(string, uint64) {}) },
		} {
			before := files.Opened
			if err := read(); (err == nil) != c.isValid {
				t.Errorf("%s of %s: error %v", what, name, err)
			}
			if files.Open != 0 || files.Opened == before {
				t.Errorf("%s of %s: %d of %d files stay open", what, name, files.Open, files.Opened-before)
				files.Open = 0
			}
		}
		// These need no valid table.
		for what, read := range map[string]func() error{
			"Fingerprint": func() error { _, err := Fingerprint(data, ""); return err },
			"ReadHead":    func() error { _, err := ReadHead(url, 3); return err },
			"IsParquet":   func() error { _, err := IsParquet(url); return err },
		} {
			before := files.Opened
			if err := read(); err != nil && c.isValid {
				t.Errorf("%s of %s: error %v", what, name, err)
			}
			if files.Open != 0 || files.Opened == before {
				t.Errorf("%s of %s: %d of %d files stay open", what, name, files.Open, files.Opened-before)
				files.Open = 0
			}
		}
	}
}
