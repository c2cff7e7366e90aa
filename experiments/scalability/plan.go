package scalability

import (
	"fmt"

	"tandem/algo/job"
	"tandem/experiments/paper"
	"tandem/experiments/report"
	"tandem/sim/predict"
)

// quickSamples is the number of points of the box of inputs in the quick version.
const quickSamples = 32

// steps is the number of measured steps of a run.
const steps = 16

// readingError is the error of a bar read from the figure, in thousand samples a second, and vagueError that
// of a bar that is hard to read.
const (
	readingError = 0.2
	vagueError   = 0.5
)

// gpus are the numbers of GPUs of the figure.
func gpus() []int { return []int{1, 2, 4, 8} }

// system is a training system of the figure.
type system struct {
	name     string // of the price list; empty: Persia's
	mode     string
	what     string
	inferred bool // from its bar at one GPU on Criteo
}

func systems() []system {
	return []system{
		{"", job.Hybrid, "Persia", false}, {"paddlepaddle", job.Hybrid, "PaddlePaddle", true},
		{"xdl", job.AsyncPS, "XDL async", true}, {"xdl", job.Sync, "XDL sync", true},
	}
}

// dataSet is a part of the figure: bars by system, then by GPUs, in thousand samples a second.
type dataSet struct {
	name, model string
	bars        [4][4]float64
	// dashed is Persia's bar on one GPU without dense communication.
	dashed float64
}

// dataSets returns the bars, read from the figure in an earlier draft of Persia's tutorials. The curves of
// the paper agree.
func dataSets() []dataSet {
	return []dataSet{
		{"Taobao", "taobao", [4][4]float64{{27.5, 55.1, 96.3, 178.9}, {11.8, 21.0, 44.1, 104.6},
			{3.7, 9.7, 14.7, 25.3}, {3.8, 8.4, 13.4, 21.3}}, 80.8},
		{"Avazu", "avazu", [4][4]float64{{28.5, 57.0, 96.4, 179.7}, {11.3, 23.2, 46.9, 94.7},
			{3.4, 6.1, 12.4, 22.6}, {2.6, 4.1, 8.6, 15}}, 82.1},
		{"Criteo", "criteo", [4][4]float64{{25.8, 51.6, 88.8, 162.8}, {11.2, 23.2, 47.0, 94.6},
			{2.6, 4.5, 9.8, 20.2}, {3.0, 5.8, 10.3, 18.1}}, 67.6},
	}
}

// vague reports whether a bar is hard to read.
func vague(bar float64) bool { return bar == 14.7 || bar == 15 }

func (d *dataSet) caseName(s *system, gpus int) string {
	unit := "GPUs"
	if gpus == 1 {
		unit = "GPU"
	}
	return fmt.Sprintf("%s, %s, %d %s", d.name, s.what, gpus, unit)
}

// newPlan returns the plan of the quick or the full version.
func newPlan(o report.Options) *paper.Plan {
	p := &paper.Plan{Samples: predict.SamplesDefault, Seeds: o.Seeds, Seed: o.Seed, Steps: steps}
	if o.Quick {
		p.Samples = quickSamples
	}
	for _, d := range dataSets() {
		for i, s := range systems() {
			for k, n := range gpus() {
				if o.Quick && i > 0 && n > 1 && n < 8 {
					continue
				}
				d.add(p, &s, n, d.bars[i][k], d.bars[i][0]*float64(n))
			}
		}
		persia := systems()[0]
		one, eight := d.caseName(&persia, 1), d.caseName(&persia, 8)
		p.Claims = append(p.Claims, paper.Claim{
			What: one + ", without dense communication", Of: one, Unit: paper.Kilo,
			Figure: paper.Digitised(d.dashed, readingError),
		}, paper.Claim{
			What: d.name + ", Persia, 8 GPUs ÷ 1", Of: eight, Over: one, Unit: paper.Fold, Null: 8,
			Figure: paper.DigitisedRatio(d.bars[0][3], d.bars[0][0], readingError),
		}, paper.Claim{
			What: d.name + ", Persia, 8 GPUs ÷ 1 without dense communication", Of: eight, Over: one,
			Unit: paper.Fold, Null: 8, Figure: paper.DigitisedRatio(d.bars[0][3], d.dashed, readingError),
		})
		for i, s := range systems()[1:] {
			p.Claims = append(p.Claims, paper.Claim{
				What: fmt.Sprintf("%s, 8 GPUs, Persia ÷ %s", d.name, s.what), Of: eight,
				Over: d.caseName(&s, 8), Unit: paper.Fold, Null: 1,
				Figure: paper.DigitisedRatio(d.bars[0][3], d.bars[i+1][3], readingError),
			})
		}
	}
	if !o.Quick {
		persia := systems()[0]
		for _, d := range dataSets() {
			p.Totals = append(p.Totals, d.caseName(&persia, 8))
		}
	}
	return p
}

// add adds a bar. Linear is the bar under linear scaling of the bar at one GPU.
func (d *dataSet) add(p *paper.Plan, s *system, gpus int, bar, linear float64) {
	name := d.caseName(s, gpus)
	p.Cases = append(p.Cases, paper.Case{Name: name, Choice: paper.Choice{
		Preset: "persia-paper", Model: d.model, System: s.name, Mode: s.mode, GPUs: gpus,
	}})
	within := readingError
	if vague(bar) {
		within = vagueError
	}
	c := paper.Claim{What: name, Of: name, Unit: paper.Kilo, Figure: paper.Digitised(bar, within),
		Input: s.inferred && d.name == "Criteo" && gpus == 1}
	if gpus > 1 {
		c.Null = linear
	}
	p.Claims = append(p.Claims, c)
}
