package checkpoint

import (
	"path/filepath"
	"runtime/debug"
	"testing"
)

// A model that is open holds no file open, since its files are mapped: a server of many models needs none,
// and neither do those that verify, describe or compare models.
func TestOpenModelsHoldNoFiles(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // it would close files, too
	s, m := small(t)
	folder := filepath.Join(t.TempDir(), "model")
	before := openFiles(t)
	if err := Save(folder, m, s); err != nil {
		t.Fatal(err)
	}
	if after := openFiles(t); after != before {
		t.Errorf("%d files were open before a model was saved, and %d after", before, after)
	}
	for range 3 {
		c, err := Open(folder)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Verify(); err != nil {
			t.Fatal(err)
		}
		if after := openFiles(t); after != before {
			t.Errorf("%d files were open before, and %d while the model is", before, after)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
