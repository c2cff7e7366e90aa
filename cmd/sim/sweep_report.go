package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"tandem/algo/unit"
	"tandem/internal/cli"
	"tandem/internal/htmlreport"
	"tandem/sim/predict"
	"tandem/sim/sweep"
)

// rowsMost is the number of rows up to which a sweep prints them, if they are in a file as well.
const rowsMost = 60

// report writes what is known of all points.
func (g *grid) report(w io.Writer) error {
	rows := g.file.Rows()
	if g.flags.swept.plot != "" {
		s := g.throughputSection(rows)
		chart := &s.Charts[0]
		if err := htmlreport.WriteFigure(g.flags.swept.plot, chart.Title, chart.SVG(), s.Legend); err != nil {
			return err
		}
	}
	if g.flags.json {
		return printJSON(w, g.document(rows))
	}
	var text strings.Builder
	if len(rows) <= rowsMost || g.flags.swept.out == "" {
		g.writeTable(&text, rows)
	} else {
		fmt.Fprintf(&text, "%d points are in %s.\n", len(rows), g.flags.swept.out)
	}
	g.writeBest(&text, rows)
	fmt.Fprintf(&text, "\nTo repeat: %s\n", commandLine(g.command))
	if _, err := io.WriteString(w, text.String()); err != nil {
		return err
	}
	return g.writeSweepPage(rows, text.String())
}

// widthMost is the width of the axes in a table beside which the figures have room in 80 columns.
const widthMost = 17

// wordsLeast is the room that the words at the end of a row need; without it they have a line of their own.
const wordsLeast = 22

// writeTable writes the rows for a reader.
func (g *grid) writeTable(w io.Writer, rows []sweep.Row) {
	names, widths := g.columns(rows)
	if sum(widths)+2*len(widths) > widthMost {
		for i, a := range g.axes { // long names stand above the table
			names[i] = "(" + string(rune('a'+i)) + ")"
			fmt.Fprintf(w, "%s %s\n", names[i], a.Name)
		}
		widths = g.valueWidths(rows, names)
	}
	pad := func(text string, width int) string {
		return text + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
	}
	write := func(values []string, figures, words string) {
		var line strings.Builder
		for i, value := range values {
			line.WriteString(pad(value, widths[i]) + "  ")
		}
		line.WriteString(figures)
		start := utf8.RuneCountInString(line.String())
		if columns := cli.TextColumns(w); start+wordsLeast > columns {
			fmt.Fprintln(w, strings.TrimRight(line.String(), " ")+"\n    "+
				cli.WrapAt(words, "    ", 4, columns))
		} else {
			fmt.Fprintln(w, line.String()+cli.WrapAt(words, strings.Repeat(" ", start), start, columns))
		}
	}
	write(names, fmt.Sprintf("%9s  %-18s %9s  ", "samples/s", "interval", "$ per 10⁹"), "bound by")
	for _, r := range rows {
		if r.Refusal != "" {
			write(r.Values, "        –  ", r.Refusal)
			continue
		}
		span, price := "–", "–"
		if r.High > 0 {
			span = rate(r.Low) + " to " + rate(r.High)
		}
		if r.PerGiga > 0 {
			price = digits(r.PerGiga)
		}
		bound := predict.Bottleneck{Resource: r.Bound, Share: r.BoundShare}
		write(r.Values, fmt.Sprintf("%9s  %-18s %9s  ", rate(r.Throughput), span, price), bound.String())
	}
}

// columns returns the names of the axes and how wide their columns are.
func (g *grid) columns(rows []sweep.Row) (names []string, widths []int) {
	for _, a := range g.axes {
		names = append(names, a.Name)
	}
	return names, g.valueWidths(rows, names)
}

// valueWidths returns the widths of columns with some names.
func (g *grid) valueWidths(rows []sweep.Row, names []string) []int {
	widths := make([]int, len(names))
	for i, name := range names {
		widths[i] = len(name)
		for _, r := range rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(r.Values[i]))
		}
	}
	return widths
}

func sum(numbers []int) (total int) {
	for _, n := range numbers {
		total += n
	}
	return total
}

// asFast is the part of the fastest throughput that counts as fast.
const asFast = 0.99

// writeBest writes which points are the best, and the smallest values that do as well.
func (g *grid) writeBest(w io.Writer, rows []sweep.Row) {
	fastest, cheapest := best(rows)
	if fastest < 0 {
		fmt.Fprintln(w, "\nNothing fits.")
		return
	}
	fmt.Fprintln(w)
	cli.Paragraph(w, fmt.Sprintf("Fastest: %s, %s samples/s.", g.name(rows[fastest].Values),
		rate(rows[fastest].Throughput)), "  ")
	if cheapest >= 0 {
		cli.Paragraph(w, fmt.Sprintf("Cheapest: %s, $ %s for 10⁹ samples.", g.name(rows[cheapest].Values),
			digits(rows[cheapest].PerGiga)), "  ")
	}
	for i, a := range g.axes {
		if least, ok := enough(rows, rows[fastest], i); ok {
			cli.Paragraph(w, fmt.Sprintf("Enough: %s = %s, with at least %.0f %% of the samples/s of any "+
				"more.", a.Name, least, 100*asFast), "  ")
		}
	}
	if text := g.priceNote(rows); text != "" {
		cli.Paragraph(w, text, "  ")
	}
	if n := g.flags.samples; n > 1 {
		text := fmt.Sprintf("%d points of what is not known, the same for all rows; intervals are the 1st "+
			"to 99th percentile.", n)
		if n < pairedFew {
			text += fmt.Sprintf(" From so few they are rough: --samples %d.", pairedMost)
		}
		cli.Paragraph(w, text, "")
	}
}

// priceNote says that hardware which differs has one price, so that the fastest is the cheapest.
func (g *grid) priceNote(rows []sweep.Row) string {
	for _, r := range rows {
		if r.Refusal == "" && (r.PerHour == 0 || r.PerHour != rows[0].PerHour) {
			return ""
		}
	}
	var names []string
	for _, a := range g.axes {
		if hasNoPrice(a.Name) && g.flags.dollars == 0 {
			names = append(names, a.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("All rows have the same price an hour: what %s costs is not known, and not in it.",
		strings.Join(names, " and "))
}

// name writes the values of a point.
func (g *grid) name(values []string) string {
	words := make([]string, len(values))
	for i, value := range values {
		words[i] = g.axes[i].Name + " = " + value
	}
	return strings.Join(words, ", ")
}

// enough returns the smallest value of an axis of numbers with which a row is as fast as the fastest, all
// other axes being the same; ok is false if there is no larger value.
func enough(rows []sweep.Row, fastest sweep.Row, axis int) (value string, ok bool) {
	least, most := math.Inf(1), math.Inf(-1)
	for i := range rows {
		r := &rows[i]
		x, numeric := number(r.Values[axis])
		if !numeric {
			return "", false
		}
		if !slices.Equal(r.Values[:axis], fastest.Values[:axis]) ||
			!slices.Equal(r.Values[axis+1:], fastest.Values[axis+1:]) {
			continue
		}
		most = max(most, x)
		if x < least && r.Throughput >= asFast*fastest.Throughput {
			least, value = x, r.Values[axis]
		}
	}
	return value, least < most
}

// number returns the value of a text that is a number, with or without a unit.
func number(text string) (float64, bool) {
	if x, err := strconv.ParseFloat(text, 64); err == nil {
		return x, true
	}
	if x, err := unit.ParseBytesPerSec(text); err == nil {
		return float64(x), true
	}
	if x, err := unit.ParseTick(text); err == nil {
		return float64(x), true
	}
	if x, err := unit.ParseBytes(text); err == nil {
		return float64(x), true
	}
	return 0, false
}

// sweepDocument is the JSON object of a sweep.
type sweepDocument struct {
	Axes      []string        `json:"axes"`
	Samples   int             `json:"samples"`
	Points    []pointDocument `json:"points"`
	Fastest   *int            `json:"fastest"` // place of the point
	Cheapest  *int            `json:"cheapest"`
	Reproduce string          `json:"reproduce"`
}

type pointDocument struct {
	Values         []string    `json:"values"`
	Throughput     *float64    `json:"throughput_samples_per_s"`
	Interval       *[2]float64 `json:"throughput_interval"`
	DollarsPerHour *float64    `json:"cost_usd_per_hour"`
	DollarsPerGiga *float64    `json:"cost_usd_per_billion_samples"`
	StepMillis     *float64    `json:"step_time_ms"`
	Bound          string      `json:"bound_by"`
	BoundShare     float64     `json:"bound_share"`
	Refusal        *string     `json:"refusal"` // why there is no prediction
}

// document returns the sweep as a JSON object.
func (g *grid) document(rows []sweep.Row) *sweepDocument {
	d := &sweepDocument{Samples: g.flags.samples, Reproduce: commandLine(g.command)}
	for _, a := range g.axes {
		d.Axes = append(d.Axes, a.Name)
	}
	known := func(x float64) *float64 {
		if x == 0 {
			return nil
		}
		return &x
	}
	for _, r := range rows {
		p := pointDocument{Values: r.Values, Throughput: known(r.Throughput),
			DollarsPerHour: known(r.PerHour), DollarsPerGiga: known(r.PerGiga),
			StepMillis: known(r.StepMillis), Bound: r.Bound, BoundShare: r.BoundShare}
		if r.High > 0 {
			p.Interval = &[2]float64{r.Low, r.High}
		}
		if r.Refusal != "" {
			p.Refusal = &r.Refusal
		}
		d.Points = append(d.Points, p)
	}
	if fastest, cheapest := best(rows); fastest >= 0 {
		d.Fastest = &fastest
		if cheapest >= 0 {
			d.Cheapest = &cheapest
		}
	}
	return d
}

// writeSweepPage writes the sweep as one page with a figure, if the user asks for it.
func (g *grid) writeSweepPage(rows []sweep.Row, printed string) error {
	if g.flags.page == "" {
		return nil
	}
	page := htmlreport.Page{Title: "Sweep", Lead: commandLine(g.command), Sections: []htmlreport.Section{
		g.throughputSection(rows), {Title: "Everything that was printed", Code: printed},
		htmlreport.EnvironmentSection(),
	}}
	return page.WriteFile(g.flags.page)
}

// throughputSection draws throughput and price over the first axis of numbers, a line for each combination of
// the others.
func (g *grid) throughputSection(rows []sweep.Row) htmlreport.Section {
	s := htmlreport.Section{Title: "Throughput"}
	along := slices.IndexFunc(g.axes, func(a sweep.Axis) bool {
		return !slices.ContainsFunc(a.Values, func(v string) bool { _, ok := number(v); return !ok })
	})
	x := func(i int, r *sweep.Row) float64 { return float64(i + 1) }
	label := "point"
	if along >= 0 {
		label = g.axes[along].Name
		x = func(_ int, r *sweep.Row) float64 { v, _ := number(r.Values[along]); return v }
	}
	speed := htmlreport.Chart{Title: "Throughput", X: label, Y: "samples/s", Dots: true, FromZero: true}
	price := htmlreport.Chart{Title: "Price", X: label, Y: "$ for 10⁹ samples", Dots: true, FromZero: true}
	for i := range rows {
		r := &rows[i]
		var others []string
		for k, value := range r.Values {
			if along >= 0 && k != along {
				others = append(others, g.axes[k].Name+" "+value)
			}
		}
		name := strings.Join(others, ", ")
		at := slices.IndexFunc(speed.Series, func(s htmlreport.Series) bool { return s.Name == name })
		if at < 0 {
			at = len(speed.Series)
			speed.Series = append(speed.Series, htmlreport.Series{Name: name})
			price.Series = append(price.Series, htmlreport.Series{Name: name})
			s.Legend = append(s.Legend, name)
		}
		if r.Throughput == 0 {
			continue
		}
		point := htmlreport.Point{X: x(i, r), Y: r.Throughput, Low: r.Low, High: r.High,
			Note: g.name(r.Values)}
		speed.Series[at].Points = append(speed.Series[at].Points, point)
		if r.PerGiga > 0 {
			point.Y, point.Low, point.High = r.PerGiga, 0, 0
			price.Series[at].Points = append(price.Series[at].Points, point)
		}
	}
	if len(s.Legend) < 2 {
		s.Legend = nil
	}
	s.Charts = []htmlreport.Chart{speed, price}
	s.Text = []string{fmt.Sprintf("Bars are the 1st to 99th percentile over %d points of what is not known, "+
		"the same for all.", g.flags.samples)}
	return s
}
