// Package claims sets the published sentences and figures of Persia and Neo/ZionEX beside the numbers of the
// other experiments, and judges them.
//
// The claims are a file, claims.yaml. An experiment reports its numbers as report.Quantity; a claim names the
// experiment and the quantity. No verdict is written down anywhere: each follows from the published number
// and our interval.
package claims

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"tandem/experiments/internal/report"
	"tandem/internal/cli"
)

// Experiment is the comparison.
type Experiment struct {
	stored  fs.FS
	results string
}

// New returns the experiment. stored has the results that are kept with the program.
func New(stored fs.FS) *Experiment { return &Experiment{stored: stored} }

// Name returns "claims".
func (*Experiment) Name() string { return "claims" }

// Question returns the question of the experiment.
func (*Experiment) Question() string {
	return "Which published claims do the experiments reproduce?"
}

// Help returns what the experiment compares and writes.
func (*Experiment) Help() string {
	return `Sets published sentences and figures of Persia and Neo/ZionEX beside the numbers of
the other experiments, and judges each. It trains and simulates nothing.

The numbers are, for each experiment, those of the same command if it runs several,
those in --results, or else the stored ones of this repository, where full runs
come before quick ones.

A number is reproduced if our interval meets what the published form allows, is
narrow enough (a factor 2.5 from end to end, or ±0.005 AUC) and excludes the value
without any effect. If it only lies on the right side of that value, the shape is
reproduced: the row says if the value is missed or the interval is too wide. A bound
is reproduced if the whole interval keeps it.

Every row names its run; go run ./experiments repeat RUN repeats it.

Writes to a new folder:

  report.html            everything on one page
  claims.json            claims, published and own numbers, verdicts
  settings.yaml          the claims, and where the results were looked for`
}

// QuickTime returns the approximate time of the quick version on two slow cores.
func (*Experiment) QuickTime() time.Duration { return time.Second }

// AddFlags adds the flags that only this experiment has.
func (e *Experiment) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&e.results, "results", "",
		"take the numbers from the results in this folder, the latest full one "+
			"of each experiment, and only the rest from this repository")
}

// Arguments returns the flags that were set, for the command that repeats a run.
func (e *Experiment) Arguments() []string {
	if e.results == "" {
		return nil
	}
	return []string{"--results=" + e.results}
}

// plan is everything that is fixed before the comparison.
type plan struct {
	Results string  `yaml:"results,omitempty"` // the folder of --results
	Claims  []claim `yaml:"claims"`
}

// Run judges all claims.
func (e *Experiment) Run(_ context.Context, o report.Options) (*report.Report, error) {
	list, err := all()
	if err != nil {
		return nil, err
	}
	found, err := e.find(o.Earlier)
	if err != nil {
		return nil, err
	}
	return newReport(&plan{Results: e.results, Claims: list}, rows(list, found)), nil
}

// find returns the results by experiment.
func (e *Experiment) find(earlier []string) (map[string]source, error) {
	found := map[string]source{}
	add := func(fsys fs.FS, origin string) error {
		results, err := report.FindResults(fsys)
		if err != nil {
			return err
		}
		for _, r := range results {
			before, ok := found[r.Name]
			if !ok || before.Origin == origin && before.Quick() && !r.Quick() {
				found[r.Name] = source{r, origin}
			}
		}
		return nil
	}
	for _, folder := range earlier {
		if err := add(os.DirFS(folder), "this command"); err != nil {
			return nil, err
		}
	}
	if e.results != "" {
		if _, err := os.Stat(e.results); err != nil {
			return nil, cli.UsageError("name a folder that experiments have written to",
				"--results %s: there is no such folder", e.results)
		}
		if err := add(os.DirFS(e.results), filepath.ToSlash(e.results)); err != nil {
			return nil, err
		}
	}
	if err := add(e.stored, "stored"); err != nil {
		return nil, fmt.Errorf("claims: stored results: %w", err)
	}
	return found, nil
}

// source is a result and where it is from.
type source struct {
	*report.Result
	Origin string
}
