package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/spf13/cobra"

	"tandem/algo/exec/backend"
	"tandem/datasets/infer"
	"tandem/internal/cli"
	"tandem/runtime/probe"
)

const initUsage = `Write a job file for a table, with a comment for every key: what it means, and
why it has its value.

Columns are inferred, and model and epochs are chosen on held-back training
rows, as in "go run ./cmd/train --data FILE". The job file trains the same
model.`

const initExamples = `  go run ./cmd/data init clicks.csv --label clicked > job.yaml
  go run ./cmd/train --file job.yaml`

// initCommand returns the command that writes a job file.
func (p *program) initCommand() *cobra.Command {
	var r infer.Request
	var split string
	policy := "fail"
	c := &cobra.Command{
		Use: "init FILE", Short: "Write a commented job file for a table", Long: initUsage,
		Example: initExamples,
		RunE: func(c *cobra.Command, args []string) (err error) {
			if len(args) != 1 {
				return cli.UsageError("see --help", "init takes one FILE, got %d", len(args))
			}
			r.File, r.Memory = args[0], probe.Available()
			if r.Split, err = infer.ParseSplit(split); err != nil {
				return cli.UsageError("see --help", "--split: %v", err)
			}
			if err := r.OnBadRow.UnmarshalText([]byte(policy)); err != nil {
				return cli.UsageError("see --help", "--%v", err)
			}
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
			defer stop()
			return p.init(ctx, r)
		},
	}
	fs := c.Flags()
	fs.SortFlags = false
	fs.StringVar(&r.Label, "label", "",
		"learn to predict this `COLUMN` (default: label, click, clicked, target or y)")
	fs.StringVar(&r.Positive, "positive", "",
		"these labels are positive, by a `RULE`: texts as in yes,maybe, or a comparison as in '>=4'\n"+
			"(default: 1, true, yes and the like, or the rarer of two)")
	fs.StringVar(&r.LabelValues, "label-values", "",
		"take labels for these `VALUES`: classes, shares from 0 to 1, or numbers, by squared loss\n"+
			"(default: by their values; of 3 to 10 numbers, classes)")
	fs.StringVar(&r.Weight, "weight", "",
		"count each row in the loss and in the metrics as this `COLUMN` says")
	fs.StringVar(&r.Impressions, "impressions", "",
		"the label counts clicks of this `COLUMN`: predict their share, and count a row once for each\n"+
			"(default: impressions, if the label is clicks)")
	fs.StringVar(&split, "split", "random:0.2",
		"test on this `SHARE` of the rows: random:0.2, last:0.2, or time:COLUMN")
	fs.StringSliceVar(&r.IDs, "ids", nil, "take these `COLUMNS` for ids")
	fs.StringSliceVar(&r.Numbers, "numbers", nil, "take these `COLUMNS` for numbers")
	fs.StringSliceVar(&r.Ignore, "ignore", nil, "leave these `COLUMNS` out")
	fs.StringVar(&policy, "on-bad-row", policy, "handle malformed rows by this `RULE`: fail, or skip:N")
	return c
}

// init writes the job file of a table.
func (p *program) init(ctx context.Context, r infer.Request) error {
	j, set, found, err := infer.Open(r)
	if err != nil {
		return &cli.Error{Err: err, Hint: infer.Hint(err)}
	}
	cli.PrintNotes(p.stderr, "data", found.Notes)
	j, err = infer.Decide(ctx, j, set, backend.Backend{})
	if err != nil {
		return err
	}
	text, err := infer.JobFile(j, fmt.Sprintf("Made from %d training rows of %s by \"go run ./cmd/data "+
		"init\". To train: go run ./cmd/train --file THIS-FILE", set.TrainRows(), r.File))
	if err != nil {
		return err
	}
	_, err = p.stdout.Write(text)
	return err
}
