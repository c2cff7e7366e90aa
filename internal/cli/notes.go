package cli

import (
	"fmt"
	"io"
)

// PrintNotes writes facts that the user should know, one a line.
func PrintNotes(w io.Writer, program string, notes []string) {
	for _, note := range notes {
		fmt.Fprintf(w, "%s: %s\n", program, note)
	}
}
