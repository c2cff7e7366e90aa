package cli

import (
	"errors"
	"fmt"
	"io"
)

// Fault is an error with what the user can do about it.
type Fault struct {
	Err   error
	Hint  string // one line; empty for none
	Usage bool   // the command line is at fault
}

// Error implements error.
func (f *Fault) Error() string { return f.Err.Error() }

// Unwrap returns the error without the hint.
func (f *Fault) Unwrap() error { return f.Err }

// Misuse returns a fault of the command line.
func Misuse(hint, format string, args ...any) error {
	return &Fault{Err: fmt.Errorf(format, args...), Hint: hint, Usage: true}
}

// Explain writes an error of a program and its hint, if any, each on one line,
// and returns the exit code: 0 without an error, 2 for a fault of the command
// line, else 1.
func Explain(w io.Writer, program string, err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintf(w, "%s: error: %v\n", program, err)
	var f *Fault
	if !errors.As(err, &f) {
		return 1
	}
	if f.Hint != "" {
		fmt.Fprintf(w, "%s: hint: %s\n", program, f.Hint)
	}
	if f.Usage {
		return 2
	}
	return 1
}
