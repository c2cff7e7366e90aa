// Command model checks, describes and compares models that trainings have written, and predicts with them.
package main

import (
	"io"
	"os"

	"golang.org/x/term"

	_ "tandem/datasets/blob"    // tables may be objects of s3:// URLs
	_ "tandem/datasets/parquet" // the rows to predict may be in Parquet files
	"tandem/internal/cli"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run runs the program and returns its exit code.
func run(args []string, stdout, stderr io.Writer) int {
	p := &program{stdout: stdout, stderr: stderr, terminal: term.IsTerminal(int(os.Stderr.Fd()))}
	command := p.command()
	command.SetArgs(args)
	return cli.PrintError(stderr, "model", command.Execute())
}
