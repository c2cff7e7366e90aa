package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Arguments are refused, and a folder that is no module is left alone.
func TestCommandLine(t *testing.T) {
	const noModule = "tidy: error: no go.mod in this folder: run tidy from the root of the repository\n"
	for _, c := range []struct {
		args           []string
		code           int
		stdout, stderr string // how they begin
	}{
		{[]string{"--help"}, 0, "tidy checks the house rules", ""},
		{[]string{"-h"}, 0, "tidy checks the house rules", ""},
		{[]string{"foo"}, 2, "", "tidy: error: unknown argument \"foo\": tidy takes none\ntidy: hint: see go run ./cmd/tidy --help\n"},
		{[]string{"--nope"}, 2, "", "tidy: error: unknown argument \"--nope\": tidy takes none\n"},
		{nil, 2, "", noModule},
	} {
		folder := t.TempDir()
		// A file that would be a violation, were it looked at.
		if err := os.WriteFile(filepath.Join(folder, "a.go"), []byte("package a\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		var stdout, stderr bytes.Buffer
		code := tidy(folder, c.args, &stdout, &stderr)
		if code != c.code || !begins(stdout.String(), c.stdout) || !begins(stderr.String(), c.stderr) {
			t.Errorf("%q: exit status %d, stdout %q, stderr %q; want %+v", c.args, code, &stdout, &stderr, c)
		}
	}
}

// begins tells whether text has a prefix, or is empty as that is.
func begins(text, prefix string) bool {
	return strings.HasPrefix(text, prefix) && (prefix != "" || text == "")
}
