package cli

import (
	"errors"
	"fmt"
	"io"
)

// Error is an error with a hint: what the user can do about it.
type Error struct {
	Err   error
	Hint  string // one line; empty for none
	Usage bool   // the command line is wrong, so the exit code is 2
}

// Error implements error.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the error without the hint.
func (e *Error) Unwrap() error { return e.Err }

// UsageError returns an error about the command line. The hint may be empty.
func UsageError(hint, format string, args ...any) error {
	return &Error{Err: fmt.Errorf(format, args...), Hint: hint, Usage: true}
}

// MetricsError returns the error of a --metrics-address that cannot be served, with advice.
func MetricsError(err error) error {
	return &Error{Err: fmt.Errorf("--metrics-address: %w", err),
		Hint: "name another port, or port 0 for any free one"}
}

// PrintError writes an error of a program and its hint, if any, each on one line or, on a
// terminal, wrapped unless it has a command to copy. It returns the exit code: 0 for a nil
// error, 2 for an error about the command line, else 1.
func PrintError(w io.Writer, program string, err error) int {
	if err == nil {
		return 0
	}
	columns := terminalColumns(w)
	fmt.Fprintln(w, wrapMessage(fmt.Sprintf("%s: error: %v", program, err), columns))
	var e *Error
	if !errors.As(err, &e) {
		return 1
	}
	if e.Hint != "" {
		fmt.Fprintln(w, wrapMessage(program+": hint: "+e.Hint, columns))
	}
	if e.Usage {
		return 2
	}
	return 1
}
