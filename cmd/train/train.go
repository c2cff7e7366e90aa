package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/datasets"
	"tandem/internal/cli"
	"tandem/runtime/cuda"
	"tandem/runtime/cuda/engine"
	"tandem/runtime/memory"
	"tandem/runtime/torch"
	"tandem/runtime/train"
)

// run trains a job in a new folder for its results: in every mode, or without an end on rows that arrive.
func (p *program) run(ctx context.Context, j job.Job, f flags) error {
	target := f.out
	if target == "" {
		target = cli.DefaultFolder(p.now(), j.Name)
	}
	folder, err := cli.NewFolder(target)
	if err != nil {
		return err
	}
	defer folder.Discard()
	if err := folder.Lock(); err != nil {
		return err
	}
	defer f.checkpoints.close()
	f.modules = torch.FromEnvironment(p.stderr)
	f.modules.Begin = f.state
	defer f.modules.Close()
	defer context.AfterFunc(ctx, f.modules.Close)() // a module that hangs must not keep the program
	if j.Data.Kind == job.KindFollow {
		return p.follow(ctx, folder, j, f)
	}
	return p.train(ctx, folder, j, f)
}

// train trains a job in every mode and writes the report.
func (p *program) train(ctx context.Context, folder *cli.Folder, j job.Job, f flags) error {
	var report *report
	err := p.choose(ctx, &j, &f)
	if err == nil {
		var notes []string
		notes, err = f.trace(&j)
		cli.PrintNotes(p.stderr, "train", notes)
	}
	if err == nil {
		p.makeGraph(&j, &f)
	}
	if err == nil {
		report, err = p.measure(ctx, j, f, folder.Path())
	}
	if err == nil {
		err = report.measureWorth(ctx, &f, job.DataFolder(p.dataDir, f.file), folder.Path())
	}
	if err != nil {
		saved := f.checkpoints.last != "" || len(trainedIn(folder.Path())) > 0
		return p.rescue(folder, j, f.checkpoints, interrupted(ctx, err, saved))
	}
	report.Torch = f.modules.Torch()
	settings, err := p.writeJob(folder.Path(), j, f)
	if err != nil {
		return err
	}
	if err := report.writePage(folder.Path(), settings); err != nil {
		return err
	}
	if err := writeResults(folder.Path(), report); err != nil {
		return err
	}
	place, err := folder.Finish()
	if err != nil {
		return err
	}
	if f.json {
		err = report.writeJSON(p.stdout)
	} else {
		err = report.writeText(p.stdout)
	}
	cli.PrintNotes(p.stderr, "train", report.warnings())
	fmt.Fprintf(p.stderr, "train: results are in %s; %s shows them\n", place, pageName)
	if f.record {
		recorded := filepath.Join(place, recordings)
		command, failed := p.replayCommand(j, recorded)
		fmt.Fprintf(p.stderr, "train: the recorded runs are in %s; replay them with: %s\n", recorded, command)
		err = errors.Join(err, failed)
	}
	return err
}

// named returns the names of GPUs.
func named(gpus []cuda.Info, err error) (names []string, _ error) {
	if errors.Is(err, cuda.ErrNoDriver) {
		err = &cli.Error{Err: err, Hint: "use the processors, --device cpu, or see docs/gpu.md"}
	}
	for _, g := range gpus {
		names = append(names, g.String())
	}
	return names, err
}

// measure trains every mode and the baseline on the same rows. It writes recordings below folder.
func (p *program) measure(ctx context.Context, j job.Job, f flags, folder string) (*report, error) {
	start := p.now()
	all, err := variants(j, f)
	if err != nil {
		return nil, err
	}
	dataDir, data := job.DataFolder(p.dataDir, f.file), f.opened
	cli.PrintNotes(p.stderr, "train", data.Notes)
	machine := p.backend(&f)
	r := newReport(j, data, machine.Multiplier(&j))
	r.processes, r.chosen = f.processes, f.chosen
	if !f.processes { // those open their own devices
		if r.Devices, err = named(engine.Attach(&machine, &j)); err != nil {
			return nil, err
		}
	}
	if err := r.simulate(ctx, j, f, data); err != nil { // first: it is quick and checks the cluster
		return nil, err
	}
	watcher, err := p.newWatcher(r, folder, len(all), f)
	if err != nil {
		return nil, err
	}
	defer watcher.close()
	first := j.Training.Seed
	for _, c := range all {
		var results []*train.Result
		var stores []rowStore
		for n := range f.seeds {
			t := c.job
			t.Training.Seed = first + uint64(n)
			source, err := datasets.TrainingSource(data, &t)
			if err != nil {
				return nil, err
			}
			arena := new(memory.Arena)
			machine.Arena = arena
			o := train.Options{Backend: machine, Begin: f.checkpoints.initialOf(c)}
			if n == 0 && !c.baseline {
				p.saveModel(&o, filepath.Join(folder, modelFolder(c.name)), t, f, data, source)
				if err := p.useCheckpoints(r, &o, folder, c.name, t, f, data, source); err != nil {
					return nil, err
				}
			}
			watched, err := watcher.begin(c.name, t, source, &o)
			if err != nil {
				return nil, err
			}
			j = t
			run := p.runnerOf(t.Training.Mode, dataDir, f)
			result, store, err := inArena(arena, f.checkpoints.behind.complete(
				func() (*train.Result, error) { return run(ctx, j, source, data.Test, o, folder) }))
			p.interrupt.End()
			if err = errors.Join(err, watched.end(result)); err != nil {
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
			if n == 0 && !c.baseline {
				r.pauses[c.name] = f.checkpoints.behind.pauses(result)
				result.Notes = slices.Concat(result.Notes, f.checkpoints.behind.note(), recoveryNote(result))
			}
			cli.PrintNotes(p.stderr, "train", result.Notes)
			results, stores = append(results, result), append(stores, store)
			r.readingTook(c.name, source.Waited(), result.Wall)
		}
		r.add(c, results, stores)
	}
	r.compare()
	r.WallSeconds = p.now().Sub(start).Seconds()
	return r, nil
}

// inArena runs a training whose rows are in an arena, and frees the arena.
func inArena(arena *memory.Arena, run func() (*train.Result, error)) (*train.Result, rowStore, error) {
	result, err := run()
	if err != nil {
		return nil, rowStore{}, err // the program ends
	}
	store, err := newRowStore(result, arena)
	return result, store, errors.Join(err, arena.Close())
}

// runner trains and evaluates a job as train.Run does, and may write files to the results folder.
type runner func(ctx context.Context, j job.Job, source batch.Source, test *batch.Batch, o train.Options,
	results string) (*train.Result, error)

// runnerOf returns how a mode is trained.
func (p *program) runnerOf(mode, dataDir string, f flags) runner {
	switch {
	case mode == job.Sequential: // without roles there are no processes and no recording
	case f.processes:
		return p.inProcesses(dataDir, f)
	case f.record:
		return p.recorded(f)
	}
	return plainly
}

func plainly(ctx context.Context, j job.Job, source batch.Source, test *batch.Batch, o train.Options,
	_ string) (*train.Result, error) {
	return train.Run(ctx, j, source, test, o)
}

// inModes returns the job in each mode.
func inModes(j job.Job, modes []string) []job.Job {
	var all []job.Job
	for _, mode := range modes {
		all = append(all, j.InMode(mode))
	}
	return all
}

// writeResults writes the results.
func writeResults(folder string, r *report) error {
	r.findModels(folder)
	if err := r.writeHistograms(filepath.Join(folder, "histograms.csv")); err != nil {
		return err
	}
	if err := r.writeTraces(folder); err != nil {
		return err
	}
	out, err := os.Create(filepath.Join(folder, "result.json"))
	if err != nil {
		return err
	}
	defer out.Close()
	if err := r.writeJSON(out); err != nil {
		return err
	}
	return out.Close()
}
