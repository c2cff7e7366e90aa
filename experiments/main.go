// Command experiments runs the comparisons that this project stands on, one
// question each, and writes what they find as tables, figures and one page of
// HTML.
//
//	go run ./experiments list
//	go run ./experiments staleness --quick
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"

	"tandem/experiments/modes"
	"tandem/experiments/report"
	"tandem/experiments/semantics"
	"tandem/experiments/simvsreal"
	"tandem/experiments/speed"
	"tandem/experiments/staleness"
)

// experiment answers one question.
type experiment interface {
	Name() string
	Question() string
	// Help says what is measured and which files are written, for a terminal of
	// 80 columns, without a newline at the end.
	Help() string
	// QuickTime is about how long the quick version takes on two slow cores.
	QuickTime() time.Duration
	// Run answers the question. It fills in findings, notes, tables, figures,
	// settings and data of the report. When ctx ends it stops and returns an
	// error that wraps that of ctx.
	Run(ctx context.Context, o report.Options) (*report.Report, error)
}

// experiments lists all, in the order of reports.
func experiments() []experiment {
	return []experiment{staleness.New(), simvsreal.New(), modes.New(), semantics.New(), speed.New()}
}

func main() { os.Exit(run(os.Args[1:])) }

// run is main with the exit code as result: 0 good, 1 failed, 2 usage.
func run(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	p := program{
		experiments: experiments(),
		stdout:      os.Stdout,
		stderr:      os.Stderr,
		terminal:    term.IsTerminal(int(os.Stderr.Fd())),
		now:         time.Now,
	}
	return p.run(ctx, args)
}
