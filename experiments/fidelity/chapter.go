package fidelity

import (
	"tandem/experiments/fidelity/generators"
	"tandem/experiments/fidelity/peers"
	"tandem/experiments/fidelity/simvsreal"
	"tandem/experiments/internal/report"
)

// Chapter returns the experiments in the order of the list.
func Chapter() report.Chapter {
	return report.Chapter{
		Name: "fidelity", Title: "Fidelity: may one believe the simulator and the generated data?",
		Experiments: []*report.Experiment{simvsreal.New(), peers.New(), generators.New()},
		Gone: map[string]string{
			"attribution": "go test ./experiments/fidelity -long -v checks bottlenecks and intervals",
		},
	}
}
