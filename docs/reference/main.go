// Command reference writes the reference of the job file: job.md, with every key, and job.schema.json, the
// same for editors. Run it in the root of the repository:
//
//	go run ./docs/reference
//
// Keys and defaults are those of the types of package algo/job, meanings are the comments of their fields,
// and ranges are what the checks of a job say of a value that cannot be. A test compares the files with the
// code.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"tandem/internal/cli"
)

func main() { os.Exit(run(".", os.Args[1:], os.Stderr)) }

// run writes the files below the root of the repository, and returns the exit code.
func run(root string, args []string, stderr io.Writer) int {
	if len(args) > 0 {
		return cli.PrintError(stderr, "reference",
			cli.UsageError("go run ./docs/reference writes the reference", "unexpected argument %q", args[0]))
	}
	files, err := generate(root)
	if err != nil {
		return cli.PrintError(stderr, "reference", err)
	}
	for _, f := range files {
		name := filepath.Join(root, "docs", "reference", f.name)
		if err := os.WriteFile(name, f.text, 0o644); err != nil {
			return cli.PrintError(stderr, "reference", err)
		}
	}
	return 0
}

// file is a generated file.
type file struct {
	name string
	text []byte
}

// generate returns the files.
func generate(root string) ([]file, error) {
	keys, err := allKeys(root)
	if err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	schema, err := schemaOf(keys)
	return []file{{"job.md", pageOf(keys)}, {"job.schema.json", schema}}, err
}
