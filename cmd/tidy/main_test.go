package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Violations are printed, given folders those in the folders alone. Unknown flags and
// folders are refused.
func TestCommandLine(t *testing.T) {
	wide := "package p // " + strings.Repeat("x", columnsMax) + "\n"
	root := plant(t, map[string]string{
		"go.mod":           "module tandem\n",
		mapFile:            smallMap,
		"algo/p/doc.go":    "// Package p is.\n" + wide,
		"algo/p/p_test.go": "package p\n\nfunc TestP() {}\n",
		"cmd/x/x.go":       "// Command x does.\npackage main\n\nfunc main() {}\n",
		"runtime/q/q.go":   "package p\n",
		"datasets/d/d.go":  "// Package d is.\n" + wide,
	})
	const (
		algo     = "algo/p/doc.go:2: columns: 123 columns, at most 110: break the line\n"
		datasets = "datasets/d/d.go:2: columns: 123 columns, at most 110: break the line\n"
		runtime  = "runtime/q/q.go:1: package-doc: package p has no comment: say which question it answers\n"
	)
	for _, c := range []struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		{[]string{"--help"}, 0, help, ""},
		{[]string{"-h"}, 0, help, ""},
		{[]string{"foo"}, 2, "", "tidy: error: foo is not a folder of the repository\n" +
			"tidy: hint: name folders from the root of the repository\n"},
		{[]string{"algo", ".."}, 2, "", "tidy: error: .. is not a folder of the repository\n" +
			"tidy: hint: name folders from the root of the repository\n"},
		{[]string{"--nope"}, 2, "",
			"tidy: error: unknown flag --nope\ntidy: hint: see go run ./cmd/tidy --help\n"},
		{nil, 1, algo + datasets + runtime, ""},
		{[]string{"algo", "./cmd/"}, 1, algo, ""},
		{[]string{"cmd"}, 0, "", ""},
		{[]string{"algo", "datasets"}, 1, algo + datasets, ""},
	} {
		var stdout, stderr bytes.Buffer
		code := tidy(root, c.args, &stdout, &stderr)
		if code != c.code || stdout.String() != c.stdout || stderr.String() != c.stderr {
			t.Errorf("%q: exit status %d, stdout %q, stderr %q; want %+v", c.args, code, &stdout, &stderr, c)
		}
	}
}

// Nothing is checked outside a module.
func TestFolderWithoutModule(t *testing.T) {
	var stdout, stderr bytes.Buffer
	code := tidy(plant(t, map[string]string{"a.go": "package a\n"}), nil, &stdout, &stderr)
	const want = "tidy: error: no go.mod in this folder: run tidy from the root of the repository\n"
	if code != 2 || stdout.Len() > 0 || stderr.String() != want {
		t.Errorf("exit status %d, stdout %q, stderr %q", code, &stdout, &stderr)
	}
}

// smallMap is a map of a tree with any packages in these folders.
const smallMap = "| folder | question |\n|---|---|\n| `algo/*`, `cmd/*`, `runtime/*`, `datasets/*` | |\n\n" +
	"| law | package | tests |\n|---|---|---|\n| it passes | `algo/p` | `TestP` |\n\n" +
	"| subject | package |\n|---|---|\n| p | `algo/p` |\n\n" +
	"| module | for | why not our own |\n|---|---|---|\n| none | | |\n"

// plant writes files into a new folder.
func plant(t *testing.T, files map[string]string) (root string) {
	t.Helper()
	root = t.TempDir()
	for name, text := range files {
		file := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}
