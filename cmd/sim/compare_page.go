package main

import (
	"fmt"
	"strings"

	"tandem/internal/cli"
	"tandem/internal/htmlreport"
	"tandem/sim/predict"
)

// ranged is a value with its interval, and the name of its row in a figure.
type ranged struct {
	name           string
	low, mid, high float64
}

// markWidth is the part of the axis that the mark of a value takes.
const markWidth = 0.004

// rangeFigure draws values with their intervals, one below the other, on an axis from 0.
func rangeFigure(title, x string, values []ranged) htmlreport.Gantt {
	g := htmlreport.Gantt{Title: title, X: x}
	for _, v := range values {
		g.High = max(g.High, 1.05*v.high, 1.05*v.mid)
	}
	for _, v := range values {
		note := fmt.Sprintf("%s: %s (%s to %s)", v.name, rate(v.mid), rate(v.low), rate(v.high))
		half := markWidth / 2 * g.High
		mark := htmlreport.GanttBar{From: v.mid - half, To: v.mid + half, Colour: 1, Note: note}
		g.Rows = append(g.Rows, htmlreport.GanttRow{Name: v.name, Bars: []htmlreport.GanttBar{
			{From: v.low, To: v.high, Colour: 0, Note: note}, mark}})
	}
	return g
}

// page returns the comparison as a page, figures first. Printed is the text of the command.
func (x *sidesCompared) page(printed string) *htmlreport.Page {
	var names []string
	for _, s := range x.sides {
		names = append(names, s.name+": "+s.title())
	}
	return &htmlreport.Page{
		Title: "Comparison", Lead: fmt.Sprintf("%d configurations at the same %d points of what is not known",
			len(x.sides), x.samples),
		Sections: []htmlreport.Section{
			x.figures(), {Title: "Configurations", Notes: names, Tables: []cli.Table{x.table()}}, x.ratios(),
			{Title: "Everything that was printed", Code: printed}, htmlreport.EnvironmentSection(),
		},
	}
}

// figures draws throughput and price, and their ratios to the first configuration.
func (x *sidesCompared) figures() htmlreport.Section {
	var speed, price, faster, cheaper []ranged
	ratio := func(p *predict.Paired, name string) ranged {
		return ranged{name, p.Interval.Low, p.Ratio, p.Interval.High}
	}
	for _, s := range x.sides {
		one := ranged{s.name, s.Mid.Throughput, s.Mid.Throughput, s.Mid.Throughput}
		if s.Interval != nil {
			one.low, one.high = s.Interval.Low, s.Interval.High
		}
		speed = append(speed, one)
		if s.noPrice == "" {
			one = ranged{s.name, 0, s.dollars / 3600 / s.Mid.Throughput * 1e9, 0}
			if i := predict.Percentiles(s.prices); i != nil {
				one.low, one.high = i.Low, i.High
			}
			price = append(price, one)
		}
		pair := s.name + " / " + x.sides[0].name
		if s.faster != nil {
			faster = append(faster, ratio(s.faster, pair))
		}
		if s.price != nil {
			cheaper = append(cheaper, ratio(s.price, pair))
		}
	}
	section := htmlreport.Section{Title: "Which is faster, and which is cheaper",
		Text: []string{"Bars are the 1st to 99th percentile over the points of what is not known. Marks " +
			"are the predictions and, of ratios, the medians."}}
	for _, f := range []struct {
		title, x string
		values   []ranged
	}{{"Throughput", "samples/s", speed}, {"Price", "$ for 10⁹ samples", price},
		{"Throughput against " + x.sides[0].name, "ratio", faster},
		{"Price against " + x.sides[0].name, "ratio", cheaper}} {
		if len(f.values) > 0 {
			section.Gantts = append(section.Gantts, rangeFigure(f.title, f.x, f.values))
		}
	}
	return section
}

// table has the figures of every configuration.
func (x *sidesCompared) table() cli.Table {
	t := cli.Table{Words: 1,
		Header: []string{"", "samples/s", "low", "high", "$ for 10⁹ samples", "bound by"}}
	for _, s := range x.sides {
		row := []string{s.name, rate(s.Mid.Throughput), "", "", "", s.Mid.Bottlenecks[0].String()}
		if s.Interval != nil {
			row[2], row[3] = rate(s.Interval.Low), rate(s.Interval.High)
		}
		if s.noPrice == "" {
			row[4] = digits(s.dollars / 3600 / s.Mid.Throughput * 1e9)
		}
		t.Add(row...)
	}
	return t
}

// ratios has every configuration against the first.
func (x *sidesCompared) ratios() htmlreport.Section {
	t := cli.Table{Words: 1,
		Header: []string{"ratio", "median", "low", "high", "better at %", "decided by"}}
	add := func(name string, p *predict.Paired, better float64, decides []predict.Effect) {
		if p == nil {
			return
		}
		var words []string
		for _, e := range decides {
			words = append(words, fmt.Sprintf("%s %.0f %%", e.Name, 100*e.Share))
		}
		t.Add(name, digits(p.Ratio), digits(p.Interval.Low), digits(p.Interval.High),
			fmt.Sprintf("%.0f", 100*better), strings.Join(words, ", "))
	}
	for _, s := range x.sides[1:] {
		pair := s.name + " / " + x.sides[0].name
		if s.faster != nil {
			add(pair+" throughput", s.faster, s.faster.Above, s.decides)
		}
		if s.price != nil {
			add(pair+" price", s.price, 1-s.price.Above, s.priceDecides)
		}
	}
	section := htmlreport.Section{Title: "Ratios"}
	if len(t.Rows) > 0 {
		section.Tables = []cli.Table{t}
	}
	return section
}
