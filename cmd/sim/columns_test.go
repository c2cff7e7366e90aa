package main

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// checkColumns reports lines of more than 80 columns, but for commands to repeat.
func checkColumns(t *testing.T, what, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 &&
			!strings.Contains(line, ": go run ") {
			t.Errorf("%s: %d columns: %s", what, n, line)
		}
	}
}
