package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tandem/algo/job"
	"tandem/internal/cli"
	"tandem/sim/predict"
	"tandem/sim/timeline"
)

const traceUsage = `Write what every station did as a trace for Perfetto.

The file is a trace in Chrome's JSON format: open it at https://ui.perfetto.dev
or in chrome://tracing. It has the steps that a prediction measures, from 0 on.
Every role is a process, with its work, accelerator, copies and host thread as
tracks; the cores, memories and network cards of hosts are counters of what is
busy. Arrows follow a batch from role to role. Systems with the tables on the
accelerators have the streams of the slowest rank.

The busy time of a track over the length of the trace is the share of the time
that sim run prints for its station; below are the busiest.
` + common

const traceExamples = `  go run ./cmd/sim trace hybrid.json
  go run ./cmd/sim trace h100.json --preset dgx-h100 --gpus 16
  go run ./cmd/sim trace sync.json --mode sync --gpus 8 --slow nn-worker/1=1.5`

// traceCommand returns the command that writes a trace.
func (p *program) traceCommand() *cobra.Command {
	f := &flags{kind: tracing}
	c := &cobra.Command{
		Use: "trace FILE", Short: "Write what every station did, as a trace for Perfetto",
		Long: traceUsage + "\n\n" + job.ModeSettingsHelp(), Example: traceExamples,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.UsageError("such as go run ./cmd/sim trace hybrid.json",
					"trace: %d names; want one, of a new file", len(args))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkNewFile("trace", args[0]); err != nil {
				return err
			}
			q, err := p.request(c, f)
			if err == nil {
				q.command = strings.Replace(q.command, " trace", " trace "+quote(args[0]), 1)
				err = p.writeTimeline(q, args[0])
			}
			return advise(err)
		},
	}
	f.register(c.Flags())
	return c
}

// writeTimeline simulates the job of a request and writes what its stations did.
func (p *program) writeTimeline(q *request, name string) error {
	start := time.Now()
	r, line, err := q.record(p)
	if err != nil {
		return err
	}
	out, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer out.Close()
	if err := line.WriteTrace(out); err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	if q.json {
		return printJSON(p.stdout, traceDocument{name, line.To.Seconds() - line.From.Seconds(),
			len(line.Tracks), len(line.Arrows), r.Mid.Stations, time.Since(start).Seconds(), q.command})
	}
	var text bytes.Buffer
	cli.Paragraph(&text, fmt.Sprintf("%s, %s on %s: %s ms of %d tracks and %d arrows are in %s; open it at "+
		"https://ui.perfetto.dev.", q.job.Name, q.modes[0], q.units(q.gpus[0]),
		digits(*ms(line.To - line.From)), len(line.Tracks), len(line.Arrows), name), "")
	writeStations(&text, &r.Mid)
	_, err = p.stdout.Write(text.Bytes())
	return err
}

// traceDocument is the JSON object of a trace.
type traceDocument struct {
	File        string  `json:"file"`
	Seconds     float64 `json:"seconds"` // simulated
	Tracks      int     `json:"tracks"`
	Arrows      int     `json:"arrows"`
	Stations    any     `json:"stations"`
	WallSeconds float64 `json:"wall_s"`
	Reproduce   string  `json:"reproduce"`
}

// record predicts the job of a request with one seed, and returns what its stations did. Where a prediction
// shows a sampled point, so does this one.
func (q *request) record(p *program) (*predict.Prediction, *timeline.Timeline, error) {
	progress := cli.NewProgress(p.stderr, p.terminal)
	defer progress.Close()
	line := &timeline.Timeline{}
	o := q.predictions()
	o.Timeline, o.WithoutEnds, o.Samples = line, true, 1
	if q.graph() {
		o.Samples = predict.SamplesDefault
	}
	o.Step = func(done, all int) { progress.Show(done, all, "steps") }
	r, err := predict.Run(context.Background(), q.question(q.modes[0], q.gpus[0]), o)
	return r, line, err
}

// writeStations writes the busiest stations.
func writeStations(w io.Writer, r *predict.Result) {
	fmt.Fprintln(w, "\nBusiest stations, by their share of the time, and how many wait there:")
	for _, s := range r.Stations[:min(5, len(r.Stations))] {
		fmt.Fprintf(w, "  %3.0f %%  %-32s %s\n", 100*s.Busy, s.Name, digits(s.Queue))
	}
}
