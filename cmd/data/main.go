// Command data looks at data sets: what a file holds, how skewed its ids are,
// and generated data of the same kind.
package main

import (
	"io"
	"os"

	_ "tandem/datasets/parquet" // data may be Parquet files
	"tandem/internal/cli"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is the program: its arguments, its outputs, its exit code.
func run(args []string, stdout, stderr io.Writer) int {
	p := &program{stdout: stdout, stderr: stderr, dataDir: os.Getenv("TANDEM_DATA")}
	command := p.command()
	command.SetArgs(args)
	return cli.PrintError(stderr, "data", command.Execute())
}
