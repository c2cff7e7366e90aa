package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"tandem/experiments/internal/report"
	"tandem/internal/cli"
)

// indexCommand returns the command that writes the page over all reports.
func (p *program) indexCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "index [folder]",
		Short: "write index.html, a page with a line per report in a folder",
		Example: "  go run ./experiments index                the reports in results\n" +
			"  go run ./experiments index results/paper",
		Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			folder := "results"
			switch len(args) {
			case 0:
			case 1:
				folder = args[0]
			default:
				return cli.UsageError("name one folder", "index takes one folder, got %d", len(args))
			}
			name, err := report.WriteIndex(folder)
			if err != nil {
				return err
			}
			fmt.Fprintf(p.stderr, "experiments: the index is %s\n", name)
			return nil
		},
	}
}
