// Package rivals divides the leads that the paper on Persia has over other systems into what its algorithm
// gives and what its implementation gives.
package rivals

import (
	"math"
	"time"

	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/experiments/internal/paper"
	"tandem/experiments/internal/report"
)

// New returns the experiment.
func New() *report.Experiment {
	return paper.Study(report.Experiment{
		Name: "rivals",
		Question: "How much of Persia's lead over XDL and PaddlePaddle is its algorithm, and how much its " +
			"code?",
		Help: `Divides each lead of the scaling figure of the paper on Persia, throughput of
Persia ÷ throughput of XDL or PaddlePaddle on 1 and on 8 V100s, into two factors:

  algorithm        hybrid ÷ the mode of the rival, both simulated with Persia's
                   system software on the same cluster
  implementation   what remains: lead ÷ algorithm

Nothing of the rivals is an input but their modes: XDL runs sync or async-ps; what
PaddlePaddle does with dense gradients is not published, and is unknown here.

A check: if the implementation is the same factor on 8 GPUs as on 1, the lead on 8
follows from that on 1 and from the algorithm alone.

The quick version has fewer points of the box of inputs.`,
		QuickTime: 10 * time.Second,
	}, newPlan, divide, draw)
}

// rival is a system that Persia is compared with.
type rival struct {
	name string
	bars int // in the figure of the paper
	mode string
	// alternative is another mode that it may run instead, or "".
	alternative string
}

// rivals returns all rivals. PaddlePaddle's heterogeneous mode keeps embeddings on PSs; what it does with the
// dense network is not published.
func rivals() []rival {
	return []rival{
		{"XDL sync", paper.XDLSync, job.Sync, ""}, {"XDL async", paper.XDLAsync, job.AsyncPS, ""},
		{"PaddlePaddle", paper.PaddlePaddle, job.Hybrid, job.AsyncPS},
	}
}

// newPlan returns the plan of the quick or the full version: all modes with Persia's system software.
func newPlan(o report.Options) *paper.Plan {
	p := paper.NewPlan(o, 48, 16)
	for _, d := range paper.ScalingFigure() {
		for _, mode := range []string{job.Hybrid, job.Sync, job.AsyncPS} {
			for _, n := range []int{1, 8} {
				p.Predict(d.Case(mode, n), paper.Choice{
					Preset: "persia-paper", Model: d.Model, Mode: mode, GPUs: n,
				})
			}
		}
	}
	return p
}

// results are all results of the experiment.
type results struct {
	paper.Results
	Leads     []lead     `json:"leads"` // those on 8 GPUs first
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
}

// share returns the part of a lead's logarithm that is the algorithm's: 1 if the algorithm gives all of it.
func (l *lead) share() float64 { return math.Log(l.Algorithm.Estimate) / math.Log(l.Published.Value) }

// divide divides all leads, and predicts those on 8 GPUs from those on 1.
func divide(r *paper.Predictions) *results {
	out := &results{Results: r.Results}
	for _, n := range []int{8, 1} {
		for _, d := range paper.ScalingFigure() {
			for _, v := range rivals() {
				f, a := d.Lead(v.bars, n), algorithm(r, &d, &v, n)
				l := lead{Data: d.Name, Rival: v.name, GPUs: n, Published: f, Algorithm: a.Interval()}
				// The interval holds what the bars allow and the interval of the algorithm.
				l.Implementation = metric.Interval{Estimate: f.Value / l.Algorithm.Estimate,
					Low: f.Low / l.Algorithm.High, High: f.High / l.Algorithm.Low}
				if v.alternative == "" {
					l.Input = r.LargestEffect(d.Case(job.Hybrid, n), a)
				}
				out.Leads = append(out.Leads, l)
			}
		}
	}
	for _, d := range paper.ScalingFigure() {
		for _, v := range rivals() {
			growth := algorithm(r, &d, &v, 8).Over(algorithm(r, &d, &v, 1)).Interval()
			one, eight := d.Lead(v.bars, 1), d.Lead(v.bars, 8)
			t := transfer{Data: d.Name, Rival: v.name, Published: eight, Null: one.Value,
				Predicted: metric.Interval{Estimate: one.Value * growth.Estimate, Low: one.Low * growth.Low,
					High: one.High * growth.High}}
			t.Verdict = paper.Judge(eight, t.Predicted.Low, t.Predicted.High)
			out.Transfers = append(out.Transfers, t)
		}
	}
	return out
}

// algorithm returns hybrid ÷ the mode of a rival. With an alternative, the middle is that of the first mode,
// and the points are those of both modes.
func algorithm(r *paper.Predictions, d *paper.Scaling, v *rival, gpus int) paper.Box {
	hybrid := d.Case(job.Hybrid, gpus)
	out := r.Ratio(hybrid, d.Case(v.mode, gpus))
	if v.alternative != "" {
		out.Points = append(out.Points, r.Ratio(hybrid, d.Case(v.alternative, gpus)).Points...)
	}
	return out
}
