package scalability

import (
	"fmt"
	"slices"
	"strings"

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
	inferred bool   // from its bar at one GPU on Criteo
	products string // precision of matrix products; empty: the model's, fp32
}

func systems() []system {
	return []system{
		{"", job.Hybrid, "Persia", false, ""}, {"paddlepaddle", job.Hybrid, "PaddlePaddle", true, ""},
		{"xdl", job.AsyncPS, "XDL async", true, ""}, {"xdl", job.Sync, "XDL sync", true, ""},
	}
}

// id returns the system in the names of quantities.
func (s *system) id() string { return strings.ReplaceAll(strings.ToLower(s.what), " ", "-") }

// persias returns Persia with products in both precisions that the paper may have used: it names none, and
// half precision is what Persia's code does on GPUs unless told otherwise.
func persias() []system {
	return []system{systems()[0], {"", job.Hybrid, "Persia half", false, "half"}}
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
	return fmt.Sprintf("%s, %s, %s", d.name, s.what, number(gpus))
}

// number returns a number of GPUs in words.
func number(gpus int) string {
	if gpus == 1 {
		return "1 GPU"
	}
	return fmt.Sprintf("%d GPUs", gpus)
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
		d.addShares(p)
		d.addRatios(p)
	}
	if !o.Quick {
		persia := systems()[0]
		for _, d := range dataSets() {
			p.Totals = append(p.Totals, d.caseName(&persia, 8))
		}
	}
	return p
}

// addShares adds the bar of one GPU without dense communication, and how much of it 8 GPUs reach each. The
// job on one GPU is simulated without dense communication.
func (d *dataSet) addShares(p *paper.Plan) {
	for i, s := range persias() {
		one, eight := d.caseName(&s, 1), d.caseName(&s, 8)
		if i > 0 {
			d.addCase(p, &s, 1)
			d.addCase(p, &s, 8)
		}
		p.Claims = append(p.Claims, paper.Claim{
			Name: fmt.Sprintf("no-communication-%s-%s-1", s.id(), d.model),
			What: one + ", without dense communication", Of: one, Unit: paper.Kilo,
			Figure: paper.Digitised(d.dashed, readingError),
		}, paper.Claim{
			Name: d.shareName(&s), PerGPU: true,
			What: fmt.Sprintf("%s, %s, each of 8 GPUs ÷ 1 without dense communication", d.name, s.what),
			Of:   eight, Over: one, Unit: paper.Part, Null: 1,
			Figure: paper.DigitisedRatio(d.bars[0][3], d.dashed, readingError).Over(8),
		})
	}
}

// shareName is the name of the share of the bar without dense communication that 8 GPUs reach each.
func (d *dataSet) shareName(s *system) string {
	name := fmt.Sprintf("share-of-no-communication-%s-8", d.model)
	if s.products != "" {
		name += "-" + s.products
	}
	return name
}

// addRatios adds the ratios of bars.
func (d *dataSet) addRatios(p *paper.Plan) {
	persia := systems()[0]
	p.Claims = append(p.Claims, paper.Claim{
		Name: fmt.Sprintf("scaling-persia-%s-8", d.model), What: d.name + ", Persia, 8 GPUs ÷ 1",
		Of: d.caseName(&persia, 8), Over: d.caseName(&persia, 1), Unit: paper.Fold, Null: 8,
		Figure: paper.DigitisedRatio(d.bars[0][3], d.bars[0][0], readingError),
	})
	for i, s := range systems()[1:] {
		for _, n := range []int{1, 8} {
			at := slices.Index(gpus(), n)
			p.Claims = append(p.Claims, paper.Claim{
				Name: fmt.Sprintf("persia-over-%s-%s-%d", s.id(), d.model, n),
				What: fmt.Sprintf("%s, %s, Persia ÷ %s", d.name, number(n), s.what),
				Of:   d.caseName(&persia, n), Over: d.caseName(&s, n), Unit: paper.Fold, Null: 1,
				Figure: paper.DigitisedRatio(d.bars[0][at], d.bars[i+1][at], readingError),
				Input:  d.isInput(&s, n),
			})
		}
	}
}

// addCase adds the prediction of a bar.
func (d *dataSet) addCase(p *paper.Plan, s *system, gpus int) {
	p.Cases = append(p.Cases, paper.Case{Name: d.caseName(s, gpus), Choice: paper.Choice{
		Preset: "persia-paper", Model: d.model, System: s.name, Mode: s.mode, GPUs: gpus,
		Products: s.products,
	}})
}

// isInput reports whether the price list of a system is inferred from its bar.
func (d *dataSet) isInput(s *system, gpus int) bool {
	return s.inferred && d.name == "Criteo" && gpus == 1
}

// add adds a bar. Linear is the bar under linear scaling of the bar at one GPU.
func (d *dataSet) add(p *paper.Plan, s *system, gpus int, bar, linear float64) {
	d.addCase(p, s, gpus)
	within := readingError
	if vague(bar) {
		within = vagueError
	}
	name := d.caseName(s, gpus)
	c := paper.Claim{Name: fmt.Sprintf("throughput-%s-%s-%d", s.id(), d.model, gpus), What: name, Of: name,
		Unit: paper.Kilo, Figure: paper.Digitised(bar, within), Input: d.isInput(s, gpus)}
	if gpus > 1 {
		c.Null = linear
	}
	p.Claims = append(p.Claims, c)
}
