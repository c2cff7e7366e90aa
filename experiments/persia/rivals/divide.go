package rivals

import (
	"math"

	"tandem/algo/metric"
	"tandem/experiments/internal/paper"
	"tandem/sim/predict"
)

// results are all results of the experiment.
type results struct {
	*paper.Results
	Leads     []lead     `json:"leads"`
	Transfers []transfer `json:"transfers"`
}

// lead is Persia's lead over a rival with its two factors, whose product it is.
type lead struct {
	Data           string          `json:"data"`
	Rival          string          `json:"rival"`
	GPUs           int             `json:"gpus"`
	Published      paper.Figure    `json:"paper"`
	Algorithm      metric.Interval `json:"algorithm"`
	Implementation metric.Interval `json:"implementation"`
	Input          string          `json:"input,omitempty"` // that explains most of the interval
	model, id      string
}

// transfer is the lead on 8 GPUs that follows from the one on 1 GPU, if the factor of the implementation is
// the same on both.
type transfer struct {
	Data      string          `json:"data"`
	Rival     string          `json:"rival"`
	Published paper.Figure    `json:"paper"`
	Null      float64         `json:"null"` // the lead on 1 GPU
	Predicted metric.Interval `json:"predicted"`
	Verdict   paper.Verdict   `json:"verdict"`
	model, id string
}

// factor is the algorithm's factor at the middle and at the points of the box.
type factor struct {
	middle float64
	points []float64
}

// algorithm returns hybrid ÷ the mode of a rival. With an alternative, the middle is that of the first mode,
// and the points are those of both modes.
func algorithm(r *paper.Results, f *paper.Scaling, v *rival, gpus int) factor {
	hybrid := r.Prediction(caseName(f, modes()[0], gpus))
	over := func(mode string) factor {
		p := r.Prediction(caseName(f, mode, gpus))
		out := factor{middle: hybrid.Mid.Throughput / p.Mid.Throughput}
		for k, x := range p.Samples {
			out.points = append(out.points, hybrid.Samples[k]/x)
		}
		return out
	}
	out := over(v.mode)
	if v.alternative != "" {
		out.points = append(out.points, over(v.alternative).points...)
	}
	return out
}

// divide returns a figure divided by a factor. The interval holds both what the figure allows and the
// interval of the factor.
func divide(f *paper.Figure, by metric.Interval) metric.Interval {
	return metric.Interval{Estimate: f.Value / by.Estimate, Low: f.Low / by.High, High: f.High / by.Low}
}

// leads divides all leads, those on 8 GPUs first.
func leads(r *paper.Results) (list []lead) {
	for _, n := range []int{8, 1} {
		for _, f := range paper.ScalingFigure() {
			for _, v := range rivals() {
				a := algorithm(r, &f, &v, n)
				l := lead{Data: f.Name, Rival: v.name, GPUs: n, model: f.Model, id: v.id(),
					Published: paper.BarRatio(f.Persia[bar(n)], v.bars(&f)[bar(n)]),
					Algorithm: paper.Spread(a.middle, a.points)}
				l.Implementation = divide(&l.Published, l.Algorithm)
				if v.alternative == "" {
					l.Input = paper.LargestEffect(r.Job(caseName(&f, modes()[0], n)), a.points)
				}
				list = append(list, l)
			}
		}
	}
	return list
}

// transfers predicts the leads on 8 GPUs from those on 1.
func transfers(r *paper.Results) (list []transfer) {
	for _, f := range paper.ScalingFigure() {
		for _, v := range rivals() {
			at := func(n int) paper.Figure { return paper.BarRatio(f.Persia[bar(n)], v.bars(&f)[bar(n)]) }
			one, eight := algorithm(r, &f, &v, 1), algorithm(r, &f, &v, 8)
			growth := factor{middle: eight.middle / one.middle}
			for k, x := range eight.points {
				growth.points = append(growth.points, x/one.points[k])
			}
			g, from := paper.Spread(growth.middle, growth.points), at(1)
			t := transfer{Data: f.Name, Rival: v.name, Published: at(8), Null: from.Value, model: f.Model,
				id: v.id(), Predicted: metric.Interval{Estimate: from.Value * g.Estimate,
					Low: from.Low * g.Low, High: from.High * g.High}}
			t.Verdict = paper.Judge(&t.Published, &predict.Interval{Low: t.Predicted.Low,
				High: t.Predicted.High})
			list = append(list, t)
		}
	}
	return list
}

// share returns the part of a lead's logarithm that is the algorithm's: 1 if the algorithm gives all of it.
func (l *lead) share() float64 { return math.Log(l.Algorithm.Estimate) / math.Log(l.Published.Value) }
