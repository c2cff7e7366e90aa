package main

import (
	"slices"
	"strings"
	"testing"
)

// Texts in bytes have their length before them, in four bytes. No more memory is taken for them than their
// bytes can need, and what does not fit the shape is refused.
func TestTextsInBytes(t *testing.T) {
	const two = "\x01\x00\x00\x00a\x00\x00\x00\x00"
	for _, c := range []struct {
		raw  string
		n    int
		want []string
		err  string
	}{
		{two, 2, []string{"a", ""}, ""},
		{"", 0, []string{}, ""},
		{two, 3, nil, "9 bytes, and the shape says 3 texts"},
		{two[:8], 2, nil, "the bytes end within element 2"},
		{"\x05\x00\x00\x00abcd", 1, nil, "the bytes end within element 1"},
		{"\xff\xff\xff\xffabcd", 1, nil, "the bytes end within element 1"},
		{two, 1, nil, "2"},
	} {
		got, err := rawTexts(c.raw, c.n)
		if c.err == "" && (err != nil || !slices.Equal(got, c.want)) ||
			c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%d texts in %q: %q, %v", c.n, c.raw, got, err)
		}
	}
}
