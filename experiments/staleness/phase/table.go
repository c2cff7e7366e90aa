package phase

import (
	"fmt"
	"strconv"

	"tandem/experiments/internal/report"
	"tandem/internal/cli"
)

// rateTable returns the tuned rates.
func (r *result) rateTable() cli.Table {
	t := cli.Table{
		Caption: "Rates of rows, tuned without delay at every α; * best at an end of the grid",
		Header:  []string{"optimizer"}, Words: 1,
	}
	d := newDiagram(r.Cells)
	for _, alpha := range d.alphas {
		t.Header = append(t.Header, fmt.Sprintf("α=%g", alpha))
	}
	for _, kind := range r.kinds() {
		line := []string{title(kind)}
		for _, alpha := range d.alphas {
			c := find(r.Choices, kind, alpha)
			text := report.Digits(c.Rates.Rows, 3)
			if c.AtEdge {
				text += "*"
			}
			line = append(line, text)
		}
		t.Rows = append(t.Rows, line)
	}
	return t
}

// cellTables returns the losses at the tuned rates, a table for each optimizer with two lines for each α: the
// whole loss and that beyond the lag.
func (r *result) cellTables() (tables []cli.Table) {
	d := newDiagram(r.Cells)
	for _, kind := range r.kinds() {
		t := cli.Table{
			Caption: title(kind) + " at its tuned rates: AUC × 1000 lost to fresh rows, then to the lag " +
				"control",
			Header: []string{"α"}, Words: 1,
		}
		for _, tau := range d.taus {
			t.Header = append(t.Header, fmt.Sprintf("τ = %d", tau))
		}
		for _, alpha := range d.alphas {
			whole, beyond := []string{fmt.Sprint(alpha)}, []string{"  lag"}
			for _, tau := range d.taus {
				c := d.at(kind, tuned, alpha, tau)
				whole, beyond = append(whole, report.MilliInterval(c.Loss)),
					append(beyond, report.MilliInterval(*c.BeyondLag))
			}
			t.Rows = append(t.Rows, whole, beyond)
		}
		tables = append(tables, t)
	}
	return tables
}

// multipleTable returns the losses by rate.
func (r *result) multipleTable() cli.Table {
	d := r.rateDiagram()
	t := cli.Table{
		Caption: "Loss in AUC × 1000 at other rates, fresh − late at the same rate",
		Header:  []string{"optimizer", "α", "τ"}, Words: 1,
	}
	for _, m := range r.multiples() {
		t.Header = append(t.Header, fmt.Sprintf("rate × %g", m))
	}
	for _, kind := range r.kinds() {
		for _, alpha := range d.alphas {
			for _, tau := range d.taus {
				line := []string{title(kind), fmt.Sprint(alpha), strconv.Itoa(tau)}
				for _, m := range r.multiples() {
					line = append(line, report.MilliInterval(d.at(kind, m, alpha, tau).Loss))
				}
				t.Rows = append(t.Rows, line)
			}
		}
	}
	return t
}

// retunedTable returns what tuning with delay changes.
func (r *result) retunedTable() cli.Table {
	t := cli.Table{
		Caption: fmt.Sprintf("Rates tuned a second time, with rows τ = %d late: loss in AUC × 1000 against "+
			"fresh rows at their own rate", r.Retuned[0].Tau),
		Header: []string{"optimizer, α", "row rates", "best late ÷ fresh", "fresh rate", "late rate"},
		Words:  1,
	}
	for _, one := range r.Retuned {
		t.Rows = append(t.Rows, []string{
			fmt.Sprintf("%s %g", title(one.Optimizer), one.Alpha),
			report.Digits(one.Fresh.Rows, 2) + ", " + report.Digits(one.Late.Rows, 2),
			fmt.Sprintf("%s [%s, %s]", ratio(one.Ratio.Estimate), ratio(one.Ratio.Low),
				ratio(one.Ratio.High)),
			report.MilliInterval(one.Before), report.MilliInterval(one.After),
		})
	}
	return t
}

// ratio returns a ratio of rates, which is not of interest beyond a factor of 100.
func ratio(v float64) string {
	switch {
	case v < 0.01:
		return "<0.01"
	case v > 100:
		return ">100"
	}
	return report.Digits(v, 2)
}

// columnTable returns the places of the columns.
func (r *result) columnTable() cli.Table {
	t := cli.Table{
		Caption: fmt.Sprintf("Columns of public data, %.1f steps late on simulated clusters: what was "+
			"measured around them at the tuned rate", r.Lateness.longest()),
		Header: []string{"data", "column", "top id"}, Words: 2,
	}
	for _, kind := range r.kinds() {
		t.Header = append(t.Header, title(kind))
	}
	for _, c := range r.Columns {
		line := []string{c.Data, c.Name, report.Digits(100*c.Top, 2) + " %"}
		for _, kind := range r.kinds() {
			line = append(line, string(c.Regions[kind]))
		}
		t.Rows = append(t.Rows, line)
	}
	return t
}
