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
		{"node: error: no data\nnode: hint: get some\n", "no data", ""},
		{"node: error: no data\n" + stack, "panic: boom", stack},
		{"started\nfatal error: all goroutines are asleep - deadlock!\n\ngoroutine 1",
			"fatal error: all goroutines are asleep - deadlock!",
			"fatal error: all goroutines are asleep - deadlock!\n\ngoroutine 1\n"},
		{strings.Repeat("x", 3*lineMax) + "\n", strings.Repeat("x", lineMax), ""},
		{"node: transport: refused a process\n", "", ""},
		{"node: error: no data\nmodule: passed on\n", "no data", ""},
		{"module: passed on, as panic: is\nmodule: panic: passed on\nnode: error: no data\n", "no data", ""},
		{"one\nmodule: passed on\n", "one", ""},
	} {
		for _, size := range []int{1, 7, 1 << 20} {
			var passed []string
			w := stderrParser{passOn: func(line string) { passed = append(passed, line) }}
			for rest := c.said; rest != ""; {
				n := min(size, len(rest))
				fmt.Fprint(&w, rest[:n])
				rest = rest[n:]
			}
			if line, stack := w.summary(); line != c.line || stack != c.stack {
				t.Errorf("%.40q in pieces of %d: %.80q and %.80q, want %.80q and %.80q", c.said, size, line,
					stack, c.line, c.stack)
			}
			want := strings.Count(c.said, "refused") + strings.Count(c.said, "passed on")
			if got := len(passed); got != want {
				t.Errorf("%q: passed on %q, want %d lines", c.said, passed, want)
			}
		}
	}
}
