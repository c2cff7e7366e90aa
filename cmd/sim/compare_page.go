package main

import (
	"fmt"
	"strings"

	"tandem/internal/cli"
	"tandem/internal/htmlreport"
	"tandem/sim/predict"
)

// withInterval returns a value of a figure. Low and high are the ends of its interval, or both 0 for none.
func withInterval(name string, low, value, high float64) htmlreport.RankedValue {
	note := fmt.Sprintf("%s: %s", name, rate(value))
	if low != high {
		note += fmt.Sprintf(" (%s to %s)", rate(low), rate(high))
	}
	return htmlreport.RankedValue{Name: name, Value: value, Low: low, High: high, Note: note}
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
	var speed, price, faster, cheaper []htmlreport.RankedValue
	ratio := func(p *predict.Paired, name string) htmlreport.RankedValue {
		return withInterval(name, p.Interval.Low, p.Ratio, p.Interval.High)
	}
	for _, s := range x.sides {
		value, low, high := s.Mid.Throughput, 0.0, 0.0
		if s.Interval != nil {
			low, high = s.Interval.Low, s.Interval.High
		}
		speed = append(speed, withInterval(s.name, low, value, high))
		if s.noPrice == "" {
			value, low, high = s.dollars/3600/s.Mid.Throughput*1e9, 0, 0
			if i := predict.Percentiles(s.prices); i != nil {
				low, high = i.Low, i.High
			}
			price = append(price, withInterval(s.name, low, value, high))
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
		Text: []string{"Lines are the 1st to 99th percentile over the points of what is not known. Dots " +
			"are the predictions and, of ratios, the medians."}}
	nothing, same := 0.0, 1.0
	for _, figure := range []htmlreport.Ranked{
		{Title: "Throughput", X: "samples/s", Values: speed, Reference: &nothing},
		{Title: "Price", X: "$ for 10⁹ samples", Values: price, Reference: &nothing},
		{Title: "Throughput against " + x.sides[0].name, X: "ratio", Values: faster, Reference: &same},
		{Title: "Price against " + x.sides[0].name, X: "ratio", Values: cheaper, Reference: &same},
	} {
		if len(figure.Values) > 0 {
			section.Ranked = append(section.Ranked, figure)
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
