package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The page has every module that go.mod requires, with its licences.
func TestEveryModuleHasALicence(t *testing.T) {
	const root = "../.."
	want, err := generate(root)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	lacks := func(text, others []byte, what string) {
		for line := range strings.Lines(string(others)) {
			if !strings.Contains("\n"+string(text), "\n"+line) {
				t.Errorf("%s %s, run go run ./docs/licenses:\n%s", page, what, line)
			}
		}
	}
	lacks(got, want, "lacks a line")
	lacks(want, got, "has a line of no module")
}

// A module without a text that is known is an error that names it.
func TestUnknownLicencesAreNamed(t *testing.T) {
	folder := t.TempDir()
	for text, want := range map[string]string{"All rights reserved.": "no licence that is known here",
		"Permission is hereby granted,\n  free of charge": ""} {
		if err := os.WriteFile(filepath.Join(folder, "LICENSE"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		names, _, err := licensesOf(module{"example.org/m", folder})
		if want == "" && (err != nil || len(names) != 1 || names[0] != "MIT") {
			t.Errorf("%q: %q, error %v", text, names, err)
		}
		if want != "" && (err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "example.org/m")) {
			t.Errorf("%q: error %v", text, err)
		}
	}
}
