package scalability

import (
	"fmt"
	"slices"
	"strings"

	"tandem/algo/job"
	"tandem/experiments/internal/paper"
	"tandem/experiments/internal/report"
	"tandem/sim/predict"
)

// quickSamples is the number of points of the box of inputs in the quick version.
const quickSamples = 32

// steps is the number of measured steps of a run.
const steps = 16

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

// dataSet is a part of the figure: bars by system, then by GPUs.
type dataSet struct {
	paper.Scaling
	bars [4][4]float64
}

func dataSets() (list []dataSet) {
	for _, f := range paper.ScalingFigure() {
		list = append(list, dataSet{f, [4][4]float64{f.Persia, f.PaddlePaddle, f.XDLAsync, f.XDLSync}})
	}
	return list
}

func (d *dataSet) caseName(s *system, gpus int) string {
	return fmt.Sprintf("%s, %s, %s", d.Name, s.what, paper.GPUCount(gpus))
}

// newPlan returns the plan of the quick or the full version.
func newPlan(o report.Options) *paper.Plan {
	p := &paper.Plan{Samples: predict.SamplesDefault, Seeds: o.Seeds, Seed: o.Seed, Steps: steps}
	if o.Quick {
		p.Samples = quickSamples
	}
	for _, d := range dataSets() {
		for i, s := range systems() {
			for k, n := range paper.ScalingGPUs() {
				if o.Quick && i > 0 && n > 1 && n < 8 {
					continue
				}
				d.add(p, &s, n, d.bars[i][k], d.bars[i][0]*float64(n))
			}
		}
		d.addShares(p)
		d.addRatios(p)
		if d.Model == wireModel {
			d.addWires(p)
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

// addShares adds the bar of one GPU without dense communication, and how much of it 8 GPUs reach each. The
// job on one GPU is simulated without dense communication.
func (d *dataSet) addShares(p *paper.Plan) {
	for i, s := range persias() {
		one, eight := d.caseName(&s, 1), d.caseName(&s, 8)
		if i > 0 {
			for _, gpus := range paper.ScalingGPUs() {
				d.addCase(p, &s, gpus)
			}
		}
		p.Claims = append(p.Claims, paper.Claim{
			Name: fmt.Sprintf("no-communication-%s-%s-1", s.id(), d.Model),
			What: one + ", without dense communication", Of: one, Unit: paper.Kilo,
			Figure: paper.Bar(d.Alone),
		}, paper.Claim{
			Name: d.shareName(&s), PerGPU: true,
			What: fmt.Sprintf("%s, %s, each of 8 GPUs ÷ 1 without dense communication", d.Name, s.what),
			Of:   eight, Over: one, Unit: paper.Part, Null: 1,
			Figure: paper.BarRatio(d.bars[0][3], d.Alone).Over(8),
		})
	}
}

// shareName is the name of the share of the bar without dense communication that 8 GPUs reach each.
func (d *dataSet) shareName(s *system) string {
	name := fmt.Sprintf("share-of-no-communication-%s-8", d.Model)
	if s.products != "" {
		name += "-" + s.products
	}
	return name
}

// wireModel is the model of the data set for which the share is predicted at known wires too.
const wireModel = "criteo"

// wires are bandwidths of the wire between GPUs: the ends and the middle of its range, which is the unknown
// input that matters most.
func wires() []string { return []string{"4GB/s", "8GB/s", "12GB/s"} }

// addWires adds the share of the bar without dense communication if the wire between GPUs were known. One GPU
// does not use it.
func (d *dataSet) addWires(p *paper.Plan) {
	persia := systems()[0]
	for _, wire := range wires() {
		name := fmt.Sprintf("%s, Persia, wire of %s, 8 GPUs", d.Name, wire)
		p.Cases = append(p.Cases, paper.Case{Name: name, Choice: paper.Choice{
			Preset: "persia-paper", Model: d.Model, Mode: persia.mode, GPUs: 8,
			Set: map[string]string{"inside.bandwidth": wire},
		}})
		p.Claims = append(p.Claims, paper.Claim{
			Name: d.wireName(wire), PerGPU: true, Of: name, Over: d.caseName(&persia, 1), Unit: paper.Part,
			What: fmt.Sprintf("%s, wire of %s, each of 8 GPUs ÷ 1 without dense communication", d.Name, wire),
			Null: 1, Figure: paper.BarRatio(d.bars[0][3], d.Alone).Over(8),
		})
	}
}

// wireName is the name of a share at a known wire.
func (d *dataSet) wireName(wire string) string {
	return d.shareName(&systems()[0]) + "-wire-" + strings.ToLower(strings.TrimSuffix(wire, "/s"))
}

// addRatios adds the ratios of bars.
func (d *dataSet) addRatios(p *paper.Plan) {
	persia, gpus := systems()[0], paper.ScalingGPUs()
	p.Claims = append(p.Claims, paper.Claim{
		Name: fmt.Sprintf("scaling-persia-%s-8", d.Model), What: d.Name + ", Persia, 8 GPUs ÷ 1",
		Of: d.caseName(&persia, 8), Over: d.caseName(&persia, 1), Unit: paper.Fold, Null: 8,
		Figure: paper.BarRatio(d.bars[0][3], d.bars[0][0]),
	})
	for i, s := range systems()[1:] {
		for _, n := range []int{1, 8} {
			at := slices.Index(gpus[:], n)
			p.Claims = append(p.Claims, paper.Claim{
				Name: fmt.Sprintf("persia-over-%s-%s-%d", s.id(), d.Model, n),
				What: fmt.Sprintf("%s, %s, Persia ÷ %s", d.Name, paper.GPUCount(n), s.what),
				Of:   d.caseName(&persia, n), Over: d.caseName(&s, n), Unit: paper.Fold, Null: 1,
				Figure: paper.BarRatio(d.bars[0][at], d.bars[i+1][at]),
				Input:  d.isInput(&s, n),
			})
		}
	}
}

// addCase adds the prediction of a bar.
func (d *dataSet) addCase(p *paper.Plan, s *system, gpus int) {
	p.Cases = append(p.Cases, paper.Case{Name: d.caseName(s, gpus), Choice: paper.Choice{
		Preset: "persia-paper", Model: d.Model, System: s.name, Mode: s.mode, GPUs: gpus,
		Products: s.products,
	}})
}

// isInput reports whether the price list of a system is inferred from its bar.
func (d *dataSet) isInput(s *system, gpus int) bool {
	return s.inferred && d.Name == "Criteo" && gpus == 1
}

// add adds a bar. Linear is the bar under linear scaling of the bar at one GPU.
func (d *dataSet) add(p *paper.Plan, s *system, gpus int, bar, linear float64) {
	d.addCase(p, s, gpus)
	name := d.caseName(s, gpus)
	c := paper.Claim{Name: fmt.Sprintf("throughput-%s-%s-%d", s.id(), d.Model, gpus), What: name, Of: name,
		Unit: paper.Kilo, Figure: paper.Bar(bar), Input: d.isInput(s, gpus)}
	if gpus > 1 {
		c.Null = linear
	}
	p.Claims = append(p.Claims, c)
}
