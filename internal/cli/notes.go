package cli

import (
	"fmt"
	"io"
)

// Notes writes what a user should know of, one line each.
func Notes(w io.Writer, program string, notes []string) {
	for _, note := range notes {
		fmt.Fprintf(w, "%s: %s\n", program, note)
	}
}
