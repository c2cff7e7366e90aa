package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"tandem/algo/job"
	"tandem/datasets"
	"tandem/datasets/infer"
	"tandem/internal/cli"
	"tandem/runtime/blas"
	"tandem/runtime/cuda/engine"
	"tandem/runtime/memory"
	"tandem/runtime/train"
)

// ledgerName is the file within the results that says which files of a stream were trained on.
const ledgerName = "stream.jsonl"

// openStream waits for the first file of the folder of --follow, infers its columns, and returns a job for
// the rows that arrive. It describes the columns in a note.
func (t *table) openStream(ctx context.Context, policy string, log io.Writer) (j job.Job,
	stream *datasets.Stream, set *datasets.Dataset, note string, err error) {
	r := infer.Request{File: t.follow, Options: t.options()}
	if err := r.OnBadRow.UnmarshalText([]byte(policy)); err != nil {
		return j, nil, nil, "", cli.UsageError("see --help", "--%v", err)
	}
	w := &waits{log: log, folder: t.follow}
	j, stream, set, found, err := infer.Follow(ctx, r, t.complete, w.waiting)
	if ctx.Err() != nil {
		return j, nil, nil, "", interrupted(ctx, err, false)
	}
	if err != nil {
		return j, nil, nil, "", &cli.Error{Err: err, Hint: infer.Hint(err)}
	}
	return j, stream, set, fmt.Sprintf("columns and scaling are those of %s: %s", stream.First(),
		describeTable(found)), nil
}

// notWithFollow are the flags that a training without an end refuses.
var notWithFollow = []string{"epochs", "validation", "delay", "delay-dense", "hot-rows", "seeds", "record",
	"processes", "placement", "metrics-address", "split", "faults", "slow", "without", "json"}

// checkBeforeStream refuses flags that are wrong with any first file of --follow, so that the program does
// not wait for it in vain.
func (f *flags) checkBeforeStream(given *pflag.FlagSet) error {
	j := job.AdultIncome() // any
	j.Data.Kind, j.Data.Complete = job.KindFollow, f.table.complete
	if err := f.checkFollow(&j, given); err != nil {
		return err
	}
	if err := f.check(given); err != nil {
		return err
	}
	if err := f.change(&j, given); err != nil || f.out == "" {
		return err
	}
	return cli.CheckNew(f.out)
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
	w := &waits{log: p.stderr, folder: j.Data.Path}
	if err := p.openFollowed(ctx, &j, &f, w); err != nil {
		return interrupted(ctx, err, false)
	}
	defer f.stream.Close()
	course, err := p.newCourse(j, f, folder.Path(), w)
	if err != nil {
		return err
	}
	result, err := p.trainArriving(ctx, j, f, folder.Path(), course)
	if err = errors.Join(err, course.close()); err != nil {
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
	fmt.Fprintf(p.stderr, "train: continue with: %s\n", command)
	return err
}

// openFollowed opens the stream of a job, unless the flags have opened it, and checks where it continues.
func (p *program) openFollowed(ctx context.Context, j *job.Job, f *flags, w *waits) (err error) {
	if f.products, err = blas.FromEnvironment(p.stderr); err != nil {
		return err
	}
	dataDir, c := job.DataFolder(p.dataDir, f.file), f.checkpoints
	switch {
	case f.stream != nil:
		return nil
	case c.begin == nil:
		f.stream, f.opened, err = datasets.Follow(ctx, j.Data, dataDir, "", w.waiting)
		return err
	}
	results, err := resultsOf(c.begin.Folder())
	if err != nil {
		return err
	}
	f.stream, f.opened, err = datasets.FollowOn(j.Data, dataDir, filepath.Join(results, ledgerName))
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
	machine := f.backend()
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
	c.mode, c.given, c.out, c.behind.endless = j.Training.Mode, f.givenAgain(), f.out, true
	if err := p.saveCheckpoints(&o, results, j.Training.Mode, j, f, f.opened, f.stream); err != nil {
		return nil, err
	}
	if err := course.begin(o.Begin.Step); err != nil {
		return nil, err
	}
	result, err := train.Follow(ctx, j, f.stream, o, train.FollowOptions{Predicted: course.predicted,
		Trained: course.trained, Waiting: course.waiting, Written: c.behind.Wait})
	err = errors.Join(err, c.behind.Wait()) // the last checkpoint reads the rows
	p.interrupt.End()
	return result, errors.Join(err, arena.Close())
}

// waits says when there have been no rows for long, each time that it is twice as long.
type waits struct {
	log    io.Writer
	folder string
	next   time.Duration // after which it says so again; 0: has not yet
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
	fmt.Fprintf(w.log, "train: waits for a file in %s, for %v so far\n", w.folder, since.Round(time.Second))
	for w.next <= since {
		w.next *= 2
	}
}

// over notes that there are rows again.
func (w *waits) over() {
	if w.next > waitNoted {
		fmt.Fprintf(w.log, "train: there are rows in %s again\n", w.folder)
	}
	w.next = 0
}
