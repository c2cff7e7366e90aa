package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	_ "tandem/datasets/blob"    // and objects of s3:// URLs
	_ "tandem/datasets/parquet" // data may be Parquet files
	"tandem/internal/cli"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run runs the program on arguments and returns its exit code.
func run(args []string, stdout, stderr io.Writer) int {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	p := &program{stdout: stdout, stderr: stderr, dataDir: os.Getenv("TANDEM_DATA"),
		interrupt: cli.NewInterruption(stop, func() {
			fmt.Fprintln(stderr,
				"node: interrupted: the run ends after the batches in flight; again to stop at once")
		})}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	go p.interrupt.Receive(ctx, signals)
	command := p.command()
	command.SetArgs(args)
	err := command.ExecuteContext(ctx)
	if err != nil && ctx.Err() != nil {
		err = errors.New("interrupted; every role of the run stops")
	}
	return cli.PrintError(stderr, "node", err)
}
