// Command sim predicts the throughput of a training job on a cluster: it runs
// the job's roles in virtual time on hardware described by profiles.
package main

import (
	"io"
	"os"
	"runtime/debug"

	"golang.org/x/term"

	_ "tandem/datasets/parquet" // data may be Parquet files
	"tandem/internal/cli"
	"tandem/runtime/probe"
)

func main() {
	// Simulations make much garbage and keep little, so that a larger heap costs less than it saves.
	debug.SetGCPercent(400)
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run runs the program on arguments and returns its exit code.
func run(args []string, stdout, stderr io.Writer) int {
	p := &program{
		stdout: stdout, stderr: stderr, terminal: term.IsTerminal(int(os.Stderr.Fd())),
		dataDir: os.Getenv("TANDEM_DATA"), probe: probe.Run,
	}
	command := p.command()
	command.SetArgs(args)
	return cli.PrintError(stderr, "sim", command.Execute())
}
