// Command experiments runs the comparisons behind the claims of this project. Each experiment answers one
// question and writes tables, figures and one HTML page.
//
//	go run ./experiments list
//	go run ./experiments staleness --quick
//
// The experiments are in folders by chapter, as persia/gantt, and in the list of their chapter.go. What they
// share is in internal. An experiment is a plan (all that is fixed before the first run), a measurement and a
// report of both: see report.Study, and docs/experiment.md for an example.
package main

import (
	"context"
	"embed"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"

	"tandem/experiments/fidelity"
	"tandem/experiments/fidelity/claims"
	"tandem/experiments/internal/report"
	"tandem/experiments/neo"
	"tandem/experiments/papers"
	"tandem/experiments/persia"
	"tandem/experiments/speed"
	"tandem/experiments/staleness"
)

// stored has the results of runs that are kept beside their experiments.
//
//go:embed */*/*.json
var stored embed.FS

// chapters returns all experiments in the order of the list. The claims come last, because they compare what
// the others have found.
func chapters() []report.Chapter {
	last := fidelity.Chapter()
	last.Experiments = append(last.Experiments, claims.New(stored))
	return []report.Chapter{
		persia.Chapter(), neo.Chapter(), staleness.Chapter(), speed.Chapter(), last,
	}
}

func main() { os.Exit(run(os.Args[1:])) }

// run executes a command line and returns the exit code: 0 success, 1 failure, 2 usage error.
func run(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	p := program{
		chapters:   chapters(),
		stdout:     os.Stdout,
		stderr:     os.Stderr,
		terminal:   term.IsTerminal(int(os.Stderr.Fd())),
		now:        time.Now,
		dataFolder: os.Getenv("TANDEM_DATA"),
		stored:     stored,
		page:       papers.New,
		wanted:     papers.Quick(),
	}
	return p.run(ctx, args)
}
