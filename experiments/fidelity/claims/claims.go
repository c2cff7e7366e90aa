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

// New returns the experiment. Stored has the results that are kept with the program.
func New(stored fs.FS) *report.Experiment {
	var results, page string
	return report.Study(report.Experiment{
		Name:     "claims",
		Question: "Which published claims do the experiments reproduce?",
		Help: `Sets published sentences and figures of Persia and Neo/ZionEX beside the numbers of
the other experiments, and judges each. It trains and simulates nothing.

The numbers are, for each experiment, those of the same command if it runs several,
those in --results, or else the stored ones of this repository, where full runs
come before quick ones.

A number is reproduced if our interval meets what the published form allows, is
narrow enough (a factor 2.5 from end to end, or ±0.005 AUC) and excludes the value
without any effect. If it only lies on the right side of that value, the shape is
reproduced: the row says if the value is missed or the interval is too wide. A bound
is reproduced if the whole interval keeps it.

Every row names its run; go run ./experiments repeat RUN repeats it.`,
		QuickTime: time.Second,
		AddFlags: func(flags *pflag.FlagSet) {
			flags.StringVar(&results, "results", "", "take the numbers from the results in this folder, the "+
				"latest full one of each experiment, and only the rest from this repository")
			flags.StringVar(&page, "page", "", "write the table into this page, between its two marks, too")
		},
	}, func(report.Options) (*plan, error) {
		list, err := all()
		return &plan{Results: results, Claims: list}, err
	}, func(p *plan, _ context.Context, o report.Options) ([]Row, error) {
		found, err := Find(stored, p.Results, o.Earlier)
		if err != nil {
			return nil, err
		}
		judged := rows(p.Claims, found)
		if page != "" {
			err = writePage(page, judged)
		}
		return judged, err
	}, newReport)
}

// plan is everything that is fixed before the comparison.
type plan struct {
	Results string  `yaml:"results,omitempty"` // the folder of --results
	Claims  []claim `yaml:"claims"`
}

// Find returns the results by experiment: those in earlier folders, in a folder unless it is empty, and
// stored ones. Of several in one place, full runs come before quick ones, and later ones before earlier ones.
func Find(stored fs.FS, folder string, earlier []string) (map[string]Source, error) {
	found := map[string]Source{}
	add := func(fsys fs.FS, origin string) error {
		results, err := report.FindResults(fsys)
		if err != nil {
			return err
		}
		for _, r := range results {
			before, ok := found[r.Name]
			if !ok || before.Origin == origin && before.Quick() && !r.Quick() {
				found[r.Name] = Source{r, origin, fsys}
			}
		}
		return nil
	}
	for _, folder := range earlier {
		if err := add(os.DirFS(folder), "this command"); err != nil {
			return nil, err
		}
	}
	if folder != "" {
		if _, err := os.Stat(folder); err != nil {
			return nil, cli.UsageError("name a folder that experiments have written to",
				"--results %s: there is no such folder", folder)
		}
		if err := add(os.DirFS(folder), filepath.ToSlash(folder)); err != nil {
			return nil, err
		}
	}
	if err := add(stored, "stored"); err != nil {
		return nil, fmt.Errorf("stored results: %w", err)
	}
	return found, nil
}

// Source is a result and where it is from.
type Source struct {
	*report.Result
	Origin string
	fsys   fs.FS
}

// Text returns the file of the result.
func (s *Source) Text() ([]byte, error) { return fs.ReadFile(s.fsys, s.File) }

// Judge judges all claims by results.
func Judge(found map[string]Source) ([]Row, error) {
	list, err := all()
	return rows(list, found), err
}

// Counts says in a sentence how many claims have each verdict, by the versions of their runs.
func Counts(judged []Row) string { return findings(judged)[0] }
