package process

import (
	"fmt"
	"strings"
	"testing"
)

// The summary of a process is its panic, its error or its last line, independent of the pieces in which its
// output arrives.
func TestStderrSummary(t *testing.T) {
	stack := "panic: boom\n\ngoroutine 7 [running]:\n" + strings.Repeat("main.f()\n\tf.go:3\n", 2000)
	for _, c := range []struct{ said, line, stack string }{
		{"", "", ""},
		{"one\ntwo\n\n", "two", ""},
		{"one\ntwo", "two", ""},
		{"process: error: no data\nnode: hint: get some\n", "no data", ""},
		{"process: error: no data\n" + stack, "panic: boom", stack},
		{"started\nfatal error: all goroutines are asleep - deadlock!\n\ngoroutine 1",
			"fatal error: all goroutines are asleep - deadlock!",
			"fatal error: all goroutines are asleep - deadlock!\n\ngoroutine 1\n"},
		{strings.Repeat("x", 3*lineMax) + "\n", strings.Repeat("x", lineMax), ""},
		{"process: transport: refused a process\n", "", ""},
	} {
		for _, size := range []int{1, 7, 1 << 20} {
			var refused []string
			w := stderrParser{refused: func(line string) { refused = append(refused, line) }}
			for rest := c.said; rest != ""; {
				n := min(size, len(rest))
				fmt.Fprint(&w, rest[:n])
				rest = rest[n:]
			}
			if line, stack := w.summary(); line != c.line || stack != c.stack {
				t.Errorf("%.40q in pieces of %d: %.80q and %.80q, want %.80q and %.80q", c.said, size, line,
					stack, c.line, c.stack)
			}
			if got, want := len(refused), strings.Count(c.said, "refused"); got != want {
				t.Errorf("%d lines about refusals, want %d", got, want)
			}
		}
	}
}
