package checkpoint_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/algo/exec/exectest"
	"tandem/algo/exec/reference"
	"tandem/algo/job"
	"tandem/runtime/checkpoint"
)

// A file of candidates that is damaged, cut or not there is named, by Open, Verify or a training that
// continues. A job that does not count continues without candidates.
func TestDamagedCandidatesAreNamed(t *testing.T) {
	j := exectest.Job(1, 1).InMode(job.Sequential)
	j.Rows.AdmissionCount = 5
	q := untrained(t, j).(*reference.Sequential)
	if err := q.Step(0); err != nil {
		t.Fatal(err)
	}
	const name = "rows-00000-of-00001-candidates.arrow"
	damages := map[string]func(path string, data []byte) error{
		"a bit": func(path string, data []byte) error {
			data[len(data)/2] ^= 4
			return os.WriteFile(path, data, 0o600)
		},
		"the end": func(path string, data []byte) error {
			return os.WriteFile(path, data[:len(data)-1], 0o600)
		},
		"the file": func(path string, _ []byte) error { return os.Remove(path) },
		"nothing":  func(string, []byte) error { return nil },
	}
	for what, damage := range damages {
		folder := filepath.Join(t.TempDir(), "model")
		if err := checkpoint.Save(folder, manifest(j), q); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(folder, name)
		data, err := os.ReadFile(path)
		if err == nil {
			err = damage(path, data)
		}
		if err != nil {
			t.Fatal(err)
		}
		model, err := checkpoint.Open(folder)
		if err == nil {
			t.Cleanup(func() { _ = model.Close() })
			if err = model.Verify(); err == nil {
				again := untrained(t, j).(*reference.Sequential)
				_, err = model.Restore(again)
				if got, want := again.Rows()[0].CandidateCount(), q.Rows()[0].CandidateCount(); got != want ||
					want == 0 {
					t.Errorf("%d candidates, want %d", got, want)
				}
				other := exectest.Job(1, 1).InMode(job.Sequential)
				if _, err := model.Restore(untrained(t, other)); err != nil {
					t.Error(err)
				}
			} else if _, failed := model.Restore(untrained(t, j)); failed == nil {
				t.Errorf("%s: a training continues", what)
			} else {
				other := untrained(t, exectest.Job(1, 1).InMode(job.Sequential))
				if _, err := model.Restore(other); err != nil {
					t.Errorf("%s: a training that does not count reads candidates: %v", what, err)
				}
			}
		}
		if (err == nil) != (what == "nothing") || err != nil && !strings.Contains(err.Error(), name) {
			t.Errorf("%s is damaged: %v", what, err)
		}
	}
}
