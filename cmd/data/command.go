package main

import (
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tandem/algo/job"
	"tandem/internal/cli"
)

// program is the environment of the commands.
type program struct {
	stdout, stderr io.Writer
	dataDir        string // TANDEM_DATA
}

// flags holds the flags of all commands; each command registers those that it has.
type flags struct {
	job      string
	kind     string
	label    string
	positive string
	onBadRow string
	rows     int
	out      string
	json     bool
	yaml     bool
}

const usage = `Describe, profile, convert and generate data sets.

A data set is a FILE or the data section of a job file (--file). The kind of a
FILE is guessed from its first line, unless --kind names it. A FILE is relative
to the working folder. Paths in a job file are relative to the folder in the
environment variable TANDEM_DATA or, if it is not set, to the folder of the job
file. Files can be plain text, gzip or zstd.`

const examples = `  go run ./cmd/data inspect clicks.tsv.gz
  go run ./cmd/data profile clicks.tsv.gz
  go run ./cmd/data profile clicks.tsv.gz --yaml > alike.yaml
  go run ./cmd/data generate --file alike.yaml --out alike`

func (p *program) command() *cobra.Command {
	c := &cobra.Command{
		Use: "data", Short: "Describe, profile, convert and generate data sets", Long: usage,
		Example: examples,
		RunE: func(c *cobra.Command, args []string) error {
			names := cli.Commands(c)
			hint := "commands are " + strings.Join(names, ", ") + "; see --help"
			if len(args) == 0 {
				return cli.UsageError(hint, "no command")
			}
			return cli.UsageError(hint, "command %s", job.Unknown(args[0], names))
		},
		Args: cobra.ArbitraryArgs, // for the right exit code after an unknown command
	}
	c.AddCommand(p.inspectCommand(), p.profileCommand(), p.convertCommand(), p.generateCommand(),
		p.cacheCommand(), p.initCommand())
	cli.Configure(c, p.stdout, p.stderr)
	c.SetHelpCommand(&cobra.Command{Hidden: true}) // use --help
	return c
}

// inputFlags registers the flags that choose the data set.
func (f *flags) inputFlags(c *cobra.Command) {
	c.Flags().SortFlags = false
	c.Flags().StringVarP(&f.job, "file", "f", "", "read the data of this job file instead of FILE")
	c.Flags().StringVar(&f.kind, "kind", "", "set the kind of FILE (default: guessed)")
	c.Flags().StringVar(&f.label, "label", "", "set the label of a csv FILE (default: guessed)")
	c.Flags().StringVar(&f.positive, "positive", "",
		"these labels of a csv FILE are positive: texts as in yes,maybe, or '>=4' (default: guessed)")
}

func (f *flags) badRowFlag(c *cobra.Command) {
	c.Flags().StringVar(&f.onBadRow, "on-bad-row", "fail", "fail at a bad row, or skip:N")
}

// check returns FILE, or "" for a job, or an error for flags that exclude each other.
func (f *flags) check(args []string) (string, error) {
	const hint = "give one FILE, or --file with a job; see --help"
	switch {
	case len(args) > 1:
		return "", cli.UsageError(hint, "unexpected argument %q", args[1])
	case len(args) == 1 && f.job != "":
		return "", cli.UsageError(hint, "both %s and --file %s", args[0], f.job)
	case len(args) == 0 && f.job == "":
		return "", cli.UsageError(hint, "nothing to read")
	case f.job != "" && (f.kind != "" || f.label != ""):
		return "", cli.UsageError("leave them out: the job file describes its data",
			"--kind and --label cannot be combined with --file")
	}
	if f.kind != "" && !slices.Contains(fileKinds(), f.kind) {
		return "", cli.UsageError("kinds are "+strings.Join(fileKinds(), ", "),
			"--kind: %s", job.Unknown(f.kind, fileKinds()))
	}
	if len(args) == 0 {
		return "", nil
	}
	return args[0], nil
}

// policy returns the value of --on-bad-row.
func (f *flags) policy() (job.OnBadRow, error) {
	var policy job.OnBadRow
	if err := policy.UnmarshalText([]byte(f.onBadRow)); err != nil {
		return policy, cli.UsageError("see --help", "--%v", err)
	}
	return policy, nil
}

// fileKinds returns the kinds that can be read, or guessed, from a file alone.
func fileKinds() []string {
	var kinds []string
	for _, kind := range job.DataKinds() {
		if kind != job.KindAdultIncome && kind != job.KindSynthetic && kind != job.KindParquet {
			kinds = append(kinds, string(kind))
		}
	}
	return kinds
}

func writeJSON(w io.Writer, value any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(value)
}
