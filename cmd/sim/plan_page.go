package main

import (
	"fmt"
	"strings"

	"tandem/internal/cli"
	"tandem/internal/htmlreport"
	"tandem/sim/predict"
)

// page returns the plan as a page, figures first. Printed is the text of the command.
func (d *planned) page(printed string) *htmlreport.Page {
	texts := d.divisions()
	for _, text := range []string{d.turns(), d.memory(), d.stale(), d.prices()} {
		if text != "" {
			texts = append(texts, text)
		}
	}
	return &htmlreport.Page{
		Title: "Plan", Lead: strings.TrimSuffix(d.title(), "."),
		Sections: []htmlreport.Section{
			d.figures(), {Title: "Clusters", Text: texts, Tables: []cli.Table{d.table()}},
			{Title: "Everything that was printed", Code: printed}, htmlreport.EnvironmentSection(),
		},
	}
}

// costName names what is low on the front.
func (d *planned) costName() string {
	if d.train == 0 {
		return "$ an hour"
	}
	return "$ for all samples"
}

// figures draws the front, and the intervals of its clusters.
func (d *planned) figures() htmlreport.Section {
	front := htmlreport.Chart{Title: "Front", X: "samples/s", Y: d.costName(), Dots: true, FromZero: true,
		Series: []htmlreport.Series{{Name: "front"}}}
	var nothing float64
	speed := htmlreport.Ranked{Title: "Throughput", X: "samples/s", Reference: &d.need}
	cost := htmlreport.Ranked{Title: "Cost", X: d.costName(), Reference: &nothing}
	for i, o := range d.front {
		name := fmt.Sprintf("cluster %d", i+1)
		low, high := 0.0, 0.0
		if x := predict.Percentiles(o.costs); x != nil {
			low, high = min(x.Low, o.Cost), max(x.High, o.Cost)
		}
		cost.Values = append(cost.Values, withInterval(name, low, o.Cost, high))
		speed.Values = append(speed.Values, withInterval(name, o.whole.Interval.Low, d.samplesOf(o),
			o.whole.Interval.High))
		front.Series[0].Points = append(front.Series[0].Points, htmlreport.Point{X: d.samplesOf(o), Y: o.Cost,
			Low: low, High: high, Note: name + ": " + d.space.Describe(o.Place)})
	}
	return htmlreport.Section{Title: "The cheapest clusters, and faster ones",
		Text: []string{fmt.Sprintf("Lines are the 1st to 99th percentile over %d points of what is not "+
			"known, the same for all clusters. %s samples/s are needed, the dashed line.", d.samples,
			rate(d.need))},
		Charts: []htmlreport.Chart{front},
		Ranked: []htmlreport.Ranked{speed, cost}}
}

// table has the clusters of the front.
func (d *planned) table() cli.Table {
	t := cli.Table{Header: []string{"", "cluster", d.costName(), "time", "samples/s", "low", "high",
		"cheapest at %", "fast enough at %", "bound by"}, Words: 2}
	for i, o := range d.front {
		t.Add(fmt.Sprint(i+1), d.space.Describe(o.Place), digits(o.Cost), d.timeOf(o.Throughput),
			rate(d.samplesOf(o)), rate(o.whole.Interval.Low), rate(o.whole.Interval.High),
			fmt.Sprintf("%.0f", 100*o.cheapest), fmt.Sprintf("%.0f", 100*o.enough),
			o.whole.Mid.Bottlenecks[0].String())
	}
	return t
}
