package cli

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// PrintNotes writes facts that the user should know, one a line. On a terminal it wraps long
// ones, except those with a command to copy.
func PrintNotes(w io.Writer, program string, notes []string) {
	columns := terminalColumns(w)
	for _, note := range notes {
		fmt.Fprintln(w, wrapMessage(program+": "+note, columns))
	}
}

// TextColumns returns the width at which text for people is wrapped: that of the terminal, but at most
// Columns, or 80 for any other writer.
func TextColumns(w io.Writer) int {
	if columns := terminalColumns(w); columns > 0 {
		return columns
	}
	return 80
}

// terminalColumns returns the width at which messages to w are wrapped: that of the terminal, but at most
// Columns, or 0 for any other writer, whose lines are kept whole for programs that read them.
func terminalColumns(w io.Writer) int {
	columns, ok := terminalWidth(w)
	if !ok {
		return 0
	}
	return min(columns, Columns)
}

// terminalWidth returns the number of columns of a terminal; ok is false for any other writer.
func terminalWidth(w io.Writer) (columns int, ok bool) {
	file, isFile := w.(*os.File)
	if !isFile || !term.IsTerminal(int(file.Fd())) {
		return 0, false
	}
	columns, _, err := term.GetSize(int(file.Fd()))
	if err != nil || columns <= 0 {
		columns = Columns
	}
	return columns, true
}
