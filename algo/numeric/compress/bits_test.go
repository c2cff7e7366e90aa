package compress

import (
	"testing"

	"pgregory.net/rapid"
)

// A number is read alone as in its list, at any width and to the last byte.
func TestANumberAloneIsThatOfTheList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(0, 64).Draw(t, "width")
		list := rapid.SliceOfN(rapid.Uint64Range(0, 1<<width-1), 1, 20).Draw(t, "list")
		n := measure(list, len(list))
		written := n.appendList(nil, list)
		read, body, rest, err := parseList(written, len(list), len(list))
		if err != nil || len(rest) > 0 {
			t.Fatalf("%v, %d bytes behind the list", err, len(rest))
		}
		for i, want := range list {
			if got := read.at(body, i); got != want {
				t.Fatalf("number %d of %v in %d bits is %d", i, list, read.width, got)
			}
		}
	})
}
