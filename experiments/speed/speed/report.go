package speed

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tandem/experiments/internal/report"
	"tandem/experiments/internal/turns"
	"tandem/internal/cli"
)

// report returns the results of a plan as tables, figures and sentences.
func (p *plan) report(results []*result) *report.Report {
	measured := slices.DeleteFunc(slices.Clone(results), func(r *result) bool { return r.TooLarge })
	return &report.Report{
		Findings: p.findings(measured), Notes: p.notes(results), Tables: p.tables(measured),
		Figures: figures(measured),
	}
}

// comparison is Tandem beside a peer.
type comparison struct {
	name, figure string
	has          func(c *testCase) bool     // whether the peer can do a case
	seconds      func(r *result) *[]float64 // per step, by round; empty if the peer did not run
	target       func(c *testCase) float64  // the least ratio of rates; 0: none
}

// comparisons returns the comparisons with peers.
func comparisons() []comparison {
	return []comparison{{
		name: "PyTorch", figure: "ratios",
		has: func(c *testCase) bool { // its Adagrad has no row-wise form
			return c.Kind != kindLookup && c.Kind != kindUpdate && !c.RowWise
		},
		seconds: func(r *result) *[]float64 { return &r.PyTorch },
		target:  func(c *testCase) float64 { return c.Target },
	}, {
		name: "FBGEMM", figure: "fbgemm",
		has:     func(c *testCase) bool { return c.Kind == kindSparse || c.Kind == kindTrain && c.RowWise },
		seconds: func(r *result) *[]float64 { return &r.FBGEMM },
		target: func(c *testCase) float64 {
			switch {
			case c.Target == 0:
				return 0
			case c.RowWise:
				return targetRowWise
			}
			return targetElementWise
		},
	}}
}

// ran reports whether the peer did a case.
func (c *comparison) ran(r *result) bool { return len(*c.seconds(r)) > 0 }

// ratio returns Tandem's rate ÷ the peer's rate, by round.
func (c *comparison) ratio(r *result) turns.Spread {
	return turns.Range(turns.Ratios(*c.seconds(r), r.Tandem))
}

// figures returns a figure for each peer, with a bar for each case that ran on both sides.
func figures(results []*result) (figures []report.Figure) {
	for _, peer := range comparisons() {
		f := report.Figure{Name: peer.figure, Title: "Rates of Tandem ÷ rates of " + peer.name,
			X: report.Axis{Label: "ratio (thick mark: target; thin line: smallest to largest of a round)"}}
		for _, r := range results {
			if peer.ran(r) {
				f.Bars = append(f.Bars, peer.ratio(r).Bar(r.fullName(), slices.Index(kinds(), r.Kind),
					peer.target(&r.testCase)))
			}
		}
		if f.Bars != nil {
			figures = append(figures, f)
		}
	}
	return figures
}

// fullName returns the name of a case with its batch and threads.
func (c *testCase) fullName() string {
	return fmt.Sprintf("%s, batch %d, %s", c, c.Batch, cores(c.Threads))
}

// cores returns a number of cores as text.
func cores(n int) string {
	if n == 1 {
		return "1 core"
	}
	return fmt.Sprintf("%d cores", n)
}

// work returns the units of work of a step: millions of rows, or thousands of samples.
func (r *result) work() float64 {
	switch {
	case r.Rows != nil:
		return float64(r.Batch*r.Rows.Slots) / 1e6
	case r.Kind == kindTrain:
		return float64(r.Corpus.Train*r.Corpus.Epochs) / 1e3
	}
	return float64(r.Batch) / 1e3
}

// rate returns the median rate of a side, in the unit of the case.
func (r *result) rate(seconds []float64) string {
	return threeDigits(r.work() / report.Median(seconds))
}

// beside is a case beside something else: a peer, a limit of the machine, a goal. It is a line of a table
// and, with a target, a goal.
type beside struct {
	caption, yardstick string // of the table, and of the column of the other
	ours, theirs       string
	value              string // the ratio, or the share
	of                 string // what has the target
	text               string // the value in sentences
	reached, target    float64
}

// besides returns what a case is set beside.
func (p *plan) besides(r *result) (list []beside) {
	what, family := "dense steps and trainings with Adagrad, thousand samples/s", r.String()
	switch {
	case r.Kind == kindSparse:
		family = "sparse steps with " + adagradName(r.RowWise)
		what = family + ", million rows/s"
	case r.RowWise:
		what = "trainings with row-wise Adagrad, thousand samples/s"
	}
	for _, peer := range comparisons() {
		b := beside{yardstick: peer.name, ours: r.rate(r.Tandem), theirs: "–", value: "–",
			caption: fmt.Sprintf("Tandem and %s in turns, medians of %d rounds: %s", peer.name, p.Rounds,
				what)}
		if peer.ran(r) {
			ratio, target := peer.ratio(r), peer.target(&r.testCase)
			b.theirs, b.value = r.rate(*peer.seconds(r)), r.marked(threeDigits(ratio.Median))
			b.of = fmt.Sprintf("%s, %g × %s", family, target, peer.name)
			b.text, b.reached, b.target = ratio.Text(threeDigits)+" ×", ratio.Median, target
		}
		if peer.ran(r) || peer.name == "PyTorch" && peer.has(&r.testCase) {
			list = append(list, b)
		}
	}
	if r.Limit != nil {
		share := report.Median(turns.Ratios(r.Limit, r.Tandem))
		target := map[string]float64{kindLookup: targetLookup, kindUpdate: targetUpdate}[r.Kind]
		b := beside{yardstick: "limit", ours: r.rate(r.Tandem), theirs: r.rate(r.Limit),
			value: r.marked(turns.Percent(share)), text: turns.Percent(share), reached: share, target: target,
			of:      fmt.Sprintf("%ss, %s of the bare loop", r.Kind, turns.Percent(target)),
			caption: fmt.Sprintf("One %s a row and a bare loop, in the same rounds: million rows/s", r.Kind)}
		if r.Kind == kindDense {
			b.caption = "Dense steps and arithmetic in registers, in the same rounds: thousand samples/s"
		}
		list = append(list, b)
	}
	if r.Kind == kindLookup && r.Threads == 1 && r.Rows.Distribution == uniform { // one case of each size
		list = append(list, beside{caption: "Memory of a row beside embedding and state: bytes",
			ours: threeDigits(r.RowOverhead), yardstick: "at most", theirs: fmt.Sprint(targetOverhead),
			of:   fmt.Sprintf("rows, at most %g bytes beside embedding and state", targetOverhead),
			text: threeDigits(r.RowOverhead), value: threeDigits(targetOverhead / r.RowOverhead),
			reached: targetOverhead / r.RowOverhead, target: 1})
	}
	if r.Share != nil {
		share := r.Share.Share()
		list = append(list, beside{
			yardstick: "limit", value: turns.Percent(share), text: turns.Percent(share),
			caption: "Trainings and their own work, measured alone: thousand samples/s",
			ours:    threeDigits(r.Share.SamplesPerSecond / 1e3), theirs: threeDigits(r.Share.Bound / 1e3),
			of:      fmt.Sprintf("trainings, %s of what their work allows", turns.Percent(targetShare)),
			reached: share, target: targetShare})
	}
	return list
}

// marked returns a text with a mark if one side at a time held its rows.
func (r *result) marked(text string) string {
	if r.Alone {
		return text + "*"
	}
	return text
}

// verdict compares what was reached with the target.
func (b *beside) verdict() string {
	switch {
	case b.target == 0:
		return ""
	case b.reached >= b.target:
		return fmt.Sprintf("ok (≥ %g)", b.target)
	}
	return fmt.Sprintf("short of %g", b.target)
}

// findings returns the number of targets that are reached, and a sentence for the cases that miss a target,
// with the one that is furthest from it.
func (p *plan) findings(results []*result) []string {
	var goals []turns.Goal
	for _, r := range results {
		for _, b := range p.besides(r) {
			if b.target != 0 {
				goals = append(goals, turns.Goal{Of: b.of, Text: r.fullName() + ": " + b.text,
					Reached: b.reached, Target: b.target})
			}
		}
	}
	if goals == nil {
		return []string{"There are no targets without PyTorch."}
	}
	list, reached := []string{""}, 0
	for _, t := range turns.Tallies(goals) {
		if reached += t.Reached; t.Reached < t.All {
			list = append(list, fmt.Sprintf("Missed by %d of %d: %s. Lowest: %s.", t.All-t.Reached, t.All,
				t.Of, t.Lowest.Text))
		}
	}
	list[0] = fmt.Sprintf("%d of %d targets are reached.", reached, len(goals))
	return list
}

// tables returns a table for each caption, with a line for each case. They fit in 80 columns: ranges are
// in the figures, and all rounds in speed.json.
func (p *plan) tables(results []*result) (tables []cli.Table) {
	for _, r := range results {
		header, cells := []string{"case"}, []string{r.String()}
		if r.Rows != nil {
			header = []string{"rows", "dim", "ids"}
			cells = []string{millions(r.Rows.Total), strconv.Itoa(r.Rows.Dim),
				strings.Fields(r.Rows.Distribution)[0]}
		}
		header, cells = append(header, "batch", "cores"), append(cells, strconv.Itoa(r.Batch),
			strconv.Itoa(r.Threads))
		for _, b := range p.besides(r) {
			at := slices.IndexFunc(tables, func(t cli.Table) bool { return t.Caption == b.caption })
			if at < 0 {
				at = len(tables)
				tables = append(tables, cli.Table{Caption: b.caption, Words: len(header),
					Header: slices.Concat(header, []string{"Tandem", b.yardstick, "ratio", "verdict"})})
			}
			tables[at].Rows = append(tables[at].Rows,
				slices.Concat(cells, []string{b.ours, b.theirs, b.value, b.verdict()}))
		}
	}
	return tables
}

// threeDigits returns a number with three significant digits, or rounded to a whole number.
func threeDigits(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}
