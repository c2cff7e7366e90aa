package staleness

import (
	"tandem/experiments/internal/report"
	"tandem/experiments/staleness/decomposition"
	"tandem/experiments/staleness/hotrows"
	"tandem/experiments/staleness/modes"
	"tandem/experiments/staleness/phase"
	"tandem/experiments/staleness/predictor"
	"tandem/experiments/staleness/semantics"
	"tandem/experiments/staleness/source"
	"tandem/experiments/staleness/staleness"
	"tandem/experiments/staleness/theory"
)

// Chapter returns the experiments in the order of the list.
func Chapter() report.Chapter {
	return report.Chapter{Name: "staleness", Title: "Staleness: what late rows cost, when, and why",
		Experiments: []*report.Experiment{
			staleness.New(),
			phase.New(),
			theory.New(),
			report.Adapt(hotrows.New()),
			{
				Name:     "source",
				Question: "What of asynchrony costs AUC, and which number of a job predicts it?",
				Help:     "Takes the cost of asynchronous training apart.",
				Parts: []*report.Experiment{
					report.Adapt(source.New()), report.Adapt(decomposition.New()),
					report.Adapt(predictor.New()),
				},
			},
			report.Adapt(semantics.New()),
			modes.New(),
		}}
}
