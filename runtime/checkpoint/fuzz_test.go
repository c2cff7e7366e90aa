//go:build unix

package checkpoint

import (
	"os"
	"path/filepath"
	"testing"
)

// A manifest is read as it was written or refused; no text crashes the reader.
func FuzzManifest(f *testing.F) {
	folder := filepath.Join(f.TempDir(), "model")
	q, m := small(f)
	if err := Save(folder, m, q); err != nil {
		f.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(folder, ManifestFile))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"format":"tandem-model","version":1}`))
	f.Add([]byte(`{"format":"tandem-model","version":2}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		read, err := decodeManifest(text)
		if err != nil {
			return
		}
		if again, err := read.encode(); err != nil || string(again) != string(text) {
			t.Fatalf("another text:\n%s\nerror %v", again, err)
		}
	})
}
