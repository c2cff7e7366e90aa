package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tandem/algo/job"
	"tandem/experiments/internal/report"
	"tandem/experiments/papers"
	"tandem/internal/cli"
)

const longHelp = `experiments runs comparisons. Each experiment answers one question, prints
tables and findings and writes a new folder:

  report.html           everything on one page
  <name>.json           the numbers
  table-1.csv, …        the tables
  differences.csv       paired differences by seed, where trainings are compared
  settings.yaml         the resolved settings
  run.json              what --resume needs
  <figure>.png, .svg    the figures

Without a name, it writes the page of the papers' figures from stored results at
once, as paper does, and then runs the quick versions of what the figures of
throughput and convergence need, in a few minutes; again.html is the page with
these. The columns and keys of all files are in docs/result-files.md.

An interrupted run is continued with --resume and repeats no stored training or
measured case.
repeat RUN runs again what a report names by its id.
Real data are looked for in --data-folder.

Exit status: 0 success, 1 failed or interrupted, 2 usage error.`

const examples = `  go run ./experiments list                  list the experiments
  go run ./experiments                       show the papers' figures, and run the
                                             most wanted again in quick versions
  go run ./experiments paper                 show them from stored results alone
  go run ./experiments all --quick           run the quick version of all
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
	chapters       []report.Chapter
	stdout, stderr io.Writer
	terminal       bool // stderr is a terminal
	now            func() time.Time
	dataFolder     string // the value of TANDEM_DATA
	stored         fs.FS  // results that are kept with the program
	// page makes the page of the papers' figures, and wanted names the experiments that run without a name.
	page   func(papers.Input) (*papers.Page, error)
	wanted []string
	// own are the flags that only one experiment has, of the command line that is parsed.
	own map[*report.Experiment]*pflag.FlagSet
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
	paper      bool // writes the page of the papers' figures beside the runs
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
			return p.runPaper(cmd.Context(), p.wanted, s)
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
	root.AddCommand(p.listCommand(), p.repeatCommand(), p.redrawCommand(), p.paperCommand(), all)
	p.own = map[*report.Experiment]*pflag.FlagSet{}
	for e := range p.all() {
		root.AddCommand(p.experimentCommand(e, &s))
	}
	return root
}

// all returns the experiments of all chapters.
func (p *program) all() iter.Seq[*report.Experiment] {
	return func(yield func(*report.Experiment) bool) {
		for _, c := range p.chapters {
			for _, e := range c.Experiments {
				if !yield(e) {
					return
				}
			}
		}
	}
}

// possible returns the names of the experiments that this machine can run, and reports the others. An
// experiment that is named on the command line is run in any case, and its error says what to do.
func (p *program) possible() (names []string) {
	for e := range p.all() {
		if e.Missing != nil {
			if err := e.Missing(); err != nil {
				fmt.Fprintf(p.stderr, "experiments: %s is left out: %v\n", e.Name, err)
				continue
			}
		}
		names = append(names, e.Name)
	}
	return names
}

// readsStored returns the flag that makes an experiment answer from stored results, or "".
func readsStored(e *report.Experiment) (flag string) {
	if e.ReadsStored == nil {
		return ""
	}
	return e.ReadsStored()
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
func (p *program) experimentCommand(e *report.Experiment, s *settings) *cobra.Command {
	const shorts = 14 // where cobra's list of commands has their short texts
	command := invocation + " " + e.Name
	var parts []string
	one := &cobra.Command{
		Use:       e.Name + " [name…]",
		Short:     cli.WrapAt(e.Question, strings.Repeat(" ", shorts), shorts, helpColumns),
		Long:      cli.WrapAt(e.Name+": "+e.Question, "", 0, helpColumns) + "\n\n" + help(e),
		Example:   "  " + command + " --quick\n  " + command + " --seeds 10 --out results/" + e.Name,
		Args:      cobra.ArbitraryArgs,
		ValidArgs: p.names(),
		RunE: func(cmd *cobra.Command, others []string) error {
			names := append([]string{e.Name}, others...)
			if cmd.Flags().Changed("resume") {
				return p.resume(cmd.Context(), names, *s, cmd.Flags().Changed)
			}
			if parts != nil {
				return p.runParts(cmd.Context(), e, parts, others, *s)
			}
			if flag := readsStored(e); flag != "" {
				if err := refuseTraining(flag, cmd.Flags().Changed); err != nil {
					return err
				}
				if s.out == "" && len(others) == 0 {
					return p.answer(cmd.Context(), e, *s)
				}
			}
			return p.runNamed(cmd.Context(), names, len(others) > 0, *s)
		},
	}
	p.addFlags(one, s)
	if e.Parts != nil {
		one.Flags().StringSliceVar(&parts, "part", nil, "run these parts alone: "+
			strings.Join(partNames(e), ", "))
	}
	p.addOwnFlags(one.Flags(), e)
	return one
}

// help returns the text of an experiment, and of its parts.
func help(e *report.Experiment) string {
	text := e.Help
	for _, part := range e.Parts {
		title := cli.WrapAt("--part "+part.Name+": "+part.Question, "", 0, helpColumns)
		text += "\n\n" + title + "\n\n" + part.Help
	}
	return text
}

func partNames(e *report.Experiment) (names []string) {
	for _, part := range e.Parts {
		names = append(names, part.Name)
	}
	return names
}

// runParts runs the named parts of an experiment.
func (p *program) runParts(
	ctx context.Context, e *report.Experiment, names, others []string, s settings,
) error {
	if len(others) > 0 {
		return cli.UsageError("name one experiment", "--part chooses parts of %s alone", e.Name)
	}
	var chosen []*report.Experiment
	for _, name := range names {
		at := slices.Index(partNames(e), name)
		if at < 0 {
			return cli.UsageError("the parts are "+strings.Join(partNames(e), ", "), "%s has no part %q",
				e.Name, name)
		}
		chosen = append(chosen, e.Parts[at])
	}
	if err := p.refuseFlagsOfOthers(e, chosen); err != nil {
		return err
	}
	return p.runChosen(ctx, chosen, len(chosen) > 1, s)
}

// refuseFlagsOfOthers returns a usage error if a flag is set that only other parts have.
func (p *program) refuseFlagsOfOthers(e *report.Experiment, chosen []*report.Experiment) (err error) {
	for _, part := range e.Parts {
		p.own[part].VisitAll(func(f *pflag.Flag) {
			has := func(c *report.Experiment) bool { return p.own[c].Lookup(f.Name) != nil }
			if err == nil && f.Changed && !slices.ContainsFunc(chosen, has) {
				err = cli.UsageError("leave it out, or add --part "+part.Name, "--%s: --part %s has no such "+
					"flag", f.Name, strings.Join(partNames(&report.Experiment{Parts: chosen}), ","))
			}
		})
	}
	return err
}

// addOwnFlags adds the flags that only an experiment has to those of its command. Parts that have a flag of
// one name get the same value.
func (p *program) addOwnFlags(flags *pflag.FlagSet, e *report.Experiment) {
	for _, leaf := range e.Leaves() {
		own := pflag.NewFlagSet("", pflag.ContinueOnError)
		own.SortFlags = false
		if leaf.AddFlags != nil {
			leaf.AddFlags(own)
		}
		p.own[leaf] = own
		own.VisitAll(func(f *pflag.Flag) {
			if first := flags.Lookup(f.Name); first != nil {
				first.Value = shared{first.Value, f}
				return
			}
			flags.AddFlag(f)
		})
	}
}

// shared is the value of a flag that another flag has, too.
type shared struct {
	pflag.Value
	other *pflag.Flag
}

// Set sets both flags.
func (s shared) Set(text string) error {
	if err := s.Value.Set(text); err != nil {
		return err
	}
	s.other.Changed = true
	return s.other.Value.Set(text)
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
func (p *program) names() (names []string) {
	for e := range p.all() {
		names = append(names, e.Name)
	}
	return names
}

// find returns the named experiments, or all their parts. It is an error to name one twice.
func (p *program) find(names []string) (found []*report.Experiment, err error) {
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return nil, cli.UsageError("name it once", "experiment %q is named twice", name)
		}
		if strings.TrimSpace(name) == "" {
			return nil, cli.UsageError(listHint, "experiment %d has no name", i+1)
		}
		known := false
		for e := range p.all() {
			if e.Name == name {
				found, known = append(found, e.Leaves()...), true
			}
		}
		if !known {
			return nil, p.unknown(name)
		}
	}
	return found, nil
}

// subcommands returns the names of the commands that are no experiments.
func subcommands() []string { return []string{"list", "all", "repeat", "redraw", "paper"} }

// unknown returns the error for a name that no experiment has.
func (p *program) unknown(name string) error {
	if whole, part := p.leaf(name); part != nil {
		return cli.UsageError(fmt.Sprintf("write %s %s --part %s", invocation, whole.Name, name),
			"%s is a part of the experiment %s", name, whole.Name)
	}
	for _, c := range p.chapters {
		if answer := c.Gone[name]; answer != "" {
			return cli.UsageError(answer, "there is no experiment %s any more", name)
		}
	}
	hint := listHint
	known := append(p.names(), subcommands()...)
	if nearest := job.Nearest(name, known); nearest != "" {
		hint = "did you mean " + nearest + "? " + hint
	}
	return cli.UsageError(hint, "unknown experiment %q", name)
}

// leaf returns the experiment without parts that has a name, and the whole that it belongs to; or nil.
func (p *program) leaf(name string) (whole, leaf *report.Experiment) {
	for e := range p.all() {
		for _, one := range e.Leaves() {
			if one.Name == name {
				return e, one
			}
		}
	}
	return nil, nil
}
