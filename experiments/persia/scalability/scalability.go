// Package scalability compares predictions with the scaling figure of the paper on Persia: throughput of
// Persia and of its rivals on 1 to 8 GPUs.
package scalability

import (
	"fmt"
	"strings"
	"time"

	"tandem/algo/job"
	"tandem/experiments/internal/paper"
	"tandem/experiments/internal/report"
)

// New returns the experiment.
func New() *report.Experiment {
	return paper.Study(report.Experiment{
		Name:     "scalability",
		Question: "Does the simulator predict the throughput of Persia, XDL and PaddlePaddle on 1 to 8 GPUs?",
		Help: `Predicts the scaling figure of the paper on Persia: Taobao, Avazu and Criteo on 1,
2, 4 and 8 V100s of the cluster persia-paper, with the system software of Persia
(mode hybrid), XDL (sync and async-ps) and PaddlePaddle. Each bar is compared with
the interval over all unknown inputs, which are listed with their sources.

No input of Persia is from the figure. The price lists of XDL and PaddlePaddle are
inferred from their bars at one GPU on Criteo, which are marked as inputs.

The paper has one more bar, 1 GPU without dense communication. How much of it 8
GPUs reach each is predicted with matrix products in fp32 and in half precision,
which the paper does not say, and on Criteo with a known wire between the GPUs. A
data set is predicted once more from the draws of the unknown inputs that are
nearest to the bars of the other two.

The quick version has fewer points of the box of inputs, and the rivals on 1 and 8
GPUs only. The full version takes several minutes.`,
		QuickTime: 10 * time.Second,
	}, newPlan, newResults, draw)
}

// system is a training system of the figure.
type system struct {
	name     string
	bars     int    // in the figure
	software string // its price list; empty: Persia's
	mode     string
	products string // precision of matrix products; empty: the model's, fp32
}

func systems() []system {
	return []system{
		{"Persia", paper.Persia, "", job.Hybrid, ""},
		{"PaddlePaddle", paper.PaddlePaddle, "paddlepaddle", job.Hybrid, ""},
		{"XDL async", paper.XDLAsync, "xdl", job.AsyncPS, ""},
		{"XDL sync", paper.XDLSync, "xdl", job.Sync, ""},
	}
}

// persias returns Persia with products in both precisions that the paper may have used: it names none, and
// half precision is what Persia's code does on GPUs unless told otherwise.
func persias() []system {
	return []system{systems()[0], {"Persia half", paper.Persia, "", job.Hybrid, "half"}}
}

// isInput reports whether the price list of the system is inferred from its bar.
func (s *system) isInput(d *paper.Scaling, gpus int) bool {
	return s.software != "" && d.Model == "criteo" && gpus == 1
}

// predict adds the prediction of a bar, and returns the name of its case.
func (s *system) predict(p *paper.Plan, d *paper.Scaling, gpus int) string {
	return p.Predict(d.Case(s.name, gpus), paper.Choice{
		Preset: "persia-paper", Model: d.Model, System: s.software, Mode: s.mode, GPUs: gpus,
		Products: s.products,
	}).Name
}

// newPlan returns the plan of the quick or the full version.
func newPlan(o report.Options) *paper.Plan {
	p := paper.NewPlan(o, 32, 16)
	for _, d := range paper.ScalingFigure() {
		for _, s := range systems() {
			for _, n := range paper.ScalingGPUs() {
				if !o.Quick || s.bars == paper.Persia || n == 1 || n == 8 {
					addBar(p, &d, &s, n)
				}
			}
		}
		addShares(p, &d)
		addRatios(p, &d)
		if d.Model == wired().Model {
			addWires(p, &d)
		}
		if !o.Quick {
			p.Totals = append(p.Totals, d.Case("Persia", 8))
		}
	}
	return p
}

// addBar adds a bar. Its null model is linear scaling of the bar at one GPU.
func addBar(p *paper.Plan, d *paper.Scaling, s *system, gpus int) {
	name := s.predict(p, d, gpus)
	c := paper.Claim{
		Name: fmt.Sprintf("throughput-%s-%s-%d", report.Slug(s.name), d.Model, gpus), What: name, Of: name,
		Unit: paper.Kilo, Figure: paper.Bar(d.Bar(s.bars, gpus)), Input: s.isInput(d, gpus),
	}
	if gpus > 1 {
		c.Null = d.Bar(s.bars, 1) * float64(gpus)
	}
	p.Claims = append(p.Claims, c)
}

// addShares adds the bar of one GPU without dense communication, and how much of it 8 GPUs reach each. The
// job on one GPU is simulated without dense communication.
func addShares(p *paper.Plan, d *paper.Scaling) {
	for _, s := range persias() {
		if s.products != "" {
			for _, gpus := range paper.ScalingGPUs() {
				s.predict(p, d, gpus)
			}
		}
		one := d.Case(s.name, 1)
		p.Claims = append(p.Claims, paper.Claim{
			Name: fmt.Sprintf("no-communication-%s-%s-1", report.Slug(s.name), d.Model),
			What: one + ", without dense communication", Of: one, Unit: paper.Kilo,
			Figure: paper.Bar(d.Alone),
		}, shareClaim(d, shareName(d, s.products), s.name, d.Case(s.name, 8), one))
	}
}

// shareClaim returns the claim that each of 8 GPUs has so much of one without dense communication.
func shareClaim(d *paper.Scaling, name, what, of, over string) paper.Claim {
	return paper.Claim{
		Name: name, What: fmt.Sprintf("%s, %s, each of 8 GPUs ÷ 1 without dense communication", d.Name, what),
		PerGPU: true, Of: of, Over: over, Unit: paper.Part, Null: 1, Figure: d.Share(8),
	}
}

// shareName is the name of a share as a quantity; variant is a precision, a known wire, or "".
func shareName(d *paper.Scaling, variant string) string {
	return strings.TrimSuffix(fmt.Sprintf("share-of-no-communication-%s-8-%s", d.Model, variant), "-")
}

// wired returns the data set for which the share is predicted at known wires too: Criteo.
func wired() *paper.Scaling { return &paper.ScalingFigure()[2] }

// wires are bandwidths of the wire between GPUs: the ends and the middle of its range, which is the unknown
// input that matters most.
func wires() []string { return []string{"4GB/s", "8GB/s", "12GB/s"} }

// addWires adds the share of the bar without dense communication if the wire between GPUs were known. One GPU
// does not use it.
func addWires(p *paper.Plan, d *paper.Scaling) {
	for _, wire := range wires() {
		of := p.Predict(fmt.Sprintf("%s, Persia, wire of %s, 8 GPUs", d.Name, wire), paper.Choice{
			Preset: "persia-paper", Model: d.Model, Mode: job.Hybrid, GPUs: 8,
			Set: map[string]string{"inside.bandwidth": wire},
		}).Name
		p.Claims = append(p.Claims,
			shareClaim(d, wireName(d, wire), "wire of "+wire, of, d.Case("Persia", 1)))
	}
}

// wireName is the name of a share at a known wire.
func wireName(d *paper.Scaling, wire string) string {
	return shareName(d, "wire-"+strings.ToLower(strings.TrimSuffix(wire, "/s")))
}

// addRatios adds the ratios of bars.
func addRatios(p *paper.Plan, d *paper.Scaling) {
	p.Claims = append(p.Claims, paper.Claim{
		Name: fmt.Sprintf("scaling-persia-%s-8", d.Model), What: d.Name + ", Persia, 8 GPUs ÷ 1",
		Of: d.Case("Persia", 8), Over: d.Case("Persia", 1), Unit: paper.Fold, Null: 8,
		Figure: paper.BarRatio(d.Bar(paper.Persia, 8), d.Bar(paper.Persia, 1)),
	})
	for _, s := range systems()[1:] {
		for _, n := range []int{1, 8} {
			p.Claims = append(p.Claims, paper.Claim{
				Name: fmt.Sprintf("persia-over-%s-%s-%d", report.Slug(s.name), d.Model, n),
				What: fmt.Sprintf("%s, %s, Persia ÷ %s", d.Name, paper.GPUCount(n), s.name),
				Of:   d.Case("Persia", n), Over: d.Case(s.name, n), Unit: paper.Fold, Null: 1,
				Figure: d.Lead(s.bars, n), Input: s.isInput(d, n),
			})
		}
	}
}
