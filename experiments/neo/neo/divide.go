package neo

import (
	"tandem/algo/metric"
	"tandem/experiments/internal/paper"
	"tandem/sim/predict"
)

// results are all results of the experiment.
type results struct {
	*paper.Results
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

// chain returns the factors without values, from CPUs to Neo.
func chain() []factor {
	return []factor{
		{Name: "neo-factor-accelerators", What: "accelerators", Of: onAccelerators},
		{Name: "neo-factor-algorithm", What: "algorithm", Of: syncWithPSs, Over: onAccelerators},
		{Name: "neo-factor-placement", What: "placement", Of: tablesOnAccelerators, Over: syncWithPSs},
		{Name: "neo-factor-network", What: "network", Of: onZionEX, Over: tablesOnAccelerators},
	}
}

// divide computes all factors at the points of the box.
func divide(r *paper.Results) *results {
	out := &results{Results: r, Factors: chain(),
		Product: factor{Name: "neo-over-cpu-ps", What: "product", Of: onZionEX}}
	for i := range out.Factors {
		out.Factors[i].measure(r)
	}
	p := &out.Product
	p.measure(r)
	lead := paper.Printed(publishedLead, 1)
	out.Residual = metric.Interval{Estimate: lead.Value / p.Estimate, Low: lead.Low / p.High,
		High: lead.High / p.Low}
	out.Verdict = paper.Judge(&lead, &predict.Interval{Low: p.Low, High: p.High})
	return out
}

// measure computes a factor: its middle with the middle number of trainers, its interval over the points and,
// if it depends on them, over all numbers of trainers.
func (f *factor) measure(r *paper.Results) {
	of := r.Prediction(f.Of)
	over, all := f.Over, []string{f.Over}
	if f.Over == "" {
		over, all = cpuName(middleTrainers()), nil
		for _, n := range trainers() {
			all = append(all, cpuName(n))
		}
	}
	var points, middle []float64
	for _, name := range all {
		for k, x := range r.Prediction(name).Samples {
			points = append(points, of.Samples[k]/x)
			if name == over {
				middle = append(middle, of.Samples[k]/x)
			}
		}
	}
	f.Interval = paper.Spread(of.Mid.Throughput/r.Prediction(over).Mid.Throughput, points)
	f.Input = paper.LargestEffect(r.Job(f.Of), middle)
}
