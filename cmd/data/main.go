// Command data describes data sets, profiles the distribution of their ids, and generates
// synthetic ones.
package main

import (
	"io"
	"os"

	_ "tandem/datasets/blob"    // and objects of s3:// URLs
	_ "tandem/datasets/parquet" // for data in Parquet files
	"tandem/internal/cli"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run runs the program and returns its exit code.
func run(args []string, stdout, stderr io.Writer) int {
	p := &program{stdout: stdout, stderr: stderr, dataDir: os.Getenv("TANDEM_DATA")}
	command := p.command()
	command.SetArgs(args)
	return cli.PrintError(stderr, "data", command.Execute())
}
