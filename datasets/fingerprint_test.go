package datasets

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"tandem/algo/job"
)

// mustFingerprint returns the fingerprint of data in a folder.
func mustFingerprint(t *testing.T, cfg job.Data, folder string) []byte {
	t.Helper()
	f, err := Fingerprint(cfg, folder)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// The fingerprint depends on the content: it stays the same when the files move, and changes with
// a byte, a size, the order of the files, and a file that is read in addition.
func TestFingerprintDependsOnTheContent(t *testing.T) {
	cfg := job.Data{Kind: job.KindMovieLens, Train: "a", Test: "b"}
	files := map[string]string{"a": "1\t2\t3\t4\n", "b": "5\t6\t1\t4\n"}
	fill := func(files map[string]string) string {
		folder := t.TempDir()
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return folder
	}
	want := mustFingerprint(t, cfg, fill(files))
	if got := mustFingerprint(t, cfg, fill(files)); !bytes.Equal(got, want) || len(got) != 32 {
		t.Errorf("a copy of the files has fingerprint %x, want %x", got, want)
	}
	for name, change := range map[string]map[string]string{
		"a byte":             {"a": "1\t2\t4\t4\n", "b": files["b"]},
		"a size":             {"a": files["a"] + files["a"], "b": files["b"]},
		"the other way":      {"a": files["b"], "b": files["a"]},
		"a file beside them": {"a": files["a"], "b": files["b"], "u.user": "1|2|3|4|5\n"},
		"an empty one":       {"a": files["a"], "b": files["b"], "u.user": ""},
	} {
		if got := mustFingerprint(t, cfg, fill(change)); bytes.Equal(got, want) {
			t.Errorf("%s: the fingerprint stays", name)
		}
	}
}

func TestFingerprintNamesTheFile(t *testing.T) {
	cfg := job.Data{Kind: job.KindCriteo, Path: "day_0"}
	if _, err := Fingerprint(cfg, t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v, want fs.ErrNotExist", err)
	}
	const want = "datasets: day_0: a relative path, but TANDEM_DATA is not set: set it to the folder of " +
		"the data"
	if _, err := Fingerprint(cfg, ""); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if f := mustFingerprint(t, job.Data{Kind: job.KindAdultIncome}, ""); len(f) != 32 {
		t.Errorf("data without files: %x", f)
	}
}
