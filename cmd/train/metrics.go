package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/pflag"

	"tandem/internal/cli"
	"tandem/runtime/metrics"
)

// metricsFlag declares the address of the metrics.
func (f *flags) metricsFlag(fs *pflag.FlagSet) {
	fs.StringVar(&f.metrics, "metrics-address", "", "serve /metrics for Prometheus, /healthz and "+
		"/debug/pprof at this `HOST:PORT`, where port 0 is any free one (default: nowhere)")
}

// serveMetrics serves the metrics of the trainings if the user asks for them. It returns what ends that.
func (w *watcher) serveMetrics(address string) (func(), error) {
	if address == "" {
		return func() {}, nil
	}
	server, err := metrics.Serve(address, "train", cli.Commit(), w.collect)
	if err != nil {
		return nil, cli.MetricsError(err)
	}
	fmt.Fprintf(w.p.stderr, "train: metrics are at %s\n", server.URL())
	return func() { _ = server.Close() }, nil // the process ends anyway
}

// collect adds the metrics of the trainings so far.
func (w *watcher) collect(to *metrics.Snapshot) {
	w.mu.Lock()
	defer w.mu.Unlock()
	done := 0
	for _, t := range w.trainings {
		if t.ended {
			done++
		}
		t.collect(to)
	}
	to.Add(metrics.Trainings, float64(w.all))
	to.Add(metrics.TrainingsDone, float64(done))
	if w.arena != nil {
		if use, err := w.arena.Use(); err == nil {
			to.Add(metrics.RowMemory, float64(use.Allocated))
		}
	}
}

// collect adds the metrics of one training.
func (t *watched) collect(to *metrics.Snapshot) {
	labels := []string{"mode", t.name, "seed", strconv.FormatUint(t.seed, 10)}
	n := t.Now()
	if t.ended {
		n.Seconds, n.SamplesPerSecond = t.seconds, float64(n.Samples)/t.seconds
	}
	metrics.AddTraining(to, n, labels...)
	if t.evaluations > 0 {
		metrics.AddEvaluation(to, t.latest, labels...)
	}
}
