package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"tandem/algo/exec/backend"
	"tandem/internal/cli"
	"tandem/runtime/checkpoint"
	"tandem/runtime/inference"
	"tandem/runtime/metrics"
	"tandem/runtime/torch"
)

const usage = `Serve the predictions of a trained model.

A MODEL is a folder that a training has written, such as
results/20261123-130000-clicks/hybrid/model, or the folder of a mode, such as
results/20261123-130000-clicks/hybrid: then the newest of its model and its
checkpoints is served, and replaced when there is a newer one. With --follow it
is the folder of the results of a training that runs, or will. The server speaks
version 2 of the Open Inference Protocol, over HTTP with tensors as JSON or as
bytes:

  GET  /v2/health/live, /v2/health/ready, /v2
  GET  /v2/models/NAME, /v2/models/NAME/ready
  POST /v2/models/NAME/infer

and with --grpc over gRPC: ServerLive, ServerReady, ServerMetadata, ModelReady,
ModelMetadata and ModelInfer of inference.GRPCInferenceService.

A request has a tensor for each column of the training data, of shape [n, 1] or
[n]: BYTES for ids, or whole numbers such as INT64; FP32 for numbers, or others
such as FP64 and INT64. The answer is the tensor prediction, FP32
[n, labels]: probabilities of label 1 or, of a model with squared loss, numbers.
Requests that wait for a core are computed together. The server ends on SIGTERM
or Ctrl-C, after the requests under way.

A model with a module of PyTorch is computed by its ONNX, with onnxruntime, a
library that TANDEM_ONNXRUNTIME names: see docs/pytorch.md.

With --tls-cert and --tls-key connections are encrypted; with --client-ca only
clients with a certificate are let in, with --token-file only requests with a
token. Metrics are behind the same door. Without a token, only health over HTTP
is answered. docs/security.md says what is protected against whom.`

const examples = `  go run ./cmd/serve results/clicks/hybrid/model
  go run ./cmd/serve results/clicks/hybrid --grpc 127.0.0.1:8001 --reload 1m
  go run ./cmd/serve --follow results/clicks --stale-after 1m
  go run ./cmd/serve results/clicks/hybrid --http 0.0.0.0:8000 \
      --tls-cert tls.crt --tls-key tls.key --token-file tokens
  curl -s localhost:8000/v2/models/tandem
  curl -s localhost:8000/v2/models/tandem/infer -d '{"inputs": [
    {"name": "user", "shape": [1, 1], "datatype": "BYTES", "data": ["u17"]},
    {"name": "price", "shape": [1, 1], "datatype": "FP32", "data": [2.5]}]}'`

// settings are what the flags set.
type settings struct {
	http, grpc, name, metrics string
	requestMax                int
	rowsMax                   int
	limits                    inference.QueueLimits
	concurrent                int
	timeMax                   time.Duration
	door                      doorFlags
	reload                    time.Duration
	follow                    bool
	staleAfter                time.Duration
	runModule                 bool
}

// validate returns a usage error if a flag has a value out of range.
func (s *settings) validate() error {
	switch {
	case s.name == "":
		return cli.UsageError("see --help", "--name must not be empty")
	case s.requestMax < 1 || s.rowsMax < 1 || s.limits.Rows < 1 || s.limits.Waiting < 1 || s.concurrent < 1:
		return cli.UsageError("see --help", "--max-request, --max-rows, --batch-rows, --max-waiting and "+
			"--max-concurrent must be at least 1")
	case s.timeMax <= 0:
		return cli.UsageError("see --help", "--max-time %v: must be positive", s.timeMax)
	case s.reload < 0:
		return cli.UsageError("see --help", "--reload %v: must not be negative", s.reload)
	case s.staleAfter < 0:
		return cli.UsageError("see --help", "--stale-after %v: must not be negative", s.staleAfter)
	case s.follow && s.reload == 0:
		return cli.UsageError("leave out --reload, or give it a time",
			"--follow looks for newer models, and --reload 0 for none")
	case s.staleAfter > 0 && !s.follow:
		return cli.UsageError("add --follow", "--stale-after: the server follows no training")
	}
	return s.door.validate(s.http, s.grpc, s.metrics)
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
			if err := s.validate(); err != nil {
				return err
			}
			if s.follow && !c.Flags().Changed("reload") {
				s.reload = followPeriod
			}
			machine := backend.Backend{Graph: inference.ByGraph(
				"add --run-module, which runs its text, if you trust the model")}
			if s.runModule {
				modules := torch.FromEnvironment(stderr)
				defer modules.Close()
				machine = backend.Backend{Torch: modules.SavedEngine}
			}
			m, f, err := s.open(c.Context(), machine, filepath.Clean(args[0]), stderr)
			if m == nil || err != nil {
				return err
			}
			if err := check(m); err != nil {
				return errors.Join(err, m.Close())
			}
			return serve(c.Context(), m, f, s, stderr)
		},
	}
	f := c.Flags()
	f.StringVar(&s.http, "http", "127.0.0.1:8000",
		"listen for HTTP on this `ADDRESS`; port 0 takes a free one")
	f.StringVar(&s.grpc, "grpc", "", "listen for gRPC on this `ADDRESS`, too (default: no gRPC)")
	f.StringVar(&s.name, "name", "tandem", "serve the model under this `NAME`")
	f.IntVar(&s.requestMax, "max-request", 64<<20, "refuse requests of more than this number of `BYTES`")
	f.IntVar(&s.rowsMax, "max-rows", 10000, "refuse requests of more than this number of `ROWS`")
	f.IntVar(&s.limits.Rows, "batch-rows", 64, "compute waiting requests together, up to this number of "+
		"`ROWS`; 1: each by itself")
	f.IntVar(&s.limits.Waiting, "max-waiting", 1024, "refuse requests while this number of `REQUESTS` waits")
	f.IntVar(&s.concurrent, "max-concurrent", 256, "refuse requests while this number of `REQUESTS` is read "+
		"or answered")
	f.DurationVar(&s.timeMax, "max-time", time.Minute, "refuse requests that take longer than this `TIME`, "+
		"reading included")
	f.StringVar(&s.door.certificate, "tls-cert", "", "encrypt with the certificate in this `FILE`, which is "+
		"read again when it changes (default: no encryption)")
	f.StringVar(&s.door.key, "tls-key", "", "the key of --tls-cert is in this `FILE`")
	f.StringVar(&s.door.clientCA, "client-ca", "", "take connections only from clients with a certificate "+
		"of an authority in this `FILE` (default: from all)")
	f.StringVar(&s.door.tokens, "token-file", "", "answer only requests with a token of this `FILE`, which "+
		"has one a line: Authorization: Bearer TOKEN (default: all)")
	f.DurationVar(&s.reload, "reload", 10*time.Second,
		"look for a newer model after every `PERIOD`; 0: never (default 10s, with --follow 200ms)")
	f.BoolVar(&s.follow, "follow", false, "serve the models of a training while it runs: MODEL is the "+
		"folder of its results, or of a mode in it, and may not be there yet")
	f.DurationVar(&s.staleAfter, "stale-after", 0, "with --follow, say so when the newest model is older "+
		"than this `TIME` (default: never)")
	f.BoolVar(&s.runModule, "run-module", false, "serve a model with a module of PyTorch: run its text, "+
		"as a program with the rights of this one (default: compute its ONNX)")
	f.StringVar(&s.metrics, "metrics-address", "",
		"serve /metrics for Prometheus, /healthz and, to this machine alone, profiles at this `ADDRESS`")
	cli.DefaultInText(f, "reload")
	cli.Configure(c, stdout, stderr)
	return c
}

const (
	// followPeriod is how often a folder is read in which a training saves models.
	followPeriod = 200 * time.Millisecond
	// followPatience is how long the files of a model may take to arrive, as by a copy from another machine.
	followPatience = 10 * time.Second
)

// open opens the newest model of a folder, and returns what finds newer ones. With --follow it waits for the
// first model.
func (s *settings) open(ctx context.Context, machine backend.Backend, folder string, stderr io.Writer) (
	m *inference.Model, f *follower, err error) {
	if s.follow {
		t := &training{results: folder, machine: machine}
		m, err = t.first(ctx, s.reload, stderr)
		return m, &follower{find: t.newest, training: t, patience: followPatience, staleAfter: s.staleAfter,
			log: stderr}, err
	}
	find := func() (string, *checkpoint.Manifest, error) { return checkpoint.NewestModel(folder) }
	newest, _, err := find()
	if err != nil {
		return nil, nil, err
	}
	m, err = inference.OpenOn(machine, newest)
	return m, &follower{find: find, log: stderr}, err
}

// serve answers requests with a model, and with newer ones that a follower finds, until ctx ends. It closes
// the model.
func serve(ctx context.Context, m *inference.Model, f *follower, s settings, stderr io.Writer) (err error) {
	say := func(line string) { fmt.Fprintf(stderr, "serve: %s\n", line) }
	d, err := openDoor(s.door, say)
	if err != nil {
		return errors.Join(err, m.Close())
	}
	defer d.refusals.LogCounts()
	served := &service{name: s.name, rowsMax: s.rowsMax, timeMax: s.timeMax,
		slots: make(chan struct{}, s.concurrent), say: say}
	s.limits.Computed = served.counts.computed
	served.live = inference.NewLive(m, s.limits)
	defer func() { err = errors.Join(err, served.live.Close()) }()
	var all servers
	defer func() { all.close() }()
	if err := all.listen(served, d, s); err != nil {
		return err
	}
	if s.metrics != "" {
		collect := func(to *metrics.Snapshot) {
			d.counts.Collect(to)
			served.collect(to)
		}
		observed, err := metrics.Serve(s.metrics, "serve", cli.Commit(), collect,
			d.protect)
		if err != nil {
			return fmt.Errorf("--metrics-address: %w", err)
		}
		defer observed.Close()
		fmt.Fprintf(stderr, "serve: metrics are at %s\n", observed.URL())
	}
	fmt.Fprintf(stderr, "serve: model %s of step %d at %s://%v/v2/models/%s%s\n", m.Folder(), m.Steps(),
		all.scheme(), all.httpListener.Addr(), s.name, all.grpcText())
	var following sync.WaitGroup
	defer following.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if s.reload > 0 {
		f.service = served
		following.Go(func() { f.follow(ctx, s.reload) })
	}
	return all.run(ctx)
}
