// Command tidy checks the house rules: what may import what, what algo and sim
// may not call, what must be documented, and how long things may grow. Every
// rule stands in a file of its own with its reason.
//
//	go run ./cmd/tidy     # from the root of the repository
//	go test ./cmd/tidy    # the same, and tests of the rules themselves
//
// It prints one violation a line, as file:line: rule: what to do, and exits
// with 1 if there are any, with 2 if it cannot run.
package main

import (
	"fmt"
	"os"
)

func main() {
	violations, err := check(".")
	if err != nil {
		fmt.Fprintf(os.Stderr, "tidy: error: %v\n", err)
		os.Exit(2)
	}
	for _, v := range violations {
		fmt.Println(v)
	}
	if len(violations) > 0 {
		os.Exit(1)
	}
}
