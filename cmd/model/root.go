package main

import (
	"encoding/json"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"tandem/algo/job"
	"tandem/internal/cli"
)

// program is the environment of the commands.
type program struct {
	stdout, stderr io.Writer
	terminal       bool // stderr is one
}

const usage = `Check, describe and compare trained models, and predict with them.

A MODEL is a folder that a training has written, such as
results/20261123-130000-clicks/hybrid/model. docs/model-files.md describes its
files.`

const examples = `  go run ./cmd/model inspect results/clicks/hybrid/model
  go run ./cmd/model verify results/clicks/hybrid/model
  go run ./cmd/model diff results/clicks/sync/model results/clicks/hybrid/model
  go run ./cmd/model predict results/clicks/hybrid/model today.csv`

func (p *program) command() *cobra.Command {
	c := &cobra.Command{
		Use: "model", Short: "Check, describe, compare and use trained models", Long: usage,
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
	c.AddCommand(p.verifyCommand())
	c.AddCommand(p.inspectCommand())
	c.AddCommand(p.diffCommand())
	c.AddCommand(p.predictCommand())
	c.AddCommand(p.embeddingsCommand())
	c.AddCommand(p.exportCommand())
	cli.Configure(c, p.stdout, p.stderr)
	c.SetHelpCommand(&cobra.Command{Hidden: true}) // use --help
	return c
}

// models demands a number of models as arguments.
func models(want int) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != want {
			return cli.UsageError("see --help", "%d arguments, want %d: the folder of each model", len(args),
				want)
		}
		return nil
	}
}

// writeJSON writes a value as one JSON object.
func writeJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}
