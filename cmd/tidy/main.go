// Command tidy checks the house rules: what may import what, what algo and sim
// may not call, what must be documented, how long and how wide things may grow,
// which words prose does without, how long its paragraphs are and how many
// parentheses a sentence has, and how generated files are named. Every rule
// stands in a file of its own with its reason.
//
//	go run ./cmd/tidy             # from the root of the repository
//	go run ./cmd/tidy algo sim    # prints what is in these folders alone
//	go test ./cmd/tidy            # the whole check, and tests of the rules themselves
//
// It also compares ARCHITECTURE.md with the tree.
//
// It prints one violation a line, as file:line: rule: what to do, and exits
// with 1 if there are any, with 2 if it cannot run.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"tandem/internal/cli"
)

const help = `tidy checks the house rules on the repository whose root is the working folder:
what may import what, what algo and sim may not call, what must be documented,
how long and how wide things may grow, which words prose does without, how long
its paragraphs are and how many parentheses a sentence has, and how generated
files are named. It prints one violation a line, as file:line: rule: what to do.

Given folders, it prints what is in these folders and below. ARCHITECTURE.md is in
none of them: without folders it is compared with the tree.

  go run ./cmd/tidy
  go run ./cmd/tidy algo cmd/train

Exit status: 0 no violation, 1 some, 2 it cannot run.
`

func main() { os.Exit(tidy(".", os.Args[1:], os.Stdout, os.Stderr)) }

// tidy is main with its surroundings and the exit code as result.
func tidy(root string, args []string, stdout, stderr io.Writer) int {
	if len(args) == 1 && (args[0] == "--help" || args[0] == "-h") {
		fmt.Fprint(stdout, help)
		return 0
	}
	if len(args) == 1 && args[0] == "--version" {
		fmt.Fprintln(stdout, "tidy: "+cli.Version())
		return 0
	}
	violations, err := checkAsAsked(root, args)
	if err != nil {
		return cli.PrintError(stderr, "tidy", err)
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
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		return nil, cli.UsageError("", "no go.mod in this folder: run tidy from the root of the repository")
	}
	var folders []string
	for _, arg := range args {
		if strings.HasPrefix(arg, "-") {
			return nil, cli.UsageError("see go run ./cmd/tidy --help", "unknown flag %s", arg)
		}
		folder := filepath.Clean(arg)
		if info, err := os.Stat(filepath.Join(root, folder)); err != nil || !info.IsDir() ||
			!filepath.IsLocal(folder) {
			return nil, cli.UsageError("name folders from the root of the repository",
				"%s is not a folder of the repository", arg)
		}
		folders = append(folders, filepath.ToSlash(folder))
	}
	violations, err := check(root, folders...)
	if err != nil {
		return nil, &cli.Error{Err: err, Usage: true}
	}
	return violations, nil
}
