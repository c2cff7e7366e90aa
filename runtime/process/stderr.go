package process

import (
	"bytes"
	"strings"
	"sync"
)

// stderrParser reads the standard error of a process. It stores what explains the end of the process: its
// panic with the stack, the line with its error, or its last line. It passes on lines about refusals, and
// what a module of PyTorch prints.
type stderrParser struct {
	passOn func(line string)

	mu        sync.Mutex
	line      []byte // the current line, not complete
	errorLine string
	lastLine  string
	panicked  []byte // the panic, from its first line
}

const (
	// lineMax is how many bytes of a line are stored.
	lineMax = 16 << 10
	// panicMax is how many bytes of a panic are stored.
	panicMax = 256 << 10
	// errorPrefix begins the line with the error of cmd/node. refusalPrefix begins a line about a refusal of
	// its transport, and modulePrefix one of a module: see torch.Prefix.
	errorPrefix, refusalPrefix, modulePrefix = "node: error: ", "node: transport: ", "module: "
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

// endLine handles a complete line.
func (w *stderrParser) endLine() {
	line := string(w.line)
	w.line = w.line[:0]
	switch {
	case strings.HasPrefix(line, modulePrefix):
		w.passOn(line)
	case len(w.panicked) > 0 || strings.HasPrefix(line, "panic: ") ||
		strings.HasPrefix(line, "fatal error: "):
		if len(w.panicked) < panicMax {
			w.panicked = append(append(w.panicked, line...), '\n')
		}
	case strings.HasPrefix(line, errorPrefix):
		w.errorLine = strings.TrimPrefix(line, errorPrefix)
	case strings.HasPrefix(line, refusalPrefix):
		w.passOn(strings.TrimPrefix(line, refusalPrefix))
	case strings.TrimSpace(line) != "":
		w.lastLine = line
	}
}

// summary returns the line that best explains why the process has ended, or "" if it wrote nothing. It also
// returns the panic with its stack, if there was one.
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

// explains reports whether there was an error or a panic, not only some other last line.
func (w *stderrParser) explains() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.errorLine != "" || len(w.panicked) > 0
}
