package neo

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tandem/algo/metric"
	"tandem/experiments/internal/paper"
	"tandem/experiments/internal/report"
	"tandem/internal/cli"
)

// draw adds to the comparisons the factors of the lead, before all other results.
func draw(p *paper.Plan, r *results) *report.Report {
	out := p.Report(&r.Results)
	out.Findings = slices.Concat(r.findings(), out.Findings)
	out.Tables = slices.Insert(out.Tables, 0, r.factorTable(), r.caseTable())
	out.Figures = append(slices.Insert(out.Figures, 0, r.figure()), r.columns())
	out.Notes = append(out.Notes, notes()...)
	for _, f := range append(slices.Clone(r.Factors), r.Product) {
		out.Quantities = append(out.Quantities,
			paper.Quantity(f.Name, fmt.Sprintf("Neo's lead over CPUs and PSs, %s, ×", f.What), f.Interval))
	}
	out.Quantities = append(out.Quantities,
		paper.Quantity("neo-residual", "the published 40 × ÷ the simulated lead, ×", r.Residual))
	return out
}

// factorTable has the factors, their product, and what is published.
func (r *results) factorTable() cli.Table {
	t := cli.Table{
		Caption: "Neo's lead over CPUs and PSs (×), factor by factor",
		Header:  []string{"factor, and the input that explains most of it", "middle", "interval"}, Words: 1,
	}
	residual := factor{What: "published ÷ product", Interval: r.Residual}
	for _, f := range append(slices.Clone(r.Factors), r.Product, residual) {
		what := f.What
		if f.Input != "" {
			what += "\n  most by " + f.Input
		}
		t.Add(what, report.Three(f.Estimate), report.Range(f.Interval))
	}
	return t
}

// caseTable has the throughput of every case.
func (r *results) caseTable() cli.Table {
	t := cli.Table{
		Caption: "Throughput of every case, thousand samples/s",
		Header:  []string{"case", "middle", "interval"}, Words: 1,
	}
	for _, c := range r.Cases {
		t.Add(c.Name, report.Three(c.Middle/1e3),
			report.Range(metric.Interval{Low: c.Low / 1e3, High: c.High / 1e3}))
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

// columns draws the throughputs from CPUs to Neo, with what is published of Neo's.
func (r *results) columns() report.Figure {
	k := &report.Columns{Y: "thousand samples/s", Log: true, Series: []string{"CPU trainers", "128 A100s"},
		Marks: [2]string{"published: 1.7 M samples/s, quoted", ""}}
	cpus := report.ColumnPanel{X: "CPU trainers, PSs, async-ps"}
	path := report.ColumnPanel{X: "128 A100s; own tables: on a wire of 100 Gbit/s a server; Neo: on ZionEX"}
	for _, n := range trainers() {
		cpus.Groups = append(cpus.Groups, report.ColumnGroup{Name: fmt.Sprint(n),
			Columns: []report.Column{r.Column(0, cpuName(n), paper.Kilo, paper.Figure{})}})
	}
	published := paper.Printed(1e3*publishedMillions, 1e2)
	for _, x := range []struct {
		name, of  string
		published paper.Figure
	}{
		{"PSs, async-ps", onAccelerators, paper.Figure{}}, {"PSs, sync", syncWithPSs, paper.Figure{}},
		{"own tables", tablesOnAccelerators, paper.Figure{}}, {"Neo", onZionEX, published},
	} {
		path.Groups = append(path.Groups, report.ColumnGroup{Name: x.name,
			Columns: []report.Column{r.Column(1, x.of, paper.Kilo, x.published)}})
	}
	k.Panels = []report.ColumnPanel{cpus, path}
	return report.Figure{Name: "throughput", Columns: k,
		Title: "From CPUs with parameter servers to Neo: 12 T parameters"}
}

// findings says what the lead consists of, and what the verdict on it is.
func (r *results) findings() []string {
	largest := slices.MaxFunc(r.Factors, func(a, b factor) int { return cmp.Compare(a.Estimate, b.Estimate) })
	sentences := []string{fmt.Sprintf("Neo's lead over CPUs and PSs: %s × simulated (%s), up to %d × "+
		"published: %s. The largest factor is %s: %s × (%s).", report.Three(r.Product.Estimate),
		report.Range(r.Product.Interval), publishedLead, r.Verdict, largest.What,
		report.Three(largest.Estimate), report.Range(largest.Interval))}
	var faster, slower []string
	for _, f := range r.Factors {
		switch {
		case f.Low > 1:
			faster = append(faster, f.What)
		case f.High < 1:
			slower = append(slower, f.What)
		}
	}
	if faster != nil {
		sentences = append(sentences, "Faster over the whole interval of the unknown inputs: "+
			strings.Join(faster, ", ")+".")
	}
	if slower != nil {
		sentences = append(sentences, "Slower over the whole interval of the unknown inputs: "+
			strings.Join(slower, ", ")+".")
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
			"product span %v trainers, each with all points.", middleTrainers, trainers()),
		"The order of the changes matters: a factor is what one gives after those before it.",
		"The null model of a lead is the ratio of the numbers of trainers.",
	}
}
