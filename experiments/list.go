package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tandem/experiments/internal/report"
	"tandem/internal/cli"
)

// listCommand returns the command that lists the experiments.
func (p *program) listCommand() *cobra.Command {
	var asJSON bool
	list := &cobra.Command{
		Use:     "list",
		Short:   "list the experiments by chapter, with the times of quick runs",
		Example: "  go run ./experiments list\n  go run ./experiments list --json",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return p.listJSON()
			}
			_, err := io.WriteString(p.stdout, p.listText())
			return err
		},
	}
	list.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return list
}

// listText returns a heading for each chapter and a line for each experiment, with the question and the names
// of its parts wrapped beside the name.
func (p *program) listText() string {
	width := len("name")
	for e := range p.all() {
		width = max(width, len(e.Name))
	}
	const times = "quick run" // the header, and the width of its column
	var text strings.Builder
	line := func(name, quick, question string) {
		head := fmt.Sprintf("  %-*s  %*s  ", width, name, len(times), quick)
		indent := strings.Repeat(" ", len(head))
		fmt.Fprintln(&text, head+cli.WrapAt(question, indent, len(head), cli.TextColumns(p.stdout)))
	}
	line("name", times, "question")
	for _, c := range p.chapters {
		fmt.Fprintf(&text, "\n%s\n", c.Title)
		for _, e := range c.Experiments {
			question := e.Question
			if e.Parts != nil {
				question += " Parts: " + strings.Join(partNames(e), ", ") + "."
			}
			line(e.Name, fmt.Sprintf("%g s", quickTime(e).Seconds()), question)
		}
	}
	return text.String()
}

// quickTime returns the approximate time of the quick version of an experiment with all its parts.
func quickTime(e *report.Experiment) (sum time.Duration) {
	for _, leaf := range e.Leaves() {
		sum += leaf.QuickTime
	}
	return sum
}

func (p *program) listJSON() error {
	type entry struct {
		Chapter      string   `json:"chapter"`
		Name         string   `json:"name"`
		Question     string   `json:"question"`
		Parts        []string `json:"parts,omitempty"`
		QuickSeconds float64  `json:"quick_s"`
	}
	var entries []entry
	for _, c := range p.chapters {
		for _, e := range c.Experiments {
			entries = append(entries, entry{c.Name, e.Name, e.Question, partNames(e), quickTime(e).Seconds()})
		}
	}
	encoder := json.NewEncoder(p.stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(entries)
}
