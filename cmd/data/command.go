package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tandem/algo/job"
	"tandem/internal/cli"
)

// program is what the commands need of their surroundings.
type program struct {
	stdout, stderr io.Writer
	dataDir        string // TANDEM_DATA
}

// flags are those of all commands; each registers its own.
type flags struct {
	job      string
	kind     string
	label    string
	onBadRow string
	rows     int
	out      string
	json     bool
	yaml     bool
}

const usage = `Look at data sets, and generate some.

A data set is a file, whose kind is guessed from its first line unless --kind
says it, or the data of a job file (--file). A FILE is relative to the working
folder; paths in a job file are relative to the folder in the environment
variable TANDEM_DATA, or to the job file's own. Files may be plain, gzip or zstd.`

const examples = `  go run ./cmd/data inspect clicks.tsv.gz
  go run ./cmd/data profile clicks.tsv.gz
  go run ./cmd/data profile clicks.tsv.gz --yaml > alike.yaml
  go run ./cmd/data generate --file alike.yaml --out alike`

func (p *program) command() *cobra.Command {
	c := &cobra.Command{
		Use: "data", Short: "Look at data sets, and generate some", Long: usage, Example: examples,
		RunE: func(c *cobra.Command, args []string) error {
			var names []string
			for _, sub := range c.Commands() {
				if sub.IsAvailableCommand() {
					names = append(names, sub.Name())
				}
			}
			hint := "commands are " + strings.Join(names, ", ") + "; see --help"
			if len(args) == 0 {
				return cli.UsageError(hint, "no command")
			}
			return cli.UsageError(hint, "command %s", job.Unknown(args[0], names))
		},
		Args: cobra.ArbitraryArgs, // to answer an unknown command with the right exit code
	}
	c.AddCommand(p.inspectCommand(), p.profileCommand(), p.convertCommand(), p.generateCommand(), p.cacheCommand())
	cli.Configure(c, p.stdout, p.stderr)
	c.SetHelpCommand(&cobra.Command{Hidden: true}) // --help does it
	return c
}

// inputFlags registers the flags that say what to read.
func (f *flags) inputFlags(c *cobra.Command) {
	c.Flags().SortFlags = false
	c.Flags().StringVarP(&f.job, "file", "f", "", "job file, YAML, instead of FILE")
	c.Flags().StringVar(&f.kind, "kind", "", "kind of FILE (default: guessed from its first line)")
	c.Flags().StringVar(&f.label, "label", "", "label column of a csv FILE (default: label, click, clicked, target or y)")
}

func (f *flags) badRowFlag(c *cobra.Command) {
	c.Flags().StringVar(&f.onBadRow, "on-bad-row", "fail", "fail, or skip:N to drop and count up to N malformed rows")
}

// check refuses what does not go together, and returns FILE or "".
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
		return "", cli.UsageError("the job file says what its data are", "--kind and --label do not go with --file")
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

// policy returns what --on-bad-row says.
func (f *flags) policy() (job.OnBadRow, error) {
	var policy job.OnBadRow
	if err := policy.UnmarshalText([]byte(f.onBadRow)); err != nil {
		return policy, cli.UsageError("see --help", "--%v", err)
	}
	return policy, nil
}

// fileKinds returns the kinds of which a file says all there is to know, or enough
// to guess the rest.
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

// share formats a share of rows.
func share(part, whole int) string { return fmt.Sprintf("%.4f", float64(part)/float64(whole)) }
