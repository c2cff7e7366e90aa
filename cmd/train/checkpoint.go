package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"tandem/algo/exec"
	"tandem/algo/exec/evaluation"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/unit"
	"tandem/datasets"
	"tandem/internal/cli"
	"tandem/runtime/checkpoint"
	"tandem/runtime/train"
)

// checkpointFolder is the folder, beside the model of a mode, that has its checkpoints.
const checkpointFolder = "checkpoints"

// checkpoints are the flags of checkpoints, and the checkpoints that are read and written.
type checkpoints struct {
	every    train.Saving
	keep     checkpoint.Keep
	full     int // the number of checkpoints of which one has all rows
	resume   string
	begin    *checkpoint.Checkpoint // the one to resume; nil: none
	earlier  []evaluation.Point     // of the one to resume
	initFrom string
	initial  *checkpoint.Checkpoint // the one to begin from at step 0; nil: none
	last     string                 // the latest that was written, within the results; empty: none
	mode     string                 // in training
	lastMode string                 // of the latest
	several  bool                   // other modes are trained, too
	given    string                 // flags to give again when a training continues, each after a space
	out      string                 // the results' folder, if it was named
	behind   behind
}

// initial is a model from which another training begins: see checkpoint.Checkpoint.Initialize.
type initial struct{ *checkpoint.Checkpoint }

// Restore implements train.Restorer.
func (i initial) Restore(state exec.State) (notes []string, err error) {
	return nil, i.Initialize(state)
}

// continued is a model whose training continues in this process, and is saved as it goes on.
type continued struct {
	*checkpoint.Checkpoint
	saver *checkpoint.Saver
}

// Restore implements train.Restorer.
func (c continued) Restore(state exec.State) (notes []string, err error) {
	if notes, err = c.Checkpoint.Restore(state); err == nil {
		c.saver.Chain.Begin(c.Checkpoint)
	}
	return notes, err
}

// checkpointFlags declares the flags of checkpoints.
func (f *flags) checkpointFlags(fs *pflag.FlagSet) {
	f.checkpoints = new(checkpoints)
	fs.TextVar(&f.checkpoints.every, "checkpoint-every", train.Saving{}, "save the model during training, "+
		"at this `INTERVAL`, as \"500 steps\" or 30s, or auto, which weighs what a checkpoint costs against "+
		"how often processes die (default: never)")
	fs.IntVar(&f.checkpoints.keep.Newest, "keep-checkpoints", checkpoint.DefaultKept,
		"with --checkpoint-every, keep this many checkpoints of every mode")
	fs.DurationVar(&f.checkpoints.keep.For, "keep-checkpoints-for", 0, "with --checkpoint-every, also keep "+
		"the checkpoints of this last `TIME`, as 2h (default: no others)")
	fs.IntVar(&f.checkpoints.full, "checkpoint-full-every", train.DefaultFullEvery, "with "+
		"--checkpoint-every, write all rows to one checkpoint in this many, and to the others the rows that "+
		"have changed since; 1: to all")
	fs.TextVar(&f.checkpoints.behind.size, "checkpoint-buffer", unit.Bytes(1<<30),
		"training goes on while a checkpoint is written, and waits where more than this `SIZE` of rows, of "+
			"each process, changes meanwhile")
	fs.StringVar(&f.checkpoints.resume, "resume", "",
		"continue the training of this `FOLDER`, with its job and in its mode, to its end: a checkpoint, or "+
			"results, whose newest checkpoint is taken")
	fs.StringVar(&f.checkpoints.initFrom, "init-from", "",
		"begin with the network and the rows of this `MODEL`, of a job with the same columns and network, "+
			"or with this state_dict of a module of PyTorch, a file of torch.save or .safetensors; steps "+
			"and optimizer states begin afresh")
	cli.DefaultInText(fs, "checkpoint-every")
}

// besideResume are the flags that do not change what a training that is resumed learns from its rows.
var besideResume = []string{"resume", "on-bad-row", "checkpoint-every", "keep-checkpoints",
	"keep-checkpoints-for", "checkpoint-full-every", "checkpoint-buffer", "out", "json", "without",
	"cpu-profile", "metrics-address", "file", "processes", "hang-limit", "return-limit", "deaths", "restarts",
	"fewer", "redo-log"}

// resumed opens the checkpoint to resume, and returns its job.
func (f *flags) resumed(given *pflag.FlagSet) (j job.Job, err error) {
	var others []string
	given.Visit(func(flag *pflag.Flag) {
		if !slices.Contains(besideResume, flag.Name) {
			others = append(others, "--"+flag.Name)
		}
	})
	if len(others) > 0 {
		return j, cli.UsageError("a training is resumed with the job of its checkpoint",
			"--resume cannot be combined with %s", strings.Join(others, ", "))
	}
	c := f.checkpoints
	if c.resume, err = killed(c.resume); err == nil {
		err = f.openResumed()
	}
	if err != nil {
		return j, &cli.Error{Err: fmt.Errorf("--resume: %w", err),
			Hint: "name the results of a training that was interrupted, or a folder such as " +
				"RESULTS/sync/checkpoints/500"}
	}
	saved := filepath.Join(c.resume, checkpoint.JobFile)
	if j, err = job.Load(saved); err == nil {
		err = job.CheckModule(&j.Model.Spec)
	}
	if err != nil || f.file == "" {
		f.file = saved
		return j, err
	}
	return withRolesOf(j, f.file)
}

// withRolesOf returns the job in a file, which must be a given one except for its roles.
func withRolesOf(j job.Job, file string) (job.Job, error) {
	other, err := job.Load(file)
	if err != nil {
		return other, err
	}
	if differs, err := other.DifferenceButRoles(j); err != nil || differs != nil {
		return other, cmp.Or(err, cli.UsageError(
			"copy the job.yaml of the checkpoint, and change its section roles",
			"--resume: the job %s is not that of the checkpoint: %v", file, differs))
	}
	return other, nil
}

// killed returns the temporary folder of a training that was killed before it could give its results their
// name. A folder that exists is returned as it is.
func killed(results string) (string, error) {
	if _, err := os.Stat(results); err == nil {
		return results, nil
	}
	left, running, err := unfinished(results)
	if err != nil {
		return "", err
	}
	switch {
	case len(left) == 1:
		return left[0], nil
	case len(left) > 1:
		return "", fmt.Errorf("several trainings with the results %s were killed; name one of %s", results,
			strings.Join(left, ", "))
	case len(running) > 0:
		return "", fmt.Errorf("the training with the results %s is still running", results)
	}
	if left := cli.Unfinished(results); len(left) > 0 {
		return "", fmt.Errorf("the training with the results %s was killed before its first checkpoint "+
			"(%s): train it again, with the same command", results, left[0])
	}
	return results, nil // opening it says what is wrong
}

// unfinished returns the temporary folders with checkpoints of trainings with these results: of those that
// were killed, and of those that run.
func unfinished(results string) (left, running []string, err error) {
	for _, folder := range cli.Unfinished(results) {
		saved, err := filepath.Glob(filepath.Join(folder, "*", checkpointFolder, "*",
			checkpoint.ManifestFile))
		switch {
		case err != nil:
			return nil, nil, err
		case len(saved) == 0:
		case cli.IsLocked(folder):
			running = append(running, folder)
		default:
			left = append(left, folder)
		}
	}
	return left, running, nil
}

// openResumed opens the checkpoint to resume: the newest of the results that is intact, or the one that is
// named.
func (f *flags) openResumed() error {
	c := f.checkpoints
	folder, err := checkpointsOf(c.resume)
	if err != nil {
		return err
	}
	if folder == "" {
		c.begin, err = checkpoint.OpenIntact(c.resume)
		return err
	}
	begin, damaged, err := checkpoint.OpenNewest(folder)
	if err != nil {
		return err
	}
	c.begin, c.resume = begin, begin.Folder()
	f.notes = append(f.notes, checkpoint.PassedOver(damaged, begin)...)
	return nil
}

// checkpointsOf returns the folder of checkpoints, which has some, of a folder of results: that of the only
// mode that is not trained to its end. It returns "" for a folder that is no folder of results.
func checkpointsOf(results string) (string, error) {
	modes, err := filepath.Glob(filepath.Join(results, "*", checkpointFolder))
	if err != nil || len(modes) == 0 {
		return "", nil // opening it says what is wrong
	}
	var found []string
	for _, folder := range modes {
		model := filepath.Join(filepath.Dir(folder), "model", checkpoint.ManifestFile)
		if _, err := os.Stat(model); err == nil {
			continue
		}
		_, ok, err := checkpoint.Newest(folder)
		if err != nil {
			return "", err
		}
		if ok {
			found = append(found, folder)
		}
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("%s: what has checkpoints there is trained to its end", results)
	case 1:
		return found[0], nil
	}
	for i, folder := range found {
		if step, ok, err := checkpoint.Newest(folder); ok && err == nil {
			found[i] = checkpoint.StepFolder(folder, step)
		}
	}
	return "", fmt.Errorf("%s has several trainings to continue; name one of %s", results,
		strings.Join(found, ", "))
}

// checkCheckpoints refuses flags that do not go together.
func (f *flags) checkCheckpoints(j *job.Job, given *pflag.FlagSet) error {
	c := f.checkpoints
	switch {
	case c.keep.Newest < 1:
		return cli.UsageError("see --help", "--keep-checkpoints: %d; want at least 1", c.keep.Newest)
	case c.keep.For < 0:
		return cli.UsageError("see --help", "--keep-checkpoints-for: %v; want a time", c.keep.For)
	case given.Changed("keep-checkpoints-for") && !c.every.Any():
		return cli.UsageError("add --checkpoint-every, as --checkpoint-every 30s",
			"--keep-checkpoints-for: only a checkpoint of an interruption is written")
	case given.Changed("keep-checkpoints") && !c.every.Any():
		return cli.UsageError("add --checkpoint-every, as --checkpoint-every 30s",
			"--keep-checkpoints: only a checkpoint of an interruption is written")
	case c.full < 1:
		return cli.UsageError("1 writes all rows to every checkpoint", "--checkpoint-full-every: %d; want "+
			"at least 1", c.full)
	case given.Changed("checkpoint-full-every") && !c.every.Any():
		return cli.UsageError("add --checkpoint-every, as --checkpoint-every 30s",
			"--checkpoint-full-every: there are no checkpoints")
	case c.initFrom != "" && (f.processes || f.record || len(f.delays) > 0):
		return cli.UsageError("only a training in one process that is not recorded begins with a model",
			"--init-from cannot be combined with --processes, --record or --delay")
	case !c.every.Any():
		return nil
	case !f.savesOnTheWay():
		return cli.UsageError("a training of one seed that is not recorded has checkpoints",
			"--checkpoint-every cannot be combined with --record or several --seeds")
	case len(f.delays) > 0 || slices.ContainsFunc(inModes(*j, f.modes), delayed):
		return cli.UsageError("late gradients are not part of a model",
			"--checkpoint-every cannot be combined with delays of sequential training")
	}
	return nil
}

// savesOnTheWay reports whether a training with these flags can be saved before its end.
func (f *flags) savesOnTheWay() bool { return !f.record && f.seeds == 1 }

// delayed reports whether late gradients, which no model has, keep a training from being saved on the way.
func delayed(j job.Job) bool { return j.Training.Mode == job.Sequential && j.Delayed() }

// useCheckpoints makes a training begin with the checkpoint to resume, if there is one, and save checkpoints
// to a folder within the results.
func (p *program) useCheckpoints(r *report, o *train.Options, results, mode string, j job.Job, f flags,
	data *datasets.Dataset, source batch.Source) error {
	c := f.checkpoints
	c.mode = mode
	c.several, c.given = len(f.modes) > 1, f.givenAgain()
	if c.begin != nil {
		if err := c.beginWith(r, o, j.Training.Seed, data, source); err != nil {
			return err
		}
	}
	if !f.savesOnTheWay() || delayed(j) {
		return nil
	}
	return p.saveCheckpoints(o, results, mode, j, f, data, source)
}

// saveCheckpoints makes a training save checkpoints to a folder within the results.
func (p *program) saveCheckpoints(o *train.Options, results, mode string, j job.Job, f flags,
	data *datasets.Dataset, source batch.Source) error {
	c := f.checkpoints
	c.every.Use(o)
	o.FullEvery, c.behind.Chain.FullEvery = c.full, c.full
	o.Drain = p.interrupt.Begin()
	if f.processes && c.every.Any() {
		p.recovers(o, f.restarts)
	}
	folder := filepath.Join(fileName(mode), checkpointFolder)
	complete := func(step int) error {
		c.last, c.lastMode = checkpoint.StepFolder(folder, step), mode
		if err := checkpoint.Prune(filepath.Join(results, folder), c.keep); err != nil {
			fmt.Fprintf(p.stderr, "train: %v; training goes on\n", err) // the checkpoint is complete
		}
		return nil
	}
	o.Unsaved = func(err error) {
		fmt.Fprintf(p.stderr, "train: %v; training goes on, and earlier checkpoints stay\n", err)
	}
	if err := c.behind.begin(complete, o.Unsaved); err != nil {
		return err
	}
	o.Save = func(step int, state exec.State) error {
		m, err := p.manifest(j, f, data, source, step)
		if err != nil {
			return err
		}
		return c.behind.Save(filepath.Join(results, checkpoint.StepFolder(folder, step)), m, state)
	}
	o.SaveApart = func(step int, model exec.State, export func(string) ([]string, error)) (
		u train.Unfinished, err error) {
		m, err := p.manifest(j, f, data, source, step)
		if err != nil {
			return u, err
		}
		saved, err := filepath.Abs(filepath.Join(results, checkpoint.StepFolder(folder, step)))
		if err != nil {
			return u, err
		}
		begun, err := checkpoint.BeginApart(saved, m, model, export)
		if err != nil {
			return train.Unfinished{Folder: saved}, err
		}
		return train.Unfinished{Folder: saved, Discard: begun.Discard, Finish: func() error {
			if err := begun.Finish(); err != nil {
				return err
			}
			return complete(step)
		}}, nil
	}
	return nil
}

// beginWith makes a training begin with the checkpoint to resume.
func (c *checkpoints) beginWith(r *report, o *train.Options, seed uint64, data *datasets.Dataset,
	source batch.Source) error {
	if err := c.checkData(data, source); err != nil {
		return fmt.Errorf("--resume %s: %w", c.resume, err)
	}
	where, err := filepath.Abs(c.resume)
	if err != nil {
		return err
	}
	results, err := resultsOf(where)
	if err != nil {
		return err
	}
	o.Begin = train.Begin{Step: c.begin.Step, Model: continued{c.begin, &c.behind.Saver}, Folder: where}
	r.ResumedAt = c.begin.Step
	c.earlier, err = readCurve(filepath.Join(results, curveName), c.mode, r.job.Model.Loss, seed,
		c.begin.Step)
	return err
}

// givenAgain returns the flags to give again when a training continues, each after a space.
func (f *flags) givenAgain() (given string) {
	if f.processes {
		given += " --processes"
		if every := f.checkpoints.every; every.Any() {
			given += " --checkpoint-every " + quoted(every.String())
		}
		if f.redoLog != "" {
			given += " --redo-log " + quoted(f.redoLog)
		}
	}
	if f.stream != nil {
		given += f.checkpoints.givenAgain()
	}
	if len(f.without) > 0 {
		given += " --without " + strings.Join(f.without, ",")
	}
	return given
}

// into returns the flag that names the results of a stream that continues, if this one's were named: those of
// the next free number or, if nothing was written, the same.
func (c *checkpoints) into(written bool) string {
	switch {
	case !c.behind.endless || c.out == "":
		return ""
	case !written:
		return " --out " + quoted(c.out)
	}
	return " --out " + quoted(nextFolder(c.out))
}

// nextFolder returns the name of a folder that is not there, with the next free number at its end: live-2 and
// live-3 after live.
func nextFolder(folder string) string {
	base, number := filepath.Clean(folder), 1
	if at := strings.LastIndexByte(base, '-'); at > 0 {
		n, err := strconv.Atoi(base[at+1:])
		if _, without := os.Stat(base[:at]); err == nil && n > 1 && without == nil {
			base, number = base[:at], n
		}
	}
	for {
		number++
		next := fmt.Sprintf("%s-%d", base, number)
		if _, err := os.Lstat(next); err != nil {
			return next
		}
	}
}

// givenAgain returns the flags of checkpoints to give again, each after a space. A training without an end
// needs them whenever it goes on.
func (c *checkpoints) givenAgain() (given string) {
	if !c.every.Any() {
		return ""
	}
	given = " --checkpoint-every " + quoted(c.every.String())
	if c.keep.Newest != checkpoint.DefaultKept {
		given += fmt.Sprint(" --keep-checkpoints ", c.keep.Newest)
	}
	if c.keep.For > 0 {
		given += fmt.Sprint(" --keep-checkpoints-for ", c.keep.For)
	}
	if c.full != train.DefaultFullEvery {
		given += fmt.Sprint(" --checkpoint-full-every ", c.full)
	}
	return given
}

// checkData returns an error if there is nothing left to train, or if the data are not those of the
// checkpoint to resume. Restoring it compares the columns.
func (c *checkpoints) checkData(data *datasets.Dataset, source batch.Source) error {
	if c.begin.Step >= source.Steps() {
		return fmt.Errorf("the model has trained %d steps, and its job has %d: there is nothing to continue",
			c.begin.Step, source.Steps())
	}
	if !slices.Equal(data.Scaling, c.begin.Scaling) {
		return errors.New("the numeric columns have another mean or standard deviation than when the " +
			"training began: the data have changed")
	}
	return nil
}

// resumed says where a training has continued, for the line that describes it.
func (r *report) resumed() string {
	if r.ResumedAt == 0 {
		return ""
	}
	return fmt.Sprintf(" after the %d of the checkpoint", r.ResumedAt)
}

// interrupted returns the error of a training, or that of an interruption that has ended it.
func interrupted(ctx context.Context, err error, saved bool) error {
	var drained *train.DrainedError
	switch {
	case errors.As(err, &drained) && saved:
		return fmt.Errorf("interrupted and saved after %s", plural(drained.Step, "step"))
	case ctx.Err() != nil && saved:
		return errors.New("interrupted")
	case ctx.Err() != nil || drained != nil:
		return errors.New("interrupted; nothing was written")
	}
	return err
}

// trainedIn returns the folders of modes, within results, whose models are trained to their end.
func trainedIn(results string) (modes []string) {
	entries, _ := os.ReadDir(results) // a folder that cannot be read has no models
	for _, e := range entries {
		_, err := os.Stat(filepath.Join(results, e.Name(), "model", checkpoint.ManifestFile))
		if err == nil {
			modes = append(modes, e.Name())
		}
	}
	return modes
}

// rescue keeps the results folder of a failed or interrupted training if it has a model or a checkpoint, and
// returns the error with the command that continues.
func (p *program) rescue(folder *cli.Folder, j job.Job, c *checkpoints, err error) error {
	trained := trainedIn(folder.Path())
	if c.last == "" && len(trained) == 0 {
		if !c.every.Any() {
			err = withCheckpoints(err)
		}
		return err
	}
	place, failed := folder.Finish()
	if failed != nil {
		return errors.Join(err, failed)
	}
	if c.last == "" || slices.Contains(trained, fileName(c.mode)) {
		return &cli.Error{Err: fmt.Errorf("%w; %s has models but no results", err, place),
			Hint: "trained to the end: " + strings.Join(trained, ", ") + "; their models are in " +
				filepath.Join(place, "MODE", "model")}
	}
	has := "has checkpoints but no results"
	if c.behind.endless {
		has = "has the model after " + filepath.Base(c.last) + " steps"
	}
	bad := errors.Is(err, datasets.ErrBadRow)
	err = fmt.Errorf("%w; %s %s", err, place, has)
	if c.mode != c.lastMode {
		return &cli.Error{Err: err,
			Hint: fmt.Sprintf("%s has no checkpoint yet: train it again, with --mode %[1]s", c.mode)}
	}
	command, failed := p.withDataDir(j, "go run ./cmd/train --resume "+quoted(place)+c.given+c.into(true))
	if failed != nil {
		return errors.Join(err, failed)
	}
	hint := "continue with: " + command
	if bad {
		hint += ", and --on-bad-row skip:100 to leave out up to 100 bad rows"
	}
	if c.several {
		hint = fmt.Sprintf("continue %s, without the other modes, with: %s", c.mode, command)
	}
	return &cli.Error{Err: err, Hint: hint}
}

// openInitial opens the model to begin from, if there is one.
func (f *flags) openInitial(j *job.Job) (err error) {
	c := f.checkpoints
	if err := f.beginsWithState(j); err != nil || c.initFrom == "" || f.state != "" {
		return err
	}
	if c.initial, err = checkpoint.Open(c.initFrom); err != nil {
		return &cli.Error{Err: fmt.Errorf("--init-from: %w", err),
			Hint: "name a folder such as RESULTS/sync/model"}
	}
	return nil
}

// initialOf returns where a variant begins: with the model to begin from, if there is one, unless it is the
// baseline.
func (c *checkpoints) initialOf(v variant) train.Begin {
	if c.initial == nil || v.baseline {
		return train.Begin{}
	}
	return train.Begin{Model: initial{c.initial}}
}

// close closes the models to begin with.
func (c *checkpoints) close() {
	for _, m := range []*checkpoint.Checkpoint{c.begin, c.initial} {
		if m != nil {
			_ = m.Close() // it was only read
		}
	}
}
