package cli

import (
	"strings"
	"testing"
)

func TestWrap(t *testing.T) {
	x := func(n int) string { return strings.Repeat("τ", n) }
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"  two spaces", "  two spaces"},
		{x(70) + " " + x(39), x(70) + " " + x(39)},
		{x(70) + " " + x(40), x(70) + "\n  " + x(40)},
		{x(150) + " a", x(150) + "\n  a"},
		{x(60) + " " + x(60) + " " + x(46) + " a", x(60) + "\n  " + x(60) + " " + x(46) + "\n  a"},
		{x(60) + " " + x(60) + " " + x(45) + " a", x(60) + "\n  " + x(60) + " " + x(45) + " a"},
	} {
		if got := Wrap(c.text, "  "); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}

// Messages are wrapped at the width of a terminal, and kept whole for other writers.
func TestWrapAt(t *testing.T) {
	for _, c := range []struct {
		columns int
		want    string
	}{{0, "a note of five words"}, {13, "a note of\n  five words"}, {9, "a note of\n  five\n  words"}} {
		if got := WrapAt("a note of five words", "  ", 0, c.columns); got != c.want {
			t.Errorf("%d columns: %q, want %q", c.columns, got, c.want)
		}
	}
	if columns := terminalColumns(&strings.Builder{}); columns != 0 {
		t.Errorf("a buffer has %d columns", columns)
	}
}

// A command in a message stays on one line, to be copied; other messages are wrapped.
func TestCommandsAreNotWrapped(t *testing.T) {
	const command = "continue with: go run ./cmd/train --resume results/a-long-name --without baseline"
	if got := wrapMessage(command, 40); got != command {
		t.Errorf("%q, want one line", got)
	}
	got, want := wrapMessage("the model has no rows at all", 16), "the model has no\n  rows at all"
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
