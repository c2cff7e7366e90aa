package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"tandem/algo/exec/backend"
	"tandem/experiments/internal/report"
	"tandem/internal/cli"
	"tandem/runtime/blas"
)

// runNamed runs the named experiment. With together, it runs one or more, each in a folder of its name below
// --out.
func (p *program) runNamed(ctx context.Context, names []string, together bool, s settings) error {
	chosen, err := p.find(names)
	if err != nil {
		return err
	}
	return p.runChosen(ctx, chosen, together || len(chosen) > 1, s)
}

// runChosen runs an experiment, or together several.
func (p *program) runChosen(
	ctx context.Context, chosen []*report.Experiment, together bool, s settings,
) error {
	if s.seeds < report.SeedsMin {
		return cli.UsageError(fmt.Sprintf("write --seeds %d or more", report.SeedsWanted),
			"--seeds %d: an interval needs at least %d", s.seeds, report.SeedsMin)
	}
	if together {
		return p.startSeveral(ctx, chosen, s)
	}
	target := s.out
	if target == "" {
		target = cli.DefaultFolder(p.now(), chosen[0].Name)
	}
	folder, err := cli.NewFolder(target)
	if err != nil {
		return err
	}
	r := p.newRecord(chosen[0], target, s)
	r.Indexed = s.out == ""
	return p.runAlone(ctx, chosen[0], folder, r, s)
}

// resume runs the rest of an interrupted run. changed reports whether a flag is on the command line.
func (p *program) resume(
	ctx context.Context, names []string, s settings, changed func(flag string) bool,
) error {
	if hasSeveral(s.resume) {
		return p.resumeSeveral(ctx, names, s, changed)
	}
	kept, r, err := findInterrupted(s.resume)
	if err != nil {
		return err
	}
	_, e := p.leaf(r.Experiment)
	if e == nil {
		return &cli.Error{
			Err: fmt.Errorf("%s: a file of another version: %w", filepath.Join(kept, recordName),
				p.unknown(r.Experiment)),
			Hint: listHint,
		}
	}
	if err := p.restore(r, e, names, &s, changed); err != nil {
		return err
	}
	folder, err := cli.ReopenFolder(kept, filepath.Join(filepath.Dir(filepath.Clean(kept)), r.Folder))
	if err != nil {
		return err
	}
	r.resumed()
	return p.runAlone(ctx, e, folder, r, s)
}

// runAlone runs an experiment, prints its report and updates the index beside its folder.
func (p *program) runAlone(
	ctx context.Context, e *report.Experiment, folder *cli.Folder, r *record, s settings,
) error {
	out, place, err := p.runOne(ctx, e, folder, r, nil, s)
	if err != nil {
		return err
	}
	if err := p.print(out, s); err != nil {
		return err
	}
	fmt.Fprintf(p.stderr, "experiments: results are in %s\n", place)
	return updateIndex(filepath.Dir(place), r.Indexed)
}

// answer prints the report of an experiment that reads stored results, and writes no folder.
func (p *program) answer(ctx context.Context, e *report.Experiment, s settings) error {
	started := p.now()
	out, err := e.Run(ctx, report.Options{DataFolder: s.dataFolder})
	if err != nil {
		return err
	}
	out.Name, out.Question, out.Command = e.Name, e.Question, p.commandLine(e, s)
	out.Started, out.Wall = started, p.now().Sub(started)
	if err := p.print(out, s); err != nil {
		return err
	}
	fmt.Fprintln(p.stderr, "experiments: --out FOLDER writes the figure and a page, too")
	return nil
}

// print writes a report to stdout.
func (p *program) print(out *report.Report, s settings) error {
	if s.json {
		return out.WriteJSON(p.stdout)
	}
	return out.WriteText(p.stdout)
}

// updateIndex writes the index of a folder if it is wanted or exists already.
func updateIndex(folder string, wanted bool) error {
	if _, err := os.Stat(filepath.Join(folder, report.IndexName)); err != nil && !wanted {
		return nil
	}
	return report.WriteIndex(folder)
}

// runOne runs an experiment, or the rest of it, in a folder and returns its report and the name of the
// finished folder. earlier are the folders of those that the same command has run, the latest first.
func (p *program) runOne(
	ctx context.Context, e *report.Experiment, folder *cli.Folder, r *record, earlier []string, s settings,
) (out *report.Report, place string, err error) {
	if err := folder.Lock(); err != nil {
		return nil, "", err
	}
	if out, err = p.runAndWrite(ctx, e, folder.Path(), r, earlier, s); err != nil {
		return nil, "", abandon(folder, err)
	}
	if place, err = folder.Finish(); err != nil {
		return nil, "", abandon(folder, err)
	}
	return out, place, nil
}

// runAndWrite runs an experiment and writes all its files, the record first and last.
func (p *program) runAndWrite(
	ctx context.Context, e *report.Experiment, folder string, r *record, earlier []string, s settings,
) (*report.Report, error) {
	if err := r.write(folder); err != nil {
		return nil, err
	}
	products, err := blas.FromEnvironment(p.stderr)
	if err != nil {
		return nil, err
	}
	rate := blas.GFLOPS(products)
	show, stop := p.progress()
	defer stop()
	started := p.now()
	out, err := e.Run(ctx, report.Options{
		Quick: s.quick, Seeds: s.seeds, Seed: s.seed, Folder: folder, Resume: r.Resumed > 0, Run: r.Run,
		Earlier: earlier, DataFolder: s.dataFolder, Backend: backend.Backend{Products: products},
		Progress: show,
	})
	if err != nil {
		return nil, err
	}
	out.Name, out.Run, out.Question, out.Command = e.Name, r.Run, e.Question, r.Command
	out.Engine, out.EngineRate = products.Name(), rate
	out.Started, out.Wall = r.Started, p.now().Sub(started)
	if note := r.note(); note != "" {
		out.Notes = append(out.Notes, note)
	}
	if err := out.WriteFolder(folder); err != nil {
		return nil, err
	}
	now := p.now()
	r.Finished = &now
	return out, r.write(folder)
}

// progressEvery is the time between two lines of progress where there is no terminal.
const progressEvery = 30 * time.Second

// descriptionMax is the most letters beside the bar in 80 columns.
const descriptionMax = 58

// progress returns a function that reports progress, for any goroutine, and a function that ends it: a bar on
// a terminal, a line every half minute elsewhere.
func (p *program) progress() (show func(done, total int, what string), stop func()) {
	bar := cli.NewProgress(p.stderr, p.terminal)
	bar.Narrow = true
	var mutex sync.Mutex
	last := p.now()
	show = func(done, total int, what string) {
		mutex.Lock()
		defer mutex.Unlock()
		if p.terminal {
			if letters := []rune(what); len(letters) > descriptionMax {
				what = string(letters[:descriptionMax-1]) + "…"
			}
			bar.Show(done, total, what)
			return
		}
		if now := p.now(); now.Sub(last) >= progressEvery {
			last = now
			fmt.Fprintf(p.stderr, "experiments: %s\n", what)
		}
	}
	return show, bar.Close
}

// abandon keeps the files of a failed run and returns the error with a hint: how to resume the run. It
// removes a folder without any result.
func abandon(folder *cli.Folder, err error) error {
	f := &cli.Error{Err: err}
	var cause *cli.Error
	if errors.As(err, &cause) {
		f.Hint, f.Usage = cause.Hint, cause.Usage
	}
	entries, problem := os.ReadDir(folder.Path())
	if problem == nil && !slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		return e.Name() != recordName && !strings.HasPrefix(e.Name(), ".")
	}) {
		folder.Discard()
		return f
	}
	kept, problem := folder.Abandon()
	switch {
	case problem != nil:
		f.Hint = fmt.Sprintf("what was done is in %s: %v", folder.Path(), problem)
	case f.Hint != "":
		f.Hint += "; then resume with " + invocation + " --resume " + kept
	default:
		f.Hint = "resume with " + invocation + " --resume " + kept
	}
	return f
}

// commandLine returns the command that repeats a run.
func (p *program) commandLine(e *report.Experiment, s settings) string {
	words := []string{invocation, e.Name}
	if whole, _ := p.leaf(e.Name); whole != e {
		words = []string{invocation, whole.Name, "--part", e.Name}
	}
	if s.quick {
		words = append(words, "--quick")
	}
	if s.dataFolder != p.dataFolder {
		words = append(words, "--data-folder", quoted(s.dataFolder))
	}
	for _, word := range p.arguments(e) {
		words = append(words, quoted(word))
	}
	if readsStored(e) == "" {
		words = append(words, fmt.Sprintf("--seeds %d --seed %d", s.seeds, s.seed))
	}
	return strings.Join(words, " ")
}

// quoted returns a word of a command as a shell reads it: in single quotes if it has spaces or quotes.
func quoted(word string) string {
	if !strings.ContainsAny(word, " \t'\"") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// unquoted returns the words of a command whose words are quoted.
func unquoted(command string) (words []string) {
	var word strings.Builder
	begun, inside := false, false
	for i := 0; i < len(command); i++ {
		switch c := command[i]; {
		case c == '\'':
			begun, inside = true, !inside
		case c == ' ' && !inside:
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
		case c == '\\' && !inside && i+1 < len(command):
			i++
			begun = true
			word.WriteByte(command[i])
		default:
			begun = true
			word.WriteByte(c)
		}
	}
	if begun {
		words = append(words, word.String())
	}
	return words
}
