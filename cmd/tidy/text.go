package main

import (
	"bytes"
	"fmt"
	"regexp"
)

// checkText finds text that must not be committed in any file.
func checkText(f *file) []Violation {
	// A path of somebody's own machine: a home or workspace folder at the root
	// of the file system, not a folder of that name inside a longer path.
	ownPath := regexp.MustCompile(`(?:^|[^\w.\-/])(/(?:work|root|home)/[\w./\-]*)`)
	// Work put off. The words are split so that this file passes.
	putOff := regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME)\b(\([^)]+\))?`)

	var found []Violation
	number := 0
	for line := range bytes.Lines(f.text) {
		number++
		if m := ownPath.FindSubmatch(line); m != nil {
			found = append(found, Violation{f.path, number, "own-path",
				fmt.Sprintf("%s exists on one machine only: use a path from the root of the repository, a "+
					"flag or TANDEM_DATA", m[1])})
		}
		if m := putOff.FindSubmatch(line); m != nil && len(m[2]) == 0 {
			found = append(found, Violation{f.path, number, "put-off",
				fmt.Sprintf("%s without a reason: do it, or write %s(why it must wait)", m[1], m[1])})
		}
	}
	return found
}
