package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"tandem/algo/exec"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/datasets"
	"tandem/internal/cli"
	"tandem/runtime/checkpoint"
	"tandem/runtime/train"
)

// savedFlag declares the flag of checkpoints.
func (f *flags) savedFlag(fs *pflag.FlagSet) {
	fs.StringVar(&f.saved, "checkpoints", "", "save the model to this `FOLDER`, which every process must "+
		"reach under the same path, at the end and when a process is interrupted; begin with the newest "+
		"model there, if there is one (default: keep no model)")
	fs.StringVar(&f.copies, "checkpoint-copies", "", "copy the models of --checkpoints to this `URL`, as "+
		"s3://bucket/run, beside training, and begin with the newest there if the folder has none as new "+
		"(default: make no copies)")
	fs.BoolVar(&f.standby, "standby", false, "if another host has the folder of --checkpoints, wait until "+
		"it has ended or died, and continue from its newest checkpoint; processes need --host with both "+
		"addresses")
	fs.TextVar(&f.every, "checkpoint-every", train.Saving{}, "save the model to --checkpoints during "+
		"training, at this `INTERVAL`, as \"500 steps\" or 10m, or auto, which weighs what a checkpoint "+
		"costs against how often processes die")
	fs.IntVar(&f.keep.Newest, "keep-checkpoints", checkpoint.DefaultKept, "with --checkpoint-every, keep "+
		"this many checkpoints")
	fs.DurationVar(&f.keep.For, "keep-checkpoints-for", 0, "also keep the checkpoints of this last `TIME`, "+
		"as 2h (default: no others)")
	fs.IntVar(&f.full, "checkpoint-full-every", train.DefaultFullEvery, "with --checkpoint-every, write all "+
		"rows to one checkpoint in this many, and to the others the rows that have changed since; 1: to all")
	fs.IntVar(&f.restarts, "restarts", train.DefaultRestartsMax, "with --checkpoint-every, begin again this "+
		"often with one checkpoint when a process is lost that cannot come back by itself; 0: end")
	fs.BoolVar(&f.fewer, "fewer", true, "with --checkpoint-every, go on without a process that does not "+
		"come back within --return-limit, if the mode can, until it is there again")
	fs.StringVar(&f.redoLog, "redo-log", "", "with --checkpoint-every, let PSs keep their inputs since the "+
		"checkpoint in this `FOLDER` of their machines, so that one that dies comes back there with nothing "+
		"lost (default: they do not)")
}

// keepCheckpoints makes a training begin with the newest model of the folder of checkpoints, or of its
// copies, if there is one, and save its model there. It returns a function that closes the model, and waits
// for the copy of the last one.
func (p *program) keepCheckpoints(ctx context.Context, o *train.Options, j job.Job, f flags,
	data *datasets.Dataset, source batch.Source, graph []byte) (done func() error, err error) {
	folder, err := filepath.Abs(f.saved)
	if err != nil {
		return nil, err
	}
	located, err := j.Located(f.file, p.dataDir)
	if err != nil {
		return nil, err
	}
	copies, err := p.openCopies(ctx, located, folder, f)
	if err != nil {
		return nil, fmt.Errorf("--checkpoint-copies: %w", err)
	}
	closeModel, err := p.beginWithNewest(o, located, folder, data, source)
	if err != nil {
		return nil, errors.Join(err, copies.close(p.stderr))
	}
	done = func() error { return errors.Join(closeModel(), copies.close(p.stderr)) }
	save := func(step int, model exec.State, export func(string) ([]string, error)) (u train.Unfinished,
		err error) {
		m, err := manifest(located, data, source, step)
		if err != nil {
			return u, err
		}
		m.Graph = graph
		saved := checkpoint.StepFolder(folder, step)
		begun, err := checkpoint.BeginApart(saved, m, model, export)
		if err != nil {
			return train.Unfinished{Folder: saved}, err
		}
		return train.Unfinished{Folder: saved, Discard: begun.Discard, Finish: func() error {
			if err := begun.Finish(); err != nil {
				return err
			}
			if err := checkpoint.Prune(folder, f.keep); err != nil {
				fmt.Fprintf(p.stderr, "node: %v; training goes on\n", err)
			}
			copies.saved(step)
			return nil
		}}, nil
	}
	f.every.Use(o)
	o.FullEvery = f.full
	if f.every.Any() {
		o.RestartsMax, o.SetAside = f.restarts, checkpoint.SetAside
		o.Lost = func(r train.Recovery) { fmt.Fprintf(p.stderr, "node: %v\n", r) }
	}
	o.Unsaved = func(err error) {
		fmt.Fprintf(p.stderr, "node: %v; training goes on, and earlier checkpoints stay\n", err)
	}
	o.SaveApart = save
	o.TrainedApart = func(model exec.State, export func(string) ([]string, error)) error {
		last, err := save(source.Steps(), model, export)
		if err != nil {
			return err
		}
		return last.Finish()
	}
	return done, nil
}

// beginWithNewest makes a training begin with the newest model of a folder, if there is one. It returns a
// function that closes the model.
func (p *program) beginWithNewest(o *train.Options, j job.Job, folder string, data *datasets.Dataset,
	source batch.Source) (done func() error, err error) {
	model, damaged, err := checkpoint.OpenNewest(folder)
	if err != nil {
		return nil, fmt.Errorf("--checkpoints: %w", err)
	}
	if model == nil {
		return func() error { return nil }, nil
	}
	newest := model.Folder()
	if err := checkModel(model, newest, j, data, source); err != nil {
		return nil, errors.Join(fmt.Errorf("--checkpoints: %s: %w", newest, err), model.Close())
	}
	cli.PrintNotes(p.stderr, "node", checkpoint.PassedOver(damaged, model))
	for _, d := range damaged {
		if err := checkpoint.SetAside(d.Folder); err != nil {
			return nil, errors.Join(err, model.Close())
		}
	}
	fmt.Fprintf(p.stderr, "node: training continues after the %d steps of %s\n", model.Step, newest)
	o.Begin = train.Begin{Step: model.Step, Model: model, Folder: newest}
	return model.Close, nil
}

// checkModel returns an error unless a job continues the training of a model in a folder.
func checkModel(model *checkpoint.Checkpoint, folder string, j job.Job, data *datasets.Dataset,
	source batch.Source) error {
	saved, err := job.Load(filepath.Join(folder, checkpoint.JobFile))
	if err != nil {
		return err
	}
	differs, err := j.DifferenceButRoles(saved)
	switch {
	case err != nil:
		return err
	case differs != nil:
		return fmt.Errorf("this job is not that of the model: %v; give another folder", differs)
	case model.Step >= source.Steps():
		return &trainedError{model.Step}
	case !slices.Equal(data.Scaling, model.Scaling):
		return errors.New("the numeric columns have another mean or standard deviation than when the " +
			"training began: the data have changed")
	}
	return nil
}

// manifest describes the model of a training after a number of steps.
func manifest(j job.Job, data *datasets.Dataset, source batch.Source, steps int) (*checkpoint.Manifest,
	error) {
	text, err := yaml.Marshal(j.Resolved())
	if err != nil {
		return nil, err
	}
	m := checkpoint.Describe(&j, text, data.Scaling, source, steps)
	m.Commit, m.Written = cli.Commit(), time.Now().UTC()
	return m, nil
}

// interrupted returns the error of a training, with what to do if it was saved.
func interrupted(err error, folder string) error {
	var drained *train.DrainedError
	if folder == "" || !errors.As(err, &drained) {
		return err
	}
	if drained.Step == 0 {
		return errors.New("interrupted before the first step; no model was saved")
	}
	return &cli.Error{
		Err: fmt.Errorf("interrupted after %d steps; the model is in %s", drained.Step,
			checkpoint.StepFolder(folder, drained.Step)),
		Hint: "start the host and every process again, with the same commands: they continue",
	}
}
