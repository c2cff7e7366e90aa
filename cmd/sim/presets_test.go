package main

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"tandem/sim/cost"
)

// Every exported profile loads back as a user's file, and is what it was.
func TestExportedProfilesLoadBack(t *testing.T) {
	for _, s := range shelves() {
		for _, name := range s.library.Names() {
			var text bytes.Buffer
			if err := exportPreset(&text, s, name, false); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "own.yaml")
			if err := os.WriteFile(file, text.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			want, err := s.load(name)
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.load(file)
			if err != nil {
				t.Errorf("%s %s: %v", s.kind, name, err)
				continue
			}
			if got.summary != want.summary || len(got.parameters) == 0 ||
				!reflect.DeepEqual(cost.Assume(got.parameters), cost.Assume(want.parameters)) {
				t.Errorf("%s %s: read back as %q with %d parameters; it has %q and %d", s.kind, name,
					got.summary, len(got.parameters), want.summary, len(want.parameters))
			}
			for _, a := range cost.Assume(got.parameters) {
				if a.Name == "" || a.Kind == "" || a.Source == "" {
					t.Errorf("%s %s: no name, kind or source: %+v", s.kind, name, a)
				}
			}
			found, _, err := findPreset(file, "")
			if err != nil || found.kind != s.kind {
				t.Errorf("%s %s is found as a %s: %v", s.kind, name, found.kind, err)
			}
		}
	}
}
