package neo

import (
	"fmt"
	"slices"

	"tandem/algo/metric"
	"tandem/experiments/internal/paper"
	"tandem/experiments/internal/report"
	"tandem/internal/cli"
)

// newReport returns the report of results.
func newReport(p *paper.Plan, r *results) *report.Report {
	out := p.Report(r.Results)
	out.Data = r
	out.Findings = slices.Concat(r.findings(), out.Findings)
	out.Tables = slices.Insert(out.Tables, 0, r.factorTable(), r.caseTable())
	out.Figures = slices.Insert(out.Figures, 0, r.figure())
	out.Notes = append(out.Notes, notes()...)
	for _, f := range append(slices.Clone(r.Factors), r.Product) {
		out.Quantities = append(out.Quantities, report.Quantity{
			Name: f.Name, What: fmt.Sprintf("Neo's lead over CPUs and PSs, %s, ×", f.What),
			Interval: f.Interval, Over: report.OverUnknowns,
		})
	}
	out.Quantities = append(out.Quantities, report.Quantity{
		Name: "neo-residual", What: "the published 40 × ÷ the simulated lead, ×", Interval: r.Residual,
		Over: report.OverUnknowns,
	})
	return out
}

// factorTable has the factors, their product, and what is published.
func (r *results) factorTable() cli.Table {
	t := cli.Table{
		Caption: "Neo's lead over CPUs and PSs (×), factor by factor",
		Header:  []string{"factor, and the input that explains most of it", "middle", "interval"}, Words: 1,
	}
	row := func(what string, i metric.Interval, input string) {
		if input != "" {
			what += "\n  most by " + input
		}
		t.Rows = append(t.Rows, []string{what, report.Three(i.Estimate), report.Range(i)})
	}
	for _, f := range r.Factors {
		row(f.What, f.Interval, f.Input)
	}
	row("product", r.Product.Interval, r.Product.Input)
	row("published ÷ product", r.Residual, "")
	return t
}

// caseTable has the throughput of every case.
func (r *results) caseTable() cli.Table {
	t := cli.Table{
		Caption: "Throughput of every case, thousand samples/s",
		Header:  []string{"case", "middle", "interval"}, Words: 1,
	}
	for _, c := range r.Cases {
		t.Rows = append(t.Rows, []string{c.Name, report.Three(c.Middle / 1e3),
			report.Range(metric.Interval{Low: c.Low / 1e3, High: c.High / 1e3})})
	}
	return t
}

// figure has a bar for each factor, and one for the product with a mark at the published lead.
func (r *results) figure() report.Figure {
	f := report.Figure{Name: "factors", Title: "Neo's lead over CPUs and PSs, factor by factor",
		X: report.Axis{Label: "factor (bar: middle of the inputs; thin line: interval; mark: published)"}}
	for _, x := range r.Factors {
		f.Bars = append(f.Bars, report.Bar{Name: x.What, Value: x.Estimate, Low: x.Low, High: x.High})
	}
	f.Bars = append(f.Bars, report.Bar{Name: "product", Color: 1, Value: r.Product.Estimate,
		Low: r.Product.Low, High: r.Product.High, Target: publishedLead})
	return f
}

// findings says what the lead consists of, and what the verdict on it is.
func (r *results) findings() []string {
	list := slices.Clone(r.Factors)
	slices.SortStableFunc(list, func(a, b factor) int {
		switch {
		case a.Estimate > b.Estimate:
			return -1
		case a.Estimate < b.Estimate:
			return 1
		}
		return 0
	})
	first := fmt.Sprintf("Neo's lead over CPUs and PSs: %s × simulated (%s), up to %d × published: %s. The "+
		"largest factor is %s: %s × (%s).", report.Three(r.Product.Estimate),
		report.Range(r.Product.Interval), publishedLead, r.Verdict, list[0].What,
		report.Three(list[0].Estimate), report.Range(list[0].Interval))
	sure, slower := "", ""
	for _, f := range r.Factors {
		switch {
		case f.Low > 1:
			sure += fmt.Sprintf(", %s", f.What)
		case f.High < 1:
			slower += fmt.Sprintf(", %s", f.What)
		}
	}
	sentences := []string{first}
	if sure != "" {
		sentences = append(sentences, "Faster over the whole interval of the unknown inputs: "+sure[2:]+".")
	}
	if slower != "" {
		sentences = append(sentences, "Slower over the whole interval of the unknown inputs: "+slower[2:]+".")
	}
	return sentences
}

// notes returns what a reader needs to judge this experiment.
func notes() []string {
	return []string{
		"Published and compared: 40 × from the abstract, which says \"up to\" and means time to solution; " +
			"1.7 million samples/s from a secondary source. Time to solution is taken as throughput: what " +
			"asynchrony costs in samples is not part of any factor.",
		"Published inputs: 12 T parameters, 5 MFLOP a sample, the servers, 128 A100s. Tables, rows, ids, " +
			"layers, batch and the whole system of CPUs are not published.",
		fmt.Sprintf("The number of trainers is unknown: the middle is %d; intervals of accelerators and "+
			"product span %v trainers, each with all points.", middleTrainers(), trainers()),
		"The order of the changes matters: a factor is what one gives after those before it.",
		"The null model of a lead is the ratio of the numbers of trainers.",
	}
}
