package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"tandem/algo/job"
	"tandem/datasets"
	"tandem/datasets/infer"
	"tandem/internal/cli"
	"tandem/runtime/probe"
)

// table is the table of --data, and what is known of it.
type table struct {
	file                 string
	follow, complete     string
	spool                string
	blockRows            int
	blockTime            time.Duration
	label, positive      string
	weight, impressions  string
	labelValues          string
	split                string
	ids, numbers, ignore []string
}

// register declares the flags of a table.
func (t *table) register(fs *pflag.FlagSet) {
	fs.StringVar(&t.file, "data", "", "train on this `FILE`, delimited text with a header, plain or "+
		"compressed, or Parquet, whose columns are inferred; in mode hybrid unless --mode says more")
	fs.StringVar(&t.follow, "follow", "", "train on the files that arrive in this `FOLDER`, without an end, "+
		"and predict each before; or on rows of standard input (-), on objects as they appear in "+
		"s3://BUCKET/FOLDER/, or on messages of kafka://BROKER:9092/TOPIC; columns are inferred from the "+
		"first rows, as with --data; see docs/online.md")
	fs.StringVar(&t.complete, "complete", job.CompleteRenamed, "with --follow, take a file by this `RULE`: "+
		"renamed, when it is there, or followed, when there is one with a later name")
	fs.StringVar(&t.spool, "spool", "", "with --follow -, s3:// or kafka://, keep rows in this "+
		"`FOLDER` until a checkpoint has them (default: beside --out, with .rows at the end of its name)")
	fs.IntVar(&t.blockRows, "block-rows", 0,
		"with --follow - or kafka://, train when this `NUMBER` of rows has come (default 10000)")
	fs.DurationVar(&t.blockTime, "block-time", 0, "with --follow - or kafka://, train on the rows that "+
		"have come when this `TIME` has passed (default 1s)")
	fs.StringVar(&t.label, "label", "",
		"with --data, learn to predict this `COLUMN` (default: label, click, clicked, target or y)")
	fs.StringVar(&t.positive, "positive", "",
		"with --data, these labels are positive, by a `RULE`: texts as in yes,maybe, or a comparison as in "+
			"'>=4' (default: 1, true, yes and the like, or the rarer of two)")
	fs.StringVar(&t.labelValues, "label-values", "", "with --data, take labels for these `VALUES`: classes, "+
		"shares from 0 to 1, or numbers, by squared loss (default: by their values; of 3 to 10 numbers, "+
		"classes)")
	fs.StringVar(&t.weight, "weight", "",
		"with --data, count each row in the loss and in the metrics as this `COLUMN` says")
	fs.StringVar(&t.impressions, "impressions", "", "with --data, the label counts clicks of this `COLUMN`: "+
		"predict their share, and count a row once for each (default: impressions, if the label is clicks)")
	fs.StringVar(&t.split, "split", "random:0.2",
		"with --data, test on this `SHARE` of the rows: random:0.2, last:0.2, or time:COLUMN for the "+
			"fifth with the highest numbers or times there")
	fs.StringSliceVar(&t.ids, "ids", nil, "with --data, take these `COLUMNS` for ids")
	fs.StringSliceVar(&t.numbers, "numbers", nil, "with --data, take these `COLUMNS` for numbers")
	fs.StringSliceVar(&t.ignore, "ignore", nil, "with --data, leave these `COLUMNS` out")
}

// any reports whether there is a table.
func (t *table) any() bool { return t.file != "" || t.follow != "" }

// check refuses flags that do not go together.
func (t *table) check(given *pflag.FlagSet) error {
	if given.Changed("complete") && t.follow == "" {
		return cli.UsageError("a job file has it as data.complete", "--complete needs --follow")
	}
	from := job.Data{From: t.source()}
	for _, name := range []string{"spool", "block-rows", "block-time"} {
		sources, ok := "- or kafka://", from.From == job.FromInput || from.FromTopic()
		if name == "spool" {
			sources, ok = "-, s3:// or kafka://", from.From != ""
		}
		if given.Changed(name) && !ok {
			return cli.UsageError("see docs/online.md", "--%s: only with --follow %s", name, sources)
		}
	}
	if t.file != "" && t.follow != "" {
		return cli.UsageError("leave one of them out", "--data and --follow cannot be combined")
	}
	if t.any() {
		if given.Changed("file") {
			name := "data"
			if t.follow != "" {
				name = "follow"
			}
			return cli.UsageError("a job file names its data itself: leave one of them out",
				"--%s and --file cannot be combined", name)
		}
		return nil
	}
	for _, name := range []string{"label", "positive", "label-values", "weight", "impressions", "split",
		"ids", "numbers", "ignore"} {
		if given.Changed(name) {
			return cli.UsageError("a job file describes its columns itself", "--%s needs --data or --follow",
				name)
		}
	}
	return nil
}

// open infers the columns of the table, reads its rows, and returns a job for them. It describes the columns
// in a note.
func (t *table) open(policy string) (j job.Job, set *datasets.Dataset, note string, err error) {
	r := infer.Request{File: t.file, Options: t.options(), Memory: probe.Available()}
	if r.Split, err = infer.ParseSplit(t.split); err != nil {
		return j, nil, "", cli.UsageError("see --help", "--split: %v", err)
	}
	if err := r.OnBadRow.UnmarshalText([]byte(policy)); err != nil {
		return j, nil, "", cli.UsageError("see --help", "--%v", err)
	}
	j, set, found, err := infer.Open(r)
	if err != nil {
		return j, nil, "", &cli.Error{Err: err, Hint: infer.Hint(err)}
	}
	return j, set, describeTable(found), nil
}

// options returns what the flags say of the columns.
func (t *table) options() infer.Options {
	return infer.Options{Label: t.label, Positive: t.positive, LabelValues: t.labelValues, Weight: t.weight,
		Impressions: t.impressions, IDs: t.ids, Numbers: t.numbers, Ignore: t.ignore}
}

// suit changes what follows from flags that have changed the job.
func (t *table) suit(j *job.Job, f *flags, given *pflag.FlagSet) {
	infer.SetRowOptimizer(j, len(f.opened.Schema.Slots), infer.RowStep) // it depends on the batch
	if t.follow != "" {
		return
	}
	if !given.Changed("validation") && !given.Changed("epochs") && f.opened.Rows == nil {
		f.validation = infer.Share(f.opened)
	}
	if f.validation > 0 && !given.Changed("epochs") {
		j.Training.Epochs = infer.EpochsToTry(f.opened)
	}
	if j.Training.Epochs == 1 {
		f.validation = 0 // there is nothing to choose
	}
}

// describeTable returns what the columns were taken for, in a line.
func describeTable(found *infer.Table) string {
	names := map[infer.Use][]string{}
	for _, c := range found.Columns {
		name, remark := c.Name, c.Remark()
		if c.Use == infer.Ignored {
			remark = c.Why
		}
		if remark != "" {
			name += " (" + remark + ")"
		}
		names[c.Use] = append(names[c.Use], name)
	}
	text := fmt.Sprintf("label %s, %.2f %% positive", names[infer.Label][0], 100*found.LabelMean)
	if found.Data.LabelValues() != job.ClassLabels {
		text = fmt.Sprintf("label %s, mean %.4g", names[infer.Label][0], found.LabelMean)
	}
	if len(names[infer.Weight]) > 0 {
		text += "; weighted by " + strings.Join(names[infer.Weight], " × ")
	}
	if len(names[infer.ID]) > 0 {
		text += "; ids: " + strings.Join(names[infer.ID], ", ")
	}
	if len(names[infer.Number]) > 0 {
		text += "; numbers: " + strings.Join(names[infer.Number], ", ")
	}
	if len(names[infer.Ignored]) > 0 {
		text += "; left out: " + strings.Join(names[infer.Ignored], ", ")
	}
	return strings.Join(append([]string{text}, found.Notes...), "; ")
}
