// Command train trains a recommender model in one mode after another, in this process or in
// several, and prints how the modes compare.
package main

import (
	"context"
	"fmt"
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

// run runs the program on arguments and returns its exit code.
func run(args []string, stdout, stderr io.Writer) int {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	p := &program{
		stdin: os.Stdin, stdout: stdout, stderr: stderr, terminal: term.IsTerminal(int(os.Stderr.Fd())),
		dataDir: os.Getenv("TANDEM_DATA"), now: time.Now, args: args,
		interrupt: cli.NewInterruption(stop, func() {
			fmt.Fprintln(stderr,
				"train: interrupted: saving after the batches in flight; again to stop at once")
		}),
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	go p.interrupt.Receive(ctx, signals)
	command := p.command()
	command.SetArgs(args)
	return cli.PrintError(stderr, "train", command.ExecuteContext(ctx))
}
