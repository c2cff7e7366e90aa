// Command serve answers requests for predictions of a trained model, by the Open Inference Protocol.
//
// Requests in JSON are read in one pass, and the texts of a tensor alias the request. A fuzz test compares
// the reader with encoding/json.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"tandem/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run runs the program until ctx ends, and returns its exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	command := newCommand(stdout, stderr)
	command.SetArgs(args)
	return cli.PrintError(stderr, "serve", command.ExecuteContext(ctx))
}
