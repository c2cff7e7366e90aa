package fidelity

import (
	"tandem/experiments/fidelity/disturbed"
	"tandem/experiments/fidelity/generators"
	"tandem/experiments/fidelity/links"
	"tandem/experiments/fidelity/peers"
	"tandem/experiments/internal/report"
)

// Chapter returns the experiments in the order of the list.
func Chapter() report.Chapter {
	return report.Chapter{
		Name: "fidelity", Title: "Fidelity: may one believe the simulator and the generated data?",
		Experiments: []*report.Experiment{disturbed.New(), links.New(), peers.New(), generators.New()},
		Gone: map[string]string{
			"simvsreal":   "disturbed and links, where modes differ by more than a machine drifts",
			"attribution": "go test ./experiments/fidelity -long -v checks bottlenecks and intervals",
		},
	}
}
