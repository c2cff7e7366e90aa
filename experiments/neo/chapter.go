package neo

import (
	"tandem/experiments/internal/report"
	"tandem/experiments/neo/neo"
)

// Chapter returns the experiments in the order of the list.
func Chapter() report.Chapter {
	return report.Chapter{
		Name: "neo", Title: "Neo/ZionEX: its lead over CPUs",
		Experiments: []*report.Experiment{neo.New()},
	}
}
