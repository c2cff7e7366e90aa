package persia

import (
	"tandem/experiments/internal/report"
	"tandem/experiments/persia/ablation"
	"tandem/experiments/persia/auctable"
	"tandem/experiments/persia/capacity"
	"tandem/experiments/persia/convergence"
	"tandem/experiments/persia/gantt"
	"tandem/experiments/persia/kwai"
	"tandem/experiments/persia/rivals"
	"tandem/experiments/persia/scalability"
	"tandem/experiments/persia/timetoauc"
)

// Chapter returns the experiments in the order of the list.
func Chapter() report.Chapter {
	return report.Chapter{
		Name: "persia", Title: "Persia's paper: throughput, capacity, convergence",
		Experiments: []*report.Experiment{
			{
				Name: "scalability",
				Question: "Does the simulator predict the throughputs in the paper, of four systems and of " +
					"models of up to 100 trillion parameters?",
				Help:  "Predicts figures of the paper on Persia, and sets the intervals beside its points.",
				Parts: []*report.Experiment{scalability.New(), kwai.New(), rivals.New(), capacity.New()},
			},
			{
				Name:     "auc-table",
				Question: "What AUC does each mode gain or lose against sync, at common rates and its own?",
				Help:     "Tunes the learning rates of every mode and compares the modes.",
				Parts:    []*report.Experiment{auctable.New(), auctable.NewTuner(), auctable.NewReal()},
			},
			{
				Name:     "convergence",
				Question: "Does hybrid end where sync does, over runs of the lengths in the paper?",
				Help:     "Trains over runs of the lengths in the paper on three of its data sets.",
				Parts: []*report.Experiment{
					convergence.New(), convergence.NewAvazu(), convergence.NewTaobao(),
				},
			},
			{
				Name:     "time-to-auc",
				Question: "How long, and for how many dollars, do clusters train until a target AUC?",
				Help:     "Trains under simulated time on several clusters until a target AUC.",
				Parts:    []*report.Experiment{timetoauc.New(), timetoauc.NewCost()},
			},
			gantt.New(),
			ablation.New(),
		},
	}
}
