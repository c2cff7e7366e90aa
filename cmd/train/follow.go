package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"tandem/algo/job"
	"tandem/algo/unit"
	"tandem/datasets"
	"tandem/datasets/infer"
	"tandem/internal/cli"
	"tandem/runtime/blas"
	"tandem/runtime/checkpoint"
	"tandem/runtime/cuda/engine"
	"tandem/runtime/memory"
	"tandem/runtime/train"
)

// ledgerName is the file within the results that says which files of a stream were trained on.
const ledgerName = "stream.jsonl"

// source returns the data.From of --follow: "" if it is a folder.
func (t *table) source() string {
	if t.follow == job.FromInput || job.IsURL(t.follow) {
		return t.follow
	}
	return ""
}

// spooled returns where the rows of --follow come from and are kept.
func (t *table) spooled(out string) job.Data {
	data := job.Data{Kind: job.KindFollow, Path: t.follow, Complete: t.complete, From: t.source()}
	if data.From == "" {
		return data
	}
	data.Path = t.spool
	if data.Path == "" && out != "" {
		data.Path = filepath.Clean(out) + ".rows"
	}
	data.Block = job.Block{Rows: t.blockRows, Time: unit.Tick(t.blockTime.Nanoseconds())}
	return data
}

// openStream waits for the first file of --follow, infers its columns, and returns a job for the rows that
// arrive. It describes the columns in a note.
func (f *flags) openStream(ctx context.Context, in io.Reader, log io.Writer) (j job.Job, note string,
	err error) {
	data := f.table.spooled(f.out)
	r := infer.Request{File: data.Path, Options: f.table.options()}
	if err := r.OnBadRow.UnmarshalText([]byte(f.onBadRow)); err != nil {
		return j, "", cli.UsageError("see --help", "--%v", err)
	}
	if data.From != "" {
		if data.Path, err = filepath.Abs(data.Path); err != nil {
			return j, "", err
		}
		r.File = data.Path
	}
	feed, err := startFeed(ctx, data, "", in, nil, log)
	if err != nil {
		return j, "", err
	}
	w := &waits{log: log, what: awaited(data)}
	var found *infer.Table
	j, f.stream, f.opened, found, err = infer.Follow(ctx, r, data, feed, w.waiting)
	if err != nil {
		err = errors.Join(err, feed.Stop())
	}
	if ctx.Err() != nil {
		return j, "", interrupted(ctx, err, false)
	}
	if err != nil {
		return j, "", &cli.Error{Err: err, Hint: withKept(infer.Hint(err), data)}
	}
	note = fmt.Sprintf("columns and scaling are those of %s: %s", f.stream.First(), describeTable(found))
	if found.Rows < fewRows {
		note += fmt.Sprintf("; these are %d rows, and the size of batches follows from them, too: %d and "+
			"more are better", found.Rows, fewRows)
	}
	return j, note, nil
}

// fewRows is the number of rows of the first file below which a note says that they are few.
const fewRows = 1000

// withKept adds to a hint, if rows of a source are kept, that they are, because a producer that begins again
// would send them twice.
func withKept(hint string, data job.Data) string {
	kept, err := filepath.Glob(filepath.Join(data.Path, "0*"))
	if data.From == "" || err != nil || len(kept) == 0 {
		return hint
	}
	const form = "the rows that came are in %s, and are used first when you begin again: remove the folder " +
		"if they are sent again"
	return strings.TrimPrefix(hint+"; "+fmt.Sprintf(form, data.Path), "; ")
}

// startFeed begins to bring the rows of data, if these have a source, and says after which they come.
func startFeed(ctx context.Context, data job.Data, dataDir string, in io.Reader, taken []string,
	log io.Writer) (*datasets.Feed, error) {
	feed, err := datasets.StartFeed(ctx, data, dataDir, in, taken)
	if n := feed.Received(); err == nil && n > 0 {
		from := "standard input"
		if data.FromTopic() {
			from = data.From
		}
		fmt.Fprintf(log, "train: %s of %s came before, of which the last are in %s: the input goes on with "+
			"the next\n", plural(n, "row"), from, data.Path)
	}
	return feed, err
}

// notWithFollow are the flags that a training without an end refuses.
var notWithFollow = []string{"epochs", "validation", "delay", "delay-dense", "hot-rows", "seeds", "record",
	"processes", "placement", "metrics-address", "split", "faults", "slow", "without", "json"}

// checkBeforeStream refuses flags that are wrong with any first file of --follow, so that the program does
// not wait for it in vain.
func (f *flags) checkBeforeStream(given *pflag.FlagSet) error {
	j := job.AdultIncome() // any
	j.Data.Kind, j.Data.Complete = job.KindFollow, f.table.complete
	if info, err := os.Stat(f.table.follow); err == nil && info.Mode().IsRegular() {
		return cli.UsageError("train on a file with --data, or send it: --follow - < FILE", "--follow %s: "+
			"it is a file, and files arrive in a folder", f.table.follow)
	}
	from := f.table.spooled(f.out)
	if from.Path == "" {
		return cli.UsageError("name the results with --out: the rows are kept beside them, until a "+
			"checkpoint has them; or name a folder with --spool", "--follow %s: there is no place for rows",
			from.From)
	}
	if err := f.checkFollow(&j, given); err != nil {
		return err
	}
	from.CSV = &job.Table{Slots: []job.IDColumn{{Column: "any"}}, Label: "label"}
	if err := from.Validate(); err != nil {
		return cli.UsageError("see --help", "--follow: %v", err)
	}
	if err := f.check(given); err != nil {
		return err
	}
	if err := f.change(&j, given); err != nil {
		return err
	}
	return f.checkBegins()
}

// checkBegins refuses to begin a training on rows that arrive where one that was killed has begun: the new
// one would not see the rows that the old one has used up.
func (f *flags) checkBegins() error {
	if f.out == "" {
		return nil
	}
	command := fmt.Sprintf("--resume %s --out %s%s", quoted(f.out), quoted(nextFolder(f.out)),
		f.checkpoints.givenAgain())
	if err := cli.CheckNew(f.out); err != nil {
		folder, some := checkpointsOf(f.out)
		if errors.Is(err, cli.ErrNotEmpty) && folder != "" && some == nil {
			return cli.UsageError("continue it with "+command+", or give --out a new folder", "--out %s: it "+
				"has the results of a training", f.out)
		}
		return err
	}
	left, running, err := unfinished(f.out)
	if begin := f.checkpoints.begin; err == nil && begin != nil {
		results, failed := resultsOf(begin.Folder())
		err = failed
		left = slices.DeleteFunc(left, func(name string) bool {
			absolute, _ := filepath.Abs(name) // an error is one of Getwd, which resultsOf has had
			return absolute == results
		})
	}
	switch {
	case err != nil:
		return err
	case len(running) > 0:
		return cli.UsageError("give --out another folder", "--out %s: the training with these results is "+
			"still running", f.out)
	case len(left) > 0:
		return cli.UsageError(fmt.Sprintf("continue it with %s, or move %s away to begin another", command,
			quoted(left[0])), "--out %s: a training with these results was killed, and has checkpoints",
			f.out)
	}
	return nil
}

// checkFollow refuses flags that do not go with rows that arrive.
func (f *flags) checkFollow(j *job.Job, given *pflag.FlagSet) error {
	if j.Data.Kind != job.KindFollow {
		return nil
	}
	for _, name := range notWithFollow {
		if given.Changed(name) {
			return cli.UsageError("leave it out", "--%s: not with rows that arrive", name)
		}
	}
	if given.Changed("mode") && len(f.modes) > 1 {
		return cli.UsageError("name one mode", "--mode: rows that arrive are trained on in one mode")
	}
	if c := j.Data.Complete; c != "" && c != job.CompleteRenamed && c != job.CompleteFollowed {
		return cli.UsageError("rules are "+job.CompleteRenamed+" and "+job.CompleteFollowed,
			"--complete: %q", c)
	}
	return nil
}

// follow trains on rows as they arrive, until it is interrupted.
func (p *program) follow(ctx context.Context, folder *cli.Folder, j job.Job, f flags) error {
	w := &waits{log: p.stderr, what: awaited(j.Data)}
	if err := p.openFollowed(ctx, &j, &f, w); err != nil {
		return interrupted(ctx, err, false)
	}
	defer f.stream.Close()
	course, err := p.newCourse(j, f, folder.Path(), w)
	if err != nil {
		return err
	}
	result, err := p.trainArriving(ctx, j, f, folder.Path(), course)
	if err = errors.Join(err, course.close(), f.stream.Close()); err != nil {
		return p.rescue(folder, j, f.checkpoints, interrupted(ctx, err, f.checkpoints.last != ""))
	}
	place := f.checkpoints.resume
	if f.checkpoints.last == "" {
		fmt.Fprintln(p.stderr, "train: no rows were trained on, and nothing was written")
	} else {
		if place, err = folder.Finish(); err != nil {
			return err
		}
		course.writeText(p.stdout, result)
		fmt.Fprintf(p.stderr, "train: results are in %s; %s shows them, and the model is %s\n", place,
			pageName, filepath.Join(place, f.checkpoints.last))
	}
	if place == "" {
		return nil
	}
	command, err := p.withDataDir(j, "go run ./cmd/train --resume "+quoted(place)+f.checkpoints.given+
		f.checkpoints.into(f.checkpoints.last != ""))
	if j.Data.From == job.FromInput {
		command = "PRODUCER | " + command
	}
	fmt.Fprintf(p.stderr, "train: continue with: %s\n", command)
	return err
}

// openFollowed opens the stream of a job, unless the flags have opened it, and checks where it continues.
func (p *program) openFollowed(ctx context.Context, j *job.Job, f *flags, w *waits) (err error) {
	if f.products, err = blas.FromEnvironment(p.stderr); err != nil {
		return err
	}
	dataDir, c := job.DataFolder(p.dataDir, f.file), f.checkpoints
	feedAfter := func(taken []string) (*datasets.Feed, error) {
		return startFeed(ctx, j.Data, dataDir, p.stdin, taken, p.stderr)
	}
	if f.stream != nil {
		return nil
	}
	if err := f.checkBegins(); err != nil {
		return err
	}
	if c.begin == nil {
		feed, err := feedAfter(nil)
		if err == nil {
			f.stream, f.opened, err = datasets.Follow(ctx, j.Data, dataDir, "", feed, w.waiting)
		}
		if err != nil {
			err = errors.Join(err, feed.Stop())
		}
		return err
	}
	results, err := resultsOf(c.begin.Folder())
	if err != nil {
		return err
	}
	f.stream, f.opened, err = datasets.FollowOn(j.Data, dataDir, filepath.Join(results, ledgerName),
		feedAfter)
	if err != nil {
		return fmt.Errorf("--resume: %w", err)
	}
	return nil
}

// resultsOf returns the folder of the results that have a checkpoint in a folder.
func resultsOf(checkpoint string) (string, error) {
	where, err := filepath.Abs(checkpoint)
	return filepath.Dir(filepath.Dir(filepath.Dir(where))), err
}

// trainArriving trains until it is interrupted.
func (p *program) trainArriving(ctx context.Context, j job.Job, f flags, results string, course *course) (
	_ *train.Result, err error) {
	if err := f.stream.Begin(&j, filepath.Join(results, ledgerName)); err != nil {
		return nil, err
	}
	if _, err := p.writeJob(results, j, f); err != nil {
		return nil, err
	}
	machine := p.backend(&f)
	if _, err := named(engine.Attach(&machine, &j)); err != nil {
		return nil, err
	}
	arena := new(memory.Arena)
	machine.Arena = arena
	c := f.checkpoints
	o := train.Options{Backend: machine, Begin: c.initialOf(variant{})}
	if c.begin != nil {
		o.Begin = train.Begin{Step: c.begin.Step, Model: continued{c.begin, &c.behind.Saver}}
		if c.begin.Step > f.stream.Steps() {
			return nil, fmt.Errorf("--resume %s: the model has trained %d steps, and %s has %d: it is of "+
				"another training", c.resume, c.begin.Step, ledgerName, f.stream.Steps())
		}
		fmt.Fprintf(p.stderr, "train: continues after %s with the next row of %s\n",
			plural(c.begin.Step, "step"), j.Data.Path)
	}
	p.makeGraph(&j, &f)
	c.mode, c.given, c.out, c.behind.endless = j.Training.Mode, f.givenAgain(), f.out, true
	if err := p.saveCheckpoints(&o, results, j.Training.Mode, j, f, f.opened, f.stream); err != nil {
		return nil, err
	}
	if err := course.begin(o.Begin.Step); err != nil {
		return nil, err
	}
	forget := func() {
		if j.Data.From != "" {
			p.forget(f.stream, filepath.Join(results, fileName(j.Training.Mode), checkpointFolder))
		}
	}
	result, err := train.Follow(ctx, j, f.stream, o, train.FollowOptions{Predicted: course.predicted,
		Trained: func(step int) {
			course.trained(step)
			forget()
		},
		Waiting: func(since time.Duration) {
			course.waiting(since)
			forget()
		}, Written: c.behind.Wait})
	err = errors.Join(err, c.behind.Wait()) // the last checkpoint reads the rows
	forget()
	p.interrupt.End()
	return result, errors.Join(err, arena.Close())
}

// forget removes the rows that a stream has brought and no checkpoint in a folder needs any more.
func (p *program) forget(stream *datasets.Stream, saved string) {
	oldest, ok, err := checkpoint.Oldest(saved)
	if ok && err == nil {
		err = stream.Forget(oldest)
	}
	if err != nil {
		fmt.Fprintf(p.stderr, "train: rows that were trained on stay: %v\n", err)
	}
}

// waits says when there have been no rows for long, each time that it is twice as long.
type waits struct {
	log  io.Writer
	what string
	next time.Duration // after which it says so again; 0: has not yet
}

// awaited says what rows of data come in.
func awaited(data job.Data) string {
	switch {
	case data.From == job.FromInput:
		return "rows of standard input"
	case data.FromTopic():
		return "messages of " + data.From
	case data.From != "":
		return "an object in " + data.From
	}
	return "a file in " + data.Path
}

// waitNoted is the time after which the first line says that there are no rows.
const waitNoted = 10 * time.Second

// waiting notes that there have been no rows for a time.
func (w *waits) waiting(since time.Duration) {
	if w.next == 0 {
		w.next = waitNoted
	}
	if since < w.next {
		return
	}
	fmt.Fprintf(w.log, "train: waits for %s, for %v so far\n", w.what, since.Round(time.Second))
	for w.next <= since {
		w.next *= 2
	}
}

// over notes that there are rows again.
func (w *waits) over() {
	if w.next > waitNoted {
		fmt.Fprintln(w.log, "train: rows come again")
	}
	w.next = 0
}
