package speed

import (
	"tandem/experiments/internal/report"
	"tandem/experiments/speed/defaults"
	"tandem/experiments/speed/gpu"
	"tandem/experiments/speed/modules"
	"tandem/experiments/speed/processes"
	"tandem/experiments/speed/serving"
	"tandem/experiments/speed/speed"
)

// Chapter returns the experiments in the order of the list.
func Chapter() report.Chapter {
	return report.Chapter{
		Name: "speed", Title: "Speed and quality beside the programs of others, on one machine",
		Experiments: []*report.Experiment{
			speed.New(), gpu.New(), modules.New(), processes.New(), serving.New(), defaults.New(),
		},
	}
}
