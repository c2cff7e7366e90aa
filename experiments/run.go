package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"tandem/algo/exec/backend"
	"tandem/experiments/report"
	"tandem/internal/cli"
	"tandem/runtime/blas"
)

// runNamed runs experiments one after another. With subfolders, each writes to a folder of its name below
// --out.
func (p *program) runNamed(ctx context.Context, names []string, subfolders bool, s settings) error {
	chosen, err := p.find(names)
	if err != nil {
		return err
	}
	if s.seeds < report.SeedsMin {
		return cli.UsageError(fmt.Sprintf("write --seeds %d or more", report.SeedsWanted),
			"--seeds %d: an interval needs at least %d", s.seeds, report.SeedsMin)
	}
	if s.out != "" {
		if err := cli.CheckNew(s.out); err != nil { // before the first run
			return err
		}
	}
	for _, e := range chosen {
		target := s.out
		switch {
		case target == "":
			target = cli.DefaultFolder(p.now(), e.Name())
		case subfolders:
			target = filepath.Join(target, e.Name())
		}
		if err := p.runOne(ctx, e, target, s); err != nil {
			return err
		}
	}
	return nil
}

// runOne runs an experiment and writes its results to a new folder.
func (p *program) runOne(ctx context.Context, e experiment, target string, s settings) error {
	folder, err := cli.NewFolder(target)
	if err != nil {
		return err
	}
	report, err := p.runAndWrite(ctx, e, folder.Path(), s)
	if err != nil {
		return abandon(folder, err)
	}
	place, err := folder.Finish()
	if err != nil {
		return abandon(folder, err)
	}
	if s.json {
		err = report.WriteJSON(p.stdout)
	} else {
		err = report.WriteText(p.stdout)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(p.stderr, "experiments: results are in %s\n", place)
	return nil
}

// runAndWrite runs an experiment and writes all its files.
func (p *program) runAndWrite(
	ctx context.Context, e experiment, folder string, s settings,
) (*report.Report, error) {
	products, err := blas.FromEnvironment(p.stderr)
	if err != nil {
		return nil, err
	}
	rate := blas.GFLOPS(products)
	bar := cli.NewProgress(p.stderr, p.terminal)
	defer bar.Close()
	started := p.now()
	report, err := e.Run(ctx, report.Options{
		Quick: s.quick, Seeds: s.seeds, Seed: s.seed, Folder: folder,
		Backend: backend.Backend{Products: products}, Progress: bar.Show,
	})
	if err != nil {
		return nil, err
	}
	report.Name, report.Question, report.Command = e.Name(), e.Question(), commandLine(e, s)
	report.Engine, report.EngineRate = products.Name(), rate
	report.Started, report.Wall = started, p.now().Sub(started)
	return report, report.WriteFolder(folder)
}

// abandon keeps the files of a failed run and names their folder in the hint of the error.
func abandon(folder *cli.Folder, err error) error {
	kept, problem := folder.Abandon()
	f := &cli.Error{Err: err}
	var cause *cli.Error
	if errors.As(err, &cause) {
		f.Hint, f.Usage = cause.Hint, cause.Usage
	}
	switch {
	case problem != nil:
		f.Hint = fmt.Sprintf("what was done is in %s: %v", folder.Path(), problem)
	case kept != "":
		f.Hint = "what was done is kept in " + kept
	}
	return f
}

// commandLine returns the command that repeats a run.
func commandLine(e experiment, s settings) string {
	words := []string{invocation, e.Name()}
	if s.quick {
		words = append(words, "--quick")
	}
	if more, ok := e.(withFlags); ok {
		words = append(words, more.Arguments()...)
	}
	return strings.Join(append(words, fmt.Sprintf("--seeds %d --seed %d", s.seeds, s.seed)), " ")
}
