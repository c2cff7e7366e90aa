package main

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tandem/experiments/internal/report"
	"tandem/internal/cli"
)

// repeatCommand returns the command that runs an earlier run again.
func (p *program) repeatCommand() *cobra.Command {
	var folder, out string
	repeat := &cobra.Command{
		Use:   "repeat RUN",
		Short: "run again what a report or the claims table names by its id",
		Long: `repeat runs the command of an earlier run again, which is found by the id in its
report: among the results in --results, then among those stored in this repository.
It says so if the program is of another commit. At the same commit and data,
everything but timings and trainings with real threads is the same.`,
		Example: "  go run ./experiments repeat 1d0e3b7c\n" +
			"  go run ./experiments repeat 1d0e3b7c --results results/paper --out again",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.UsageError("the id of a run is in its report.html and NAME.json",
					"repeat takes the id of one run, got %d", len(args))
			}
			if _, err := os.Stat(folder); err != nil && cmd.Flags().Changed("results") {
				return cli.UsageError("name a folder that experiments have written to",
					"--results %s: there is no such folder", folder)
			}
			r, err := p.findRun(args[0], folder)
			if err != nil {
				return err
			}
			here := cli.Commit()
			if then := r.Environment.Commit; then != here {
				fmt.Fprintf(p.stderr, "experiments: note: run %s is of commit %s, this program of %s\n",
					r.Run, then, here)
			}
			words := p.again(r)
			if out != "" {
				words = append(words, "--out", out)
			}
			fmt.Fprintf(p.stderr, "experiments: %s %s\n", invocation, strings.Join(words, " "))
			again := p.command()
			again.SetArgs(words)
			return again.ExecuteContext(cmd.Context())
		},
	}
	repeat.Flags().StringVar(&folder, "results", "results", "look for the run in this folder first")
	repeat.Flags().StringVar(&out, "out", "", "write results to this folder, empty or new (default "+
		"results/<time>-<name>)")
	return repeat
}

// again returns the words, after those that start the program, with which a result is made again. A result
// may be older than the experiment that its own has become a part of.
func (p *program) again(r *report.Result) []string {
	words := unquoted(strings.TrimPrefix(r.Command, invocation))
	whole, leaf := p.leaf(r.Name)
	if leaf != whole && !slices.Contains(words, "--part") {
		return append([]string{whole.Name, "--part", leaf.Name}, words[1:]...)
	}
	return words
}

// findRun returns the result of a run.
func (p *program) findRun(run, folder string) (*report.Result, error) {
	places := []fs.FS{p.stored}
	if _, err := os.Stat(folder); err == nil {
		places = []fs.FS{os.DirFS(folder), p.stored}
	}
	for _, place := range places {
		results, err := report.FindResults(place)
		if err != nil {
			return nil, err
		}
		for _, r := range results {
			if r.Run == run {
				return r, nil
			}
		}
	}
	return nil, &cli.Error{
		Err:  fmt.Errorf("there is no run %q in %s or among the stored results", run, folder),
		Hint: "name the folder of its results with --results",
	}
}
