// Command experiments runs the comparisons behind the claims of this project. Each experiment answers one
// question and writes tables, figures and one HTML page.
//
//	go run ./experiments list
//	go run ./experiments staleness --quick
//
// To add an experiment, copy the folder of one, such as experiments/modes, and add it to the list in main.go.
// A folder has four parts: a plan (what is fixed before the first run, written to settings.yaml), the
// measurement (a CSV line per run, written at once), the report (tables, figures, findings, notes) and an
// Experiment that connects them. Package experiments/report does the rest.
package main

import (
	"context"
	"embed"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"

	"tandem/experiments/ablation"
	"tandem/experiments/attribution"
	"tandem/experiments/auctable"
	"tandem/experiments/capacity"
	"tandem/experiments/claims"
	"tandem/experiments/convergence"
	"tandem/experiments/decomposition"
	"tandem/experiments/defaults"
	"tandem/experiments/gantt"
	"tandem/experiments/generators"
	"tandem/experiments/gpu"
	"tandem/experiments/hotrows"
	"tandem/experiments/kwai"
	"tandem/experiments/modes"
	"tandem/experiments/neo"
	"tandem/experiments/peers"
	"tandem/experiments/phase"
	"tandem/experiments/predictor"
	"tandem/experiments/processes"
	"tandem/experiments/report"
	"tandem/experiments/rivals"
	"tandem/experiments/scalability"
	"tandem/experiments/semantics"
	"tandem/experiments/serving"
	"tandem/experiments/simvsreal"
	"tandem/experiments/source"
	"tandem/experiments/speed"
	"tandem/experiments/staleness"
	"tandem/experiments/theory"
	"tandem/experiments/timetoauc"
	"tandem/experiments/tuner"
)

// experiment answers one question.
type experiment interface {
	Name() string
	Question() string
	// Help returns what is measured and which files are written, for a terminal of 80 columns, without a
	// newline at the end.
	Help() string
	// QuickTime is the approximate time of the quick version on two slow cores.
	QuickTime() time.Duration
	// Run answers the question. It sets the findings, notes, tables, figures, settings and data of the
	// report. When ctx ends, it stops and returns an error that wraps the error of ctx.
	Run(ctx context.Context, o report.Options) (*report.Report, error)
}

// stored has the results of runs that are kept beside their experiments.
//
//go:embed */*.json
var stored embed.FS

// experiments returns all experiments in the order of the list.
func experiments() []experiment {
	return []experiment{
		tuner.New(),
		auctable.New(),
		decomposition.New(),
		source.New(),
		generators.New(),
		convergence.New(),
		staleness.New(),
		phase.New(),
		predictor.New(),
		hotrows.New(),
		theory.New(),
		simvsreal.New(),
		modes.New(),
		timetoauc.New(),
		timetoauc.NewCost(),
		semantics.New(),
		defaults.New(),
		serving.New(),
		speed.New(),
		processes.New(),
		gpu.New(),
		peers.New(),
		attribution.New(),
		scalability.New(),
		rivals.New(),
		neo.New(),
		capacity.New(),
		gantt.New(),
		ablation.New(),
		kwai.New(),
		claims.New(stored), // the last, because it compares what the others have found
	}
}

func main() { os.Exit(run(os.Args[1:])) }

// run executes a command line and returns the exit code: 0 success, 1 failure, 2 usage error.
func run(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	p := program{
		experiments: experiments(),
		stdout:      os.Stdout,
		stderr:      os.Stderr,
		terminal:    term.IsTerminal(int(os.Stderr.Fd())),
		now:         time.Now,
		dataFolder:  os.Getenv("TANDEM_DATA"),
		stored:      stored,
	}
	return p.run(ctx, args)
}
