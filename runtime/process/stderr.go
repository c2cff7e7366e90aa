package process

import (
	"bytes"
	"strings"
	"sync"
)

// words keeps what a process says of its end: its panic with the stack, the line with
// its error, or its last line. Lines about refusals go on to the launcher's user.
type stderrParser struct {
	refused func(line string)

	mu        sync.Mutex
	line      []byte // not ended yet
	errorLine string
	lastLine  string
	panicked  []byte // from the first line of the panic on
}

const (
	// lineMax is how much of a line is kept, in bytes.
	lineMax = 16 << 10
	// panicMax is how much of a panic is kept, in bytes.
	panicMax = 256 << 10
	// errorPrefix begins the line with the error of the program node, refusalPrefix one
	// about what its transport has refused.
	errorPrefix, refusalPrefix = "process: error: ", "process: transport: "
)

// Write implements io.Writer.
func (w *stderrParser) Write(text []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for rest := text; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		w.line = append(w.line, line[:min(len(line), max(0, lineMax-len(w.line)))]...)
		rest = after
		if ended {
			w.endLine()
		}
	}
	return len(text), nil
}

// endLine takes a line that has ended.
func (w *stderrParser) endLine() {
	line := string(w.line)
	w.line = w.line[:0]
	switch {
	case len(w.panicked) > 0 || strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: "):
		if len(w.panicked) < panicMax {
			w.panicked = append(append(w.panicked, line...), '\n')
		}
	case strings.HasPrefix(line, errorPrefix):
		w.errorLine = strings.TrimPrefix(line, errorPrefix)
	case strings.HasPrefix(line, refusalPrefix):
		w.refused(strings.TrimPrefix(line, refusalPrefix))
	case strings.TrimSpace(line) != "":
		w.lastLine = line
	}
}

// summary returns the line that says best why the process has ended, "" if it said nothing,
// and its panic with the stack, if there was one.
func (w *stderrParser) summary() (line, panicked string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.line) > 0 {
		w.endLine()
	}
	if len(w.panicked) > 0 {
		panicked = string(w.panicked)
		line, _, _ = strings.Cut(panicked, "\n")
		return line, panicked
	}
	if w.errorLine != "" {
		return w.errorLine, ""
	}
	return w.lastLine, ""
}
