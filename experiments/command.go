package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tandem/algo/job"
	"tandem/experiments/report"
	"tandem/internal/cli"
)

const longHelp = `experiments runs comparisons. Each experiment answers one question, prints
tables and findings and writes a new folder:

  report.html           everything on one page
  <name>.json, .csv     the numbers
  differences.csv       paired differences by seed, where trainings are compared
  settings.yaml         the resolved settings
  run.json              what --resume needs
  <figure>.png, .svg    the figures

Without a name, it runs the quick version of all experiments in one new folder,
whose index.html opens with the published claims and what is found of them. The
columns and keys of all files are in docs/results.md.

An interrupted run is continued with --resume and repeats no stored training or
measured case.
repeat RUN runs again what a report names by its id.
Real data are looked for in --data-folder.

Exit status: 0 success, 1 failed or interrupted, 2 usage error.`

const examples = `  go run ./experiments list                  list the experiments
  go run ./experiments                       run the quick version of all
  go run ./experiments staleness --quick     run the quick version of one
  go run ./experiments staleness --help      show what it measures and writes
  go run ./experiments staleness --seeds 10 --out results/tau
  go run ./experiments staleness --quick --json
                                             write the numbers to stdout
  go run ./experiments --resume results/tau  continue an interrupted run`

// invocation is how a user starts the program.
const invocation = "go run ./experiments"

// helpColumns is the width of the help.
const helpColumns = 80

const listHint = invocation + " list shows all"

// program is the command with its inputs and outputs.
type program struct {
	experiments    []experiment
	stdout, stderr io.Writer
	terminal       bool // stderr is a terminal
	now            func() time.Time
	dataFolder     string // the value of TANDEM_DATA
	stored         fs.FS  // results that are kept with the program
}

// settings are the values of the flags.
type settings struct {
	quick      bool
	seeds      int
	seed       uint64
	out        string
	resume     string
	dataFolder string
	json       bool
}

// run executes a command line and returns the exit code.
func (p *program) run(ctx context.Context, args []string) int {
	root := p.command()
	root.SetArgs(args)
	return cli.PrintError(p.stderr, "experiments", root.ExecuteContext(ctx))
}

// command builds the tree of commands.
func (p *program) command() *cobra.Command {
	var s settings
	root := &cobra.Command{
		Use:         "experiments [name…]",
		Short:       "run the comparisons behind the claims of this project",
		Long:        longHelp,
		Example:     examples,
		Args:        cobra.ArbitraryArgs,
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: invocation},
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("resume") {
				return p.resume(cmd.Context(), args, s, cmd.Flags().Changed)
			}
			if len(args) > 0 {
				return p.runNamed(cmd.Context(), args, len(args) > 1, s)
			}
			if !cmd.Flags().Changed("quick") {
				s.quick = true
			}
			return p.runNamed(cmd.Context(), p.possible(), true, s)
		},
	}
	cli.Configure(root, p.stdout, p.stderr)
	all := &cobra.Command{
		Use:     "all",
		Short:   "run all experiments",
		Example: "  go run ./experiments all --quick\n  go run ./experiments all --out results/paper",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("resume") {
				return cli.UsageError("give --resume without a name", "--resume continues one run, not all")
			}
			return p.runNamed(cmd.Context(), p.possible(), true, s)
		},
	}
	p.addFlags(root, &s)
	p.addFlags(all, &s)
	root.AddCommand(p.listCommand(), p.indexCommand(), p.repeatCommand(), all)
	for _, e := range p.experiments {
		one := p.experimentCommand(e, &s)
		p.addFlags(one, &s)
		if more, ok := e.(withFlags); ok {
			more.AddFlags(one.Flags())
		}
		root.AddCommand(one)
	}
	return root
}

// withFlags is an experiment with additional flags.
type withFlags interface {
	AddFlags(flags *pflag.FlagSet)
	// Arguments returns the flags that were set, for the command that repeats a run.
	Arguments() []string
}

// withNeed is an experiment that only some machines can run.
type withNeed interface {
	// Missing returns an error that says what this machine lacks, or nil.
	Missing() error
}

// possible returns the names of the experiments that this machine can run, and reports the others. An
// experiment that is named on the command line is run in any case, and its error says what to do.
func (p *program) possible() (names []string) {
	for _, e := range p.experiments {
		if needs, ok := e.(withNeed); ok {
			if err := needs.Missing(); err != nil {
				fmt.Fprintf(p.stderr, "experiments: %s is left out: %v\n", e.Name(), err)
				continue
			}
		}
		names = append(names, e.Name())
	}
	return names
}

// withStored is an experiment with flags that make it read stored results instead of training.
type withStored interface {
	// ReadsStored returns the flag that was given, or "" if the experiment trains. inText says that the text
	// of the report is the answer, so that a folder is written only if the user names one.
	ReadsStored() (flag string, inText bool)
}

// readsStored returns the flag that makes an experiment read stored results, or "".
func readsStored(e experiment) (flag string, inText bool) {
	if stored, ok := e.(withStored); ok {
		return stored.ReadsStored()
	}
	return "", false
}

// refuseTraining returns a usage error if a flag of trainings is beside one that reads stored results.
func refuseTraining(flag string, changed func(flag string) bool) error {
	for _, name := range []string{"quick", "seeds", "seed"} {
		if changed(name) {
			return cli.UsageError("leave out --"+name, "%s trains nothing, so --%s has no effect", flag, name)
		}
	}
	return nil
}

// experimentCommand returns the command of an experiment, which also runs the experiments named after it.
func (p *program) experimentCommand(e experiment, s *settings) *cobra.Command {
	const shorts = 14 // where cobra's list of commands has their short texts
	command := invocation + " " + e.Name()
	return &cobra.Command{
		Use:       e.Name() + " [name…]",
		Short:     cli.WrapAt(e.Question(), strings.Repeat(" ", shorts), shorts, helpColumns),
		Long:      cli.WrapAt(e.Name()+": "+e.Question(), "", 0, helpColumns) + "\n\n" + e.Help(),
		Example:   "  " + command + " --quick\n  " + command + " --seeds 10 --out results/" + e.Name(),
		Args:      cobra.ArbitraryArgs,
		ValidArgs: p.names(),
		RunE: func(cmd *cobra.Command, others []string) error {
			names := append([]string{e.Name()}, others...)
			if cmd.Flags().Changed("resume") {
				return p.resume(cmd.Context(), names, *s, cmd.Flags().Changed)
			}
			if flag, inText := readsStored(e); flag != "" {
				if err := refuseTraining(flag, cmd.Flags().Changed); err != nil {
					return err
				}
				if inText && s.out == "" && len(others) == 0 {
					return p.answer(cmd.Context(), e, *s)
				}
			}
			return p.runNamed(cmd.Context(), names, len(others) > 0, *s)
		},
	}
}

// addFlags adds the flags of a run to a command.
func (p *program) addFlags(cmd *cobra.Command, s *settings) {
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&s.quick, "quick", false, "run the quick version: minutes instead of hours")
	flags.IntVar(&s.seeds, "seeds", report.SeedsWanted, "set the number of seeds, at least 2")
	flags.Uint64Var(&s.seed, "seed", 1, "set the first seed")
	flags.StringVar(&s.out, "out", "", "write results to this folder, empty or new; several experiments "+
		"get a folder each in it (default results/<time>-<name>, or -experiments for several)")
	flags.StringVar(&s.resume, "resume", "", "continue the interrupted run that wrote to this folder; its "+
		"settings are kept")
	flags.StringVar(&s.dataFolder, "data-folder", p.dataFolder, "look for real data in this folder "+
		"(default TANDEM_DATA)")
	flags.Lookup("data-folder").DefValue = ""
	flags.BoolVar(&s.json, "json", false, "write the numbers as JSON to stdout instead of tables")
}

// noArgs returns a usage error if there are arguments.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return cli.UsageError("see "+cmd.CommandPath()+" --help", "%s takes no argument, got %q", cmd.Name(),
			args[0])
	}
	return nil
}

// names returns the names of the experiments.
func (p *program) names() []string {
	names := make([]string, len(p.experiments))
	for i, e := range p.experiments {
		names[i] = e.Name()
	}
	return names
}

// find returns the named experiments. It is an error to name one twice.
func (p *program) find(names []string) ([]experiment, error) {
	var found []experiment
	for i, name := range names {
		at := slices.Index(p.names(), name)
		switch {
		case at < 0 && strings.TrimSpace(name) == "":
			return nil, cli.UsageError(listHint, "experiment %d has no name", i+1)
		case at < 0:
			hint := listHint
			known := append(p.names(), "list", "all", "index", "repeat")
			if nearest := job.Nearest(name, known); nearest != "" {
				hint = "did you mean " + nearest + "? " + hint
			}
			return nil, cli.UsageError(hint, "unknown experiment %q", name)
		case slices.Contains(names[:i], name):
			return nil, cli.UsageError("name it once", "experiment %q is named twice", name)
		}
		found = append(found, p.experiments[at])
	}
	return found, nil
}
