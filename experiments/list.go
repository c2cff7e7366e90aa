package main

import (
	"encoding/json"
	"fmt"

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

func (p *program) listText() error {
	table := cli.Table{Header: []string{"name", "question", "quick run (s)"}, Words: 2}
	for _, e := range p.experiments {
		table.Rows = append(table.Rows, []string{e.Name(), e.Question(), fmt.Sprint(e.QuickTime().Seconds())})
	}
	return table.WriteText(p.stdout)
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
