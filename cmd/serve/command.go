package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"tandem/internal/cli"
	"tandem/runtime/inference"
	"tandem/runtime/metrics"
)

const usage = `Serve the predictions of a trained model.

A MODEL is a folder that a training has written, such as
results/20261123-130000-clicks/hybrid/model. The server speaks version 2 of the
Open Inference Protocol over HTTP, with tensors as JSON or as bytes:

  GET  /v2/health/live, /v2/health/ready, /v2
  GET  /v2/models/NAME, /v2/models/NAME/ready
  POST /v2/models/NAME/infer

A request has a tensor for each column of the training data, of shape [n, 1] or
[n]: BYTES for ids, FP32 for numbers. The answer is the tensor prediction, FP32
[n, labels]: probabilities of label 1. The server ends on SIGTERM or Ctrl-C,
after the requests under way.`

const examples = `  go run ./cmd/serve results/clicks/hybrid/model
  curl -s localhost:8000/v2/models/tandem
  curl -s localhost:8000/v2/models/tandem/infer -d '{"inputs": [
    {"name": "user", "shape": [1, 1], "datatype": "BYTES", "data": ["u17"]},
    {"name": "price", "shape": [1, 1], "datatype": "FP32", "data": [2.5]}]}'`

// settings are what the flags set.
type settings struct {
	address, name, metrics string
	requestMax             int64
}

func newCommand(stdout, stderr io.Writer) *cobra.Command {
	var s settings
	c := &cobra.Command{
		Use: "serve MODEL", Short: "Serve the predictions of a trained model", Long: usage, Example: examples,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.UsageError("see --help", "%d arguments, want 1: the folder of a model", len(args))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if s.name == "" || s.requestMax < 1 {
				return cli.UsageError("see --help", "--name must not be empty, and --max-request at least 1")
			}
			m, err := inference.Open(args[0])
			if err != nil {
				return err
			}
			return errors.Join(serve(c.Context(), m, s, stderr), m.Close())
		},
	}
	c.Flags().StringVar(&s.address, "http", "127.0.0.1:8000",
		"listen on this `ADDRESS`; port 0 takes a free one")
	c.Flags().StringVar(&s.name, "name", "tandem", "serve the model under this `NAME`")
	c.Flags().Int64Var(&s.requestMax, "max-request", 64<<20,
		"refuse requests of more than this number of `BYTES`")
	c.Flags().StringVar(&s.metrics, "metrics-address", "",
		"serve /metrics for Prometheus, /healthz and profiles at this `ADDRESS`")
	cli.Configure(c, stdout, stderr)
	return c
}

// The limits of a connection: a client that sends nothing must not keep one.
const (
	headerTime  = 10 * time.Second
	requestTime = 5 * time.Minute
	idleTime    = 2 * time.Minute
	headerMax   = 64 << 10
	// stopTime is how long requests under way may take when the server ends.
	stopTime = 10 * time.Second
)

// serve answers requests until ctx ends.
func serve(ctx context.Context, m *inference.Model, s settings, stderr io.Writer) error {
	served, err := newModel(m, s.name)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", s.address)
	if err != nil {
		return &cli.Error{Err: err, Hint: "choose another --http HOST:PORT"}
	}
	server := &http.Server{Handler: served.handler(s.requestMax), ReadHeaderTimeout: headerTime,
		ReadTimeout: requestTime, IdleTimeout: idleTime, MaxHeaderBytes: headerMax}
	fmt.Fprintf(stderr, "serve: model %s at http://%v/v2/models/%s\n", m.Folder(), listener.Addr(), s.name)
	if s.metrics != "" {
		observed, err := metrics.Serve(s.metrics, "serve", cli.CurrentEnvironment().Commit,
			served.counts.collect)
		if err != nil {
			return errors.Join(fmt.Errorf("--metrics-address: %w", err), listener.Close())
		}
		defer observed.Close()
		fmt.Fprintf(stderr, "serve: metrics are at %s\n", observed.URL())
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	stopping, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	return server.Shutdown(stopping)
}
