// Command train trains a recommender model in this process, in one mode after
// another, and prints how they compare.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"

	_ "tandem/datasets/parquet" // data may be Parquet files
	"tandem/internal/cli"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is the program: its arguments, its outputs, its exit code.
func run(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	p := &program{
		stdout: stdout, stderr: stderr, terminal: term.IsTerminal(int(os.Stderr.Fd())),
		dataDir: os.Getenv("TANDEM_DATA"), now: time.Now,
	}
	command := p.command()
	command.SetArgs(args)
	return cli.PrintError(stderr, "train", command.ExecuteContext(ctx))
}
