package staleness

import (
	"tandem/experiments/internal/report"
	"tandem/experiments/staleness/ages"
	"tandem/experiments/staleness/drift"
	"tandem/experiments/staleness/hotrows"
	"tandem/experiments/staleness/phase"
	"tandem/experiments/staleness/source"
	"tandem/experiments/staleness/staleness"
	"tandem/experiments/staleness/theory"
)

// Chapter returns the experiments in the order of the list.
func Chapter() report.Chapter {
	return report.Chapter{
		Name: "staleness", Title: "Staleness: what late rows cost, when, and why",
		Experiments: []*report.Experiment{
			staleness.New(),
			phase.New(),
			theory.New(),
			{
				Name:     "hot-rows",
				Question: "How many hot rows must be synchronised to get back what staleness costs?",
				Help:     "Trains with hot rows that are never late.",
				Parts: []*report.Experiment{hotrows.New(), hotrows.NewRanks(), hotrows.NewLength(),
					hotrows.NewRemedies()},
			},
			source.New(),
			drift.New(),
			ages.New(),
		},
		Gone: map[string]string{
			"modes": "go run ./experiments auc-table compares what modes learn, go run ./cmd/sim how fast " +
				"they are",
			"semantics": "docs/persia.md says how learning rates depend on merging and scaling",
		},
	}
}
