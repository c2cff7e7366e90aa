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
	"io"
	"os"
	"path/filepath"

	"tandem/internal/cli"
)

const help = `tidy checks the house rules on the repository whose root is the working folder:
what may import what, what algo and sim may not call, what must be documented,
and how long things may grow. It prints one violation a line, as
file:line: rule: what to do. It takes no arguments.

  go run ./cmd/tidy

Exit status: 0 no violation, 1 some, 2 it cannot run.
`

func main() { os.Exit(tidy(".", os.Args[1:], os.Stdout, os.Stderr)) }

// tidy is main with its surroundings and the exit code as result.
func tidy(root string, args []string, stdout, stderr io.Writer) int {
	if len(args) == 1 && (args[0] == "--help" || args[0] == "-h") {
		fmt.Fprint(stdout, help)
		return 0
	}
	violations, err := checkAsAsked(root, args)
	if err != nil {
		return cli.Explain(stderr, "tidy", err)
	}
	for _, v := range violations {
		fmt.Fprintln(stdout, v)
	}
	if len(violations) > 0 {
		return 1
	}
	return 0
}

// checkAsAsked checks the repository at root. Its errors are such that tidy
// exits with 2.
func checkAsAsked(root string, args []string) ([]Violation, error) {
	if len(args) > 0 {
		return nil, cli.Misuse("see go run ./cmd/tidy --help", "unknown argument %q: tidy takes none", args[0])
	}
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		return nil, cli.Misuse("", "no go.mod in this folder: run tidy from the root of the repository")
	}
	violations, err := check(root)
	if err != nil {
		return nil, &cli.Fault{Err: err, Usage: true}
	}
	return violations, nil
}
