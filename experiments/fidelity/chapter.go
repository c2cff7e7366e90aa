package fidelity

import (
	"tandem/experiments/fidelity/attribution"
	"tandem/experiments/fidelity/generators"
	"tandem/experiments/fidelity/peers"
	"tandem/experiments/fidelity/simvsreal"
	"tandem/experiments/internal/report"
)

// Chapter returns the experiments in the order of the list.
func Chapter() report.Chapter {
	return report.Chapter{Name: "fidelity", Title: "Fidelity: may one believe the simulator and the generated data?", Experiments: []*report.Experiment{
		simvsreal.New(),
		report.Adapt(peers.New()),
		report.Adapt(attribution.New()),
		report.Adapt(generators.New()),
	}}
}
