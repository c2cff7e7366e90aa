package report

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/pflag"
)

// Experiment answers one question. Study makes one of a plan, a measurement and a report.
type Experiment struct {
	// Name is lower case with hyphens. The folder of the experiment has it without them.
	Name     string
	Question string
	// Help says what is planned and measured, for a terminal of 80 columns, without a newline at the end. The
	// command adds the flags and the files that every run writes.
	Help string
	// QuickTime is the approximate time of the quick version on two slow cores.
	QuickTime time.Duration
	// AddFlags adds the flags that only this experiment has, and resets their variables to the defaults; nil:
	// there are none.
	AddFlags func(flags *pflag.FlagSet)
	// Missing returns an error that says what this machine lacks to run the experiment, or nil; nil: any
	// machine can run it.
	Missing func() error
	// ReadsStored returns the flag that makes the experiment answer from stored results instead of training,
	// or "". The answer is text, so a folder is written only if the user names one; nil: no such flag.
	ReadsStored func() (flag string)
	// Run answers the question. When ctx ends, it stops and returns an error that wraps the error of ctx.
	Run func(ctx context.Context, o Options) (*Report, error)
	// Redraw makes the report of a run with some options again from the data in its file of numbers; nil: the
	// experiment stores no results.
	Redraw func(o Options, data json.RawMessage) (*Report, error)
	// Parts are the experiments of which this one consists, if its question has several. It then has a name,
	// a question and help, and nothing else.
	Parts []*Experiment
}

// Chapter is a group of experiments, a folder of the command.
type Chapter struct {
	Name        string // of the folder
	Title       string // a line above the list of its experiments
	Experiments []*Experiment
	// Gone are the names of earlier experiments, each with what answers its question now.
	Gone map[string]string
}

// Leaves returns the experiment, or its parts.
func (e *Experiment) Leaves() []*Experiment {
	if e.Parts != nil {
		return e.Parts
	}
	return []*Experiment{e}
}

// Restorer is a plan that reads from stored numbers what the command of their run does not say.
type Restorer[D any] interface {
	// Restore changes the plan of today to that of the stored numbers. The error names what the command and
	// the numbers say differently.
	Restore(stored D) error
}

// Study returns an experiment of three steps, each of which sees only what the steps before it have made:
//
//	plan     everything that is fixed before the first run, from options and flags; or a usage error
//	measure  the numbers, from the plan; what was measured is kept in the folder of the run
//	draw     tables, figures, findings and notes, from the plan and the numbers alone
//
// The plan is written as YAML (settings.yaml) and the numbers as JSON, from which draw makes the report
// again: both types hold all that it needs in fields with names. The plan comes first, so that a method of
// the plan can be given as (*plan).measure.
//
// A plan with defaults that change as Tandem grows, such as all modes, is a Restorer.
func Study[P, D any](
	e Experiment, plan func(Options) (P, error), measure func(P, context.Context, Options) (D, error),
	draw func(P, D) *Report,
) *Experiment {
	complete := func(p P, d D) *Report {
		r := draw(p, d)
		r.Settings, r.Data = p, d
		return r
	}
	e.Run = func(ctx context.Context, o Options) (*Report, error) {
		p, err := plan(o)
		if err != nil {
			return nil, err
		}
		d, err := measure(p, ctx, o)
		if err != nil {
			return nil, err
		}
		return complete(p, d), nil
	}
	e.Redraw = func(o Options, data json.RawMessage) (*Report, error) {
		p, err := plan(o)
		if err != nil {
			return nil, err
		}
		var d D
		if err := json.Unmarshal(data, &d); err != nil {
			return nil, fmt.Errorf("%s: stored numbers: %w", e.Name, err)
		}
		if r, ok := any(p).(Restorer[D]); ok {
			if err := r.Restore(d); err != nil {
				return nil, fmt.Errorf("%s: stored numbers: %w", e.Name, err)
			}
		}
		return complete(p, d), nil
	}
	return &e
}
