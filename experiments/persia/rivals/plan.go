package rivals

import (
	"fmt"
	"strings"

	"tandem/algo/job"
	"tandem/experiments/internal/paper"
	"tandem/experiments/internal/report"
	"tandem/sim/predict"
)

// quickSamples is the number of points of the box of inputs in the quick version.
const quickSamples = 48

// steps is the number of measured steps of a run.
const steps = 16

// rival is a system that Persia is compared with.
type rival struct {
	name string
	mode string // that it runs
	// alternative is another mode that it may run instead, or "".
	alternative string
	bars        func(f *paper.Scaling) [4]float64
}

// rivals returns all rivals. PaddlePaddle's heterogeneous mode keeps embeddings on PSs; what it does with the
// dense network is not published.
func rivals() []rival {
	return []rival{
		{"XDL sync", job.Sync, "", func(f *paper.Scaling) [4]float64 { return f.XDLSync }},
		{"XDL async", job.AsyncPS, "", func(f *paper.Scaling) [4]float64 { return f.XDLAsync }},
		{"PaddlePaddle", job.Hybrid, job.AsyncPS,
			func(f *paper.Scaling) [4]float64 { return f.PaddlePaddle }},
	}
}

// id returns the rival in the names of quantities.
func (v *rival) id() string { return strings.ReplaceAll(strings.ToLower(v.name), " ", "-") }

// modes are the modes that are simulated, each with Persia's system software.
func modes() []string { return []string{job.Hybrid, job.Sync, job.AsyncPS} }

// gpus are the numbers of GPUs whose leads are divided.
func gpus() [2]int { return [2]int{1, 8} }

// bar returns which bar of the figure has a number of GPUs.
func bar(gpus int) int {
	for i, n := range paper.ScalingGPUs() {
		if n == gpus {
			return i
		}
	}
	panic(fmt.Sprintf("rivals: no bar of %d GPUs", gpus))
}

func caseName(f *paper.Scaling, mode string, gpus int) string {
	return fmt.Sprintf("%s, %s, %s", f.Name, mode, paper.GPUCount(gpus))
}

// newPlan returns the plan of the quick or the full version.
func newPlan(o report.Options) *paper.Plan {
	p := &paper.Plan{Samples: predict.SamplesDefault, Seeds: o.Seeds, Seed: o.Seed, Steps: steps}
	if o.Quick {
		p.Samples = quickSamples
	}
	for _, f := range paper.ScalingFigure() {
		for _, mode := range modes() {
			for _, n := range gpus() {
				p.Cases = append(p.Cases, paper.Case{Name: caseName(&f, mode, n), Choice: paper.Choice{
					Preset: "persia-paper", Model: f.Model, Mode: mode, GPUs: n,
				}})
			}
		}
	}
	return p
}
