package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The page has a row for every module that go.mod requires and no other. Where all are on this machine, it is
// the page that the program writes.
func TestEveryModuleHasALicence(t *testing.T) {
	const root = "../.."
	t.Setenv("GOPROXY", "off") // a test needs no network
	modules, err := required(root)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range modules {
		if !strings.Contains(string(got), "\n"+rowStart(m)) {
			t.Errorf("%s lacks module %s, run go run ./docs/licenses", page, m.Path)
		}
	}
	if rows := strings.Count(string(got), "\n| `"); rows != len(modules) {
		t.Errorf("%s has %d rows for %d modules, run go run ./docs/licenses", page, rows, len(modules))
	}
	modules, err = located(root, modules)
	if err != nil || slices.ContainsFunc(modules, func(m module) bool { return m.Dir == "" }) {
		t.Log("not all modules are on this machine: their licences are not compared")
		return
	}
	if want, err := generate(modules); err != nil || string(got) != string(want) {
		t.Errorf("%s is old, run go run ./docs/licenses; error %v", page, err)
	}
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
