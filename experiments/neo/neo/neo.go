// Package neo divides the lead of Neo on ZionEX over a system of CPUs and parameter servers into factors,
// each the ratio of two simulated clusters that differ in one thing.
package neo

import (
	"fmt"
	"time"

	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/experiments/internal/paper"
	"tandem/experiments/internal/report"
)

// New returns the experiment.
func New() *report.Experiment {
	return paper.Study(report.Experiment{
		Name:     "neo",
		Question: "Of what does Neo's lead of 40 × over CPUs and parameter servers consist?",
		Help: `Predicts the throughput of Neo's model of 12 T parameters on the way from CPUs with
parameter servers (PSs) to Neo, one change after the other:

  cpu-ps        8, 24 or 64 trainers without accelerators, PSs, async-ps
  accelerators  128 A100s as trainers, same PSs
  algorithm     mode sync in place of async-ps
  placement     tables in the memories of the 16 GPU servers, no PSs
  network       8 cards of 200 Gbit/s a server in place of one of 100

Ratios of neighbours are factors of the lead, taken point by point over all unknown
inputs, trainers included. Compared with what is published: up to 40 × in time to
solution, and about 1.7 million samples/s. Of the system of CPUs nothing is
published but its kind; it has the system software of Persia here.

The quick version has fewer points of the box of inputs. The full version takes a
quarter of an hour.`,
		QuickTime: 2 * time.Minute,
	}, newPlan, divide, draw)
}

// What is published: the lead in time to solution, "up to", in the abstract; and the throughput of the model
// of 12 T parameters, "about", from a secondary source.
const (
	publishedLead     = 40
	publishedMillions = 1.7
)

// trainers are the numbers of trainers of the system of CPUs, which is not published; middleTrainers is the
// middle of the unknown.
func trainers() []int { return []int{8, 24, 64} }

const middleTrainers = 24

// The names of the cases from CPUs to Neo.
const (
	onAccelerators       = "A100s with PSs, async-ps"
	syncWithPSs          = "A100s with PSs, sync"
	tablesOnAccelerators = "tables on accelerators, 100 Gbit/s"
	onZionEX             = "Neo on ZionEX"
)

func cpuName(trainers int) string { return fmt.Sprintf("%d CPU trainers with PSs, async-ps", trainers) }

// newPlan returns the plan of the quick or the full version. The full one has as many points as are needed to
// name the inputs that explain most. Steps are more than twice the batches that a rank has outstanding, so
// that waves of them do not matter.
func newPlan(o report.Options) *paper.Plan {
	const gpus = 128
	p := paper.NewPlan(o, 16, 24)
	if !o.Quick {
		p.Samples = paper.EffectSamples
	}
	add := func(name, preset, mode string, ranks int) *paper.Case {
		return p.Predict(name, paper.Choice{Preset: preset, Model: "neo-12t", Mode: mode, GPUs: ranks})
	}
	for _, n := range trainers() {
		add(cpuName(n), "cpu-ps", job.AsyncPS, n)
	}
	add(onAccelerators, "zionex-ps", job.AsyncPS, gpus)
	add(syncWithPSs, "zionex-ps", job.Sync, gpus)
	// One card of 100 Gbit/s in each GPU server, as the preset zionex-ps has.
	add(tablesOnAccelerators, "zionex-128", job.Sync, gpus).Choice.Set =
		map[string]string{"server.network": "100Gbps", "server.network-cards": "1"}
	add(onZionEX, "zionex-128", job.Sync, gpus)
	p.Claims = append(p.Claims, paper.Claim{
		Name: "throughput-neo-12t-128", What: onZionEX + ", 12 T parameters, 128 A100s", Of: onZionEX,
		Unit: paper.Mega, Figure: paper.Printed(publishedMillions, 0.1),
	})
	for _, n := range trainers() {
		p.Claims = append(p.Claims, paper.Claim{
			Name: fmt.Sprintf("neo-over-cpu-ps-%d", n),
			What: fmt.Sprintf("%s ÷ %d CPU trainers", onZionEX, n), Of: onZionEX, Over: cpuName(n),
			Unit: paper.Fold, Null: gpus / float64(n), Figure: paper.Printed(publishedLead, 1),
		})
	}
	return p
}

// results are all results of the experiment.
type results struct {
	paper.Results
	Factors []factor `json:"factors"`
	Product factor   `json:"product"` // of all factors
	// Residual is the published lead divided by the product.
	Residual metric.Interval `json:"residual"`
	Verdict  paper.Verdict   `json:"verdict"` // on the product
}

// factor is the ratio of two neighbouring cases.
type factor struct {
	Name  string `json:"name"` // of the quantity
	What  string `json:"what"`
	Of    string `json:"of"`
	Over  string `json:"over,omitempty"` // empty: the CPU trainers, however many there are
	Input string `json:"input,omitempty"`
	metric.Interval
}

// divide computes the factors, from CPUs to Neo, and their product.
func divide(r *paper.Predictions) *results {
	out := &results{Results: r.Results, Factors: []factor{
		{Name: "neo-factor-accelerators", What: "accelerators", Of: onAccelerators},
		{Name: "neo-factor-algorithm", What: "algorithm", Of: syncWithPSs, Over: onAccelerators},
		{Name: "neo-factor-placement", What: "placement", Of: tablesOnAccelerators, Over: syncWithPSs},
		{Name: "neo-factor-network", What: "network", Of: onZionEX, Over: tablesOnAccelerators},
	}, Product: factor{Name: "neo-over-cpu-ps", What: "product", Of: onZionEX}}
	for i := range out.Factors {
		out.Factors[i].measure(r)
	}
	p := &out.Product
	p.measure(r)
	lead := paper.Printed(publishedLead, 1)
	out.Residual = metric.Interval{Estimate: lead.Value / p.Estimate, Low: lead.Low / p.High,
		High: lead.High / p.Low}
	out.Verdict = paper.Judge(lead, p.Low, p.High)
	return out
}

// measure computes a factor: its middle, and the input that explains most, with the middle number of
// trainers; its interval over the points and, if it depends on them, over all numbers of trainers.
func (f *factor) measure(r *paper.Predictions) {
	var all paper.Box
	if f.Over != "" {
		all = r.Ratio(f.Of, f.Over)
		f.Input = r.LargestEffect(f.Of, all)
	} else {
		for _, n := range trainers() {
			one := r.Ratio(f.Of, cpuName(n))
			all.Points = append(all.Points, one.Points...)
			if n == middleTrainers {
				all.Middle, f.Input = one.Middle, r.LargestEffect(f.Of, one)
			}
		}
	}
	f.Interval = all.Interval()
}
