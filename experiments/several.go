package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tandem/experiments/internal/report"
	"tandem/experiments/papers"
	"tandem/internal/cli"
)

// severalName is the name of the file with which a command that runs several experiments can be continued.
const severalName = "runs.json"

// several is the content of this file: what the command runs, each in a folder of its name.
type several struct {
	Format int      `json:"format"`
	Names  []string `json:"experiments"`
	// Arguments are the flags that only one experiment has, by its name.
	Arguments  map[string][]string `json:"arguments,omitempty"`
	Quick      bool                `json:"quick"`
	Paper      bool                `json:"paper,omitempty"`
	Seeds      int                 `json:"seeds"`
	Seed       uint64              `json:"seed"`
	DataFolder string              `json:"data_folder"`
}

// startSeveral runs experiments one after another, each in a folder of its name in --out, and writes an index
// there.
func (p *program) startSeveral(ctx context.Context, chosen []*report.Experiment, s settings) error {
	folder := s.out
	if folder == "" {
		folder = cli.DefaultFolder(p.now(), "experiments")
	}
	if err := cli.CheckNew(folder); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return &cli.Error{Err: err, Hint: "give --out a folder that can be written"}
	}
	file := &several{
		Format: recordFormat, Quick: s.quick, Paper: s.paper, Seeds: s.seeds, Seed: s.seed,
		DataFolder: s.dataFolder,
		Arguments:  map[string][]string{},
	}
	for _, e := range chosen {
		file.Names = append(file.Names, e.Name)
		if more := p.arguments(e); len(more) > 0 {
			file.Arguments[e.Name] = more
		}
	}
	text, err := json.MarshalIndent(file, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, severalName), append(text, '\n'), 0o644); err != nil {
		return err
	}
	if s.paper {
		if err := p.showStored(folder, s); err != nil {
			return err
		}
	}
	return p.runSeveral(ctx, chosen, folder, s)
}

// resumeSeveral runs the experiments of an earlier command that have no results yet.
func (p *program) resumeSeveral(
	ctx context.Context, names []string, s settings, changed func(flag string) bool,
) error {
	path := filepath.Join(s.resume, severalName)
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var file several
	if err := json.Unmarshal(text, &file); err != nil {
		return &cli.Error{Err: fmt.Errorf("%s: %w", path, err), Hint: startAgain}
	}
	if file.Format != recordFormat {
		return &cli.Error{Err: fmt.Errorf("%s: a file of another version", path), Hint: startAgain}
	}
	for _, flag := range []string{"quick", "seeds", "seed", "out"} {
		if changed(flag) {
			return cli.UsageError("leave out --"+flag, "--%s: a resumed run keeps its settings", flag)
		}
	}
	if len(names) > 0 {
		return cli.UsageError("leave out the names", "--resume %s continues all experiments of a command",
			s.resume)
	}
	var chosen []*report.Experiment
	for _, name := range file.Names {
		_, e := p.leaf(name)
		if e == nil {
			return &cli.Error{Err: fmt.Errorf("%s: a file of another version: %w", path, p.unknown(name)),
				Hint: startAgain}
		}
		if err := p.restoreArguments(e, file.Arguments[name]); err != nil {
			return err
		}
		chosen = append(chosen, e)
	}
	s.quick, s.paper, s.seeds, s.seed = file.Quick, file.Paper, file.Seeds, file.Seed
	if !changed("data-folder") && file.DataFolder != "" {
		s.dataFolder = file.DataFolder
	}
	return p.runSeveral(ctx, chosen, s.resume, s)
}

// runSeveral runs what has no results in a folder yet. An experiment that fails does not keep the others from
// running; the error names all that failed.
func (p *program) runSeveral(
	ctx context.Context, chosen []*report.Experiment, folder string, s settings,
) error {
	p.announce(chosen, folder, s)
	var earlier, failed []string
	for i, e := range chosen {
		place := filepath.Join(folder, e.Name)
		if _, err := os.Stat(filepath.Join(place, recordName)); err == nil {
			earlier = slices.Insert(earlier, 0, place)
			continue
		}
		fmt.Fprintf(p.stderr, "experiments: %d of %d: %s\n", i+1, len(chosen), e.Name)
		err := p.runOneOfSeveral(ctx, e, place, earlier, s)
		if ctx.Err() != nil {
			return &cli.Error{Err: err, Hint: "resume with " + invocation + " --resume " + folder}
		}
		if err != nil {
			cli.PrintError(p.stderr, "experiments: "+e.Name, err)
			failed = append(failed, e.Name)
			continue
		}
		earlier = slices.Insert(earlier, 0, place)
		if err := p.updatePages(folder, earlier, s); err != nil {
			return err
		}
	}
	if len(failed) > 0 {
		return &cli.Error{
			Err: fmt.Errorf("%d of %d experiments failed: %s", len(failed), len(chosen),
				strings.Join(failed, ", ")),
			Hint: "try them again with " + invocation + " --resume " + folder,
		}
	}
	last := report.IndexName
	if s.paper {
		last = againName
	}
	fmt.Fprintf(p.stderr, "experiments: read %s\n", filepath.Join(folder, last))
	return nil
}

// updatePages writes the pages over the runs in a folder again.
func (p *program) updatePages(folder string, earlier []string, s settings) error {
	if err := updateIndex(folder, true); err != nil || !s.paper {
		return err
	}
	page, err := p.page(papers.Input{Stored: p.stored, Earlier: earlier, Redraw: p.redrawAlone})
	if err != nil {
		return err
	}
	return page.WriteHTML(filepath.Join(folder, againName))
}

// announce says what will run, how long it takes and where the results will be.
func (p *program) announce(chosen []*report.Experiment, folder string, s settings) {
	what := fmt.Sprintf("%d experiments", len(chosen))
	if s.quick {
		var all time.Duration
		for _, e := range chosen {
			all += e.QuickTime
		}
		what += fmt.Sprintf(", quick versions, about %.0f min on two cores", all.Minutes())
	}
	fmt.Fprintf(p.stderr, "experiments: %s; results in %s\n", what, folder)
	fmt.Fprintf(p.stderr, "experiments: if interrupted, continue with %s --resume %s\n", invocation, folder)
}

// runOneOfSeveral runs an experiment, or the rest of it, and prints its findings.
func (p *program) runOneOfSeveral(
	ctx context.Context, e *report.Experiment, place string, earlier []string, s settings,
) error {
	kept, r, err := findInterrupted(place)
	var folder *cli.Folder
	switch {
	case err == nil:
		r.resumed()
		folder, err = cli.ReopenFolder(kept, place)
	case errors.Is(err, errNoInterruptedRun):
		r = p.newRecord(e, place, s)
		r.Indexed = true
		folder, err = cli.NewFolder(place)
	}
	if err != nil {
		return err
	}
	out, _, err := p.runOne(ctx, e, folder, r, earlier, s)
	if err != nil {
		return err
	}
	if s.json {
		return out.WriteJSON(p.stdout)
	}
	return out.WriteSummary(p.stdout)
}

// hasSeveral reports whether a folder is that of a command that runs several experiments.
func hasSeveral(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, severalName))
	return !errors.Is(err, fs.ErrNotExist)
}
