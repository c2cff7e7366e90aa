package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tandem/internal/cli"
)

// listCommand returns the command that lists the experiments.
func (p *program) listCommand() *cobra.Command {
	var asJSON bool
	list := &cobra.Command{
		Use:     "list",
		Short:   "list the experiments with the times of quick runs",
		Example: "  go run ./experiments list\n  go run ./experiments list --json",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return p.listJSON()
			}
			return p.listText()
		},
	}
	list.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return list
}

// listText writes a line per experiment, with the question wrapped beside the name.
func (p *program) listText() error {
	width := len("name")
	for _, e := range p.experiments {
		width = max(width, len(e.Name()))
	}
	const times = "quick run" // the header, and the width of its column
	line := func(name, quick, question string) error {
		head := fmt.Sprintf("%-*s  %*s  ", width, name, len(times), quick)
		indent := strings.Repeat(" ", len(head))
		_, err := fmt.Fprintln(p.stdout,
			head+cli.WrapAt(question, indent, len(head), cli.TextColumns(p.stdout)))
		return err
	}
	err := line("name", times, "question")
	for _, e := range p.experiments {
		err = errors.Join(err, line(e.Name(), fmt.Sprintf("%g s", e.QuickTime().Seconds()), e.Question()))
	}
	return err
}

func (p *program) listJSON() error {
	type entry struct {
		Name         string  `json:"name"`
		Question     string  `json:"question"`
		QuickSeconds float64 `json:"quick_s"`
	}
	var entries []entry
	for _, e := range p.experiments {
		entries = append(entries, entry{e.Name(), e.Question(), e.QuickTime().Seconds()})
	}
	encoder := json.NewEncoder(p.stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(entries)
}
