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
		Findings: findings(measured), Notes: p.notes(results), Tables: p.tables(measured),
		Figures: figures(measured),
	}
}

// comparison is Tandem beside a peer.
type comparison struct {
	name, figure string
	networks     string                     // what it does with networks
	has          func(c *testCase) bool     // whether the peer can do a case
	seconds      func(r *result) *[]float64 // per step, by round; empty if the peer did not run
	target       func(c *testCase) float64  // the least ratio of rates; 0: none
}

// comparisons returns the comparisons with peers.
func comparisons() []comparison {
	return []comparison{{
		name: "PyTorch", figure: "ratios", networks: "dense steps and trainings with Adagrad",
		has: func(c *testCase) bool { // its Adagrad has no row-wise form
			return c.Kind != kindLookup && c.Kind != kindUpdate && !c.RowWise
		},
		seconds: func(r *result) *[]float64 { return &r.PyTorch },
		target:  func(c *testCase) float64 { return c.Target },
	}, {
		name: "FBGEMM", figure: "fbgemm", networks: "trainings with row-wise Adagrad",
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

// limitShare returns Tandem's rate ÷ the rate of the limit.
func (r *result) limitShare() float64 { return report.Median(turns.Ratios(r.Limit, r.Tandem)) }

// targetShare returns the target for limitShare, or 0 if there is none.
func (r *result) targetShare() float64 {
	return map[string]float64{kindLookup: targetLookup, kindUpdate: targetUpdate}[r.Kind]
}

// judgesOverhead reports whether the row overhead is judged by this case: one of those with the same rows.
func (r *result) judgesOverhead() bool {
	return r.Kind == kindLookup && r.Threads == 1 && r.Rows.Distribution == uniform
}

// goals returns the goals of a result.
func (r *result) goals() (list []turns.Goal) {
	add := func(of string, reached, target float64, value string) {
		if target != 0 {
			list = append(list, turns.Goal{Of: of, Text: r.fullName() + ": " + value, Reached: reached,
				Target: target})
		}
	}
	family := r.String()
	if r.Kind == kindSparse {
		family = "sparse steps with " + adagradName(r.RowWise)
	}
	for _, peer := range comparisons() {
		if peer.ran(r) {
			ratio, target := peer.ratio(r), peer.target(&r.testCase)
			add(fmt.Sprintf("%s, %s × %s", family, shortNumber(target), peer.name), ratio.Median, target,
				ratio.Text(threeDigits)+" ×")
		}
	}
	if target := r.targetShare(); r.Limit != nil {
		share := r.limitShare()
		add(fmt.Sprintf("%ss, %s of the bare loop", r.Kind, turns.Percent(target)), share, target,
			turns.Percent(share))
	}
	if r.besidePersia() {
		add(fmt.Sprintf("%ss, %d × Persia's store", r.Kind, targetPersia), r.persiaRatio(), targetPersia,
			threeDigits(r.persiaRatio())+" ×")
	}
	if r.judgesOverhead() {
		add(fmt.Sprintf("rows, at most %s bytes beside embedding and state", shortNumber(targetOverhead)),
			-r.RowOverhead, -targetOverhead, threeDigits(r.RowOverhead))
	}
	if r.Share != nil {
		share := r.Share.Share()
		add(fmt.Sprintf("trainings, %s of what their work allows", turns.Percent(targetShare)), share,
			targetShare, turns.Percent(share))
	}
	return list
}

// findings returns the number of targets that are reached, and a sentence for the cases that miss a target,
// with the one that is furthest from it.
func findings(results []*result) []string {
	var goals []turns.Goal
	for _, r := range results {
		goals = append(goals, r.goals()...)
	}
	if goals == nil {
		return []string{"There are no targets without PyTorch."}
	}
	list, reached := []string{""}, 0
	for _, t := range turns.Tallies(goals) {
		if reached += t.Reached; t.Reached < t.All {
			list = append(list, fmt.Sprintf("Missed by %d of %d: %s. Lowest: %s.", t.All-t.Reached, t.All, t.Of,
				t.Lowest.Text))
		}
	}
	list[0] = fmt.Sprintf("%d of %d targets are reached.", reached, len(goals))
	return list
}

// column is a column of a table with a line for each result.
type column = turns.Column[*result]

// value returns a column.
func value(name string, of func(r *result) string) column { return column{Name: name, Of: of} }

// byRows names cases with rows of one kind.
func byRows() []column {
	return []column{
		value("rows", func(r *result) string { return millions(r.Rows.Total) }),
		value("dim", func(r *result) string { return strconv.Itoa(r.Rows.Dim) }),
		value("ids", func(r *result) string { return strings.Fields(r.Rows.Distribution)[0] }),
	}
}

// rate returns a column of median rates, in the unit of a case.
func rate(name string, seconds func(r *result) []float64) column {
	return value(name, func(r *result) string {
		if of := seconds(r); len(of) > 0 {
			return threeDigits(r.work() / report.Median(of))
		}
		return "–"
	})
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

// marked returns a text with a mark if one side at a time held its rows.
func (r *result) marked(text string) string {
	if r.Alone {
		return text + "*"
	}
	return text
}

// beside returns the columns of a comparison.
func (c *comparison) beside() []column {
	return []column{
		rate("Tandem", func(r *result) []float64 { return r.Tandem }),
		rate(c.name, func(r *result) []float64 { return *c.seconds(r) }),
		value("ratio", func(r *result) string {
			if !c.ran(r) {
				return "–"
			}
			return r.marked(threeDigits(c.ratio(r).Median))
		}),
		value("verdict", func(r *result) string {
			if !c.ran(r) {
				return ""
			}
			return verdict(c.ratio(r).Median, c.target(&r.testCase))
		}),
	}
}

// tables returns the comparisons with PyTorch, with FBGEMM if there is any, and with limits. They fit in 80
// columns: ranges are in the figures, and all rounds in speed.json.
func (p *plan) tables(results []*result) (tables []cli.Table) {
	add := func(caption string, belongs func(r *result) bool, naming, values []column) {
		of := slices.DeleteFunc(slices.Clone(results), func(r *result) bool { return !belongs(r) })
		if len(of) > 0 {
			tables = append(tables, turns.Table(caption, of, naming, values))
		}
	}
	name := value("case", func(r *result) string { return r.String() })
	batch := value("batch", func(r *result) string { return strconv.Itoa(r.Batch) })
	threads := value("cores", func(r *result) string { return strconv.Itoa(r.Threads) })
	byNet := []column{name, batch, threads}
	for _, peer := range comparisons() {
		if peer.name == "FBGEMM" && !slices.ContainsFunc(results, peer.ran) {
			continue
		}
		caption := fmt.Sprintf("Tandem and %s in turns, medians of %d rounds: ", peer.name, p.Rounds)
		add(caption+peer.networks+", thousand samples/s",
			func(r *result) bool { return r.Net != nil && peer.has(&r.testCase) }, byNet, peer.beside())
		for _, rowWise := range []bool{false, true} {
			add(caption+"sparse steps with "+adagradName(rowWise)+", million rows/s", func(r *result) bool {
				return r.Kind == kindSparse && r.RowWise == rowWise && peer.has(&r.testCase)
			}, append(byRows(), batch, threads), peer.beside())
		}
	}
	besideLimit := []column{
		rate("Tandem", func(r *result) []float64 { return r.Tandem }),
		rate("limit", func(r *result) []float64 { return r.Limit }),
		value("share", func(r *result) string { return r.marked(turns.Percent(r.limitShare())) }),
	}
	judged := value("verdict", func(r *result) string { return verdict(r.limitShare(), r.targetShare()) })
	add("Dense steps and arithmetic in registers, in the same rounds: thousand samples/s",
		func(r *result) bool { return r.Kind == kindDense && r.Limit != nil }, byNet, besideLimit)
	for _, kind := range []string{kindLookup, kindUpdate} {
		add(fmt.Sprintf("One %s a row and a bare loop, in the same rounds: million rows/s", kind),
			func(r *result) bool { return r.Kind == kind && r.Limit != nil }, append(byRows(), threads),
			append(besideLimit, judged))
	}
	add("Tandem and Persia's own store on another machine, one core, uniform ids: microseconds a row",
		(*result).besidePersia,
		append([]column{value("step", func(r *result) string { return r.Kind })}, byRows()[:2]...), []column{
			value("Tandem", func(r *result) string { return fmt.Sprintf("%.3f", r.micros()) }),
			value("Persia", func(r *result) string { return fmt.Sprintf("%.3f", r.persia()) }),
			value("ratio", func(r *result) string { return threeDigits(r.persiaRatio()) }),
			value("verdict", func(r *result) string { return verdict(r.persiaRatio(), targetPersia) }),
		})
	add("Trainings and their own work, measured alone: thousand samples/s",
		func(r *result) bool { return r.Share != nil }, byNet, []column{
			value("reached", func(r *result) string { return threeDigits(r.Share.SamplesPerSecond / 1e3) }),
			value("limit", func(r *result) string { return threeDigits(r.Share.Bound / 1e3) }),
			value("share", func(r *result) string { return turns.Percent(r.Share.Share()) }),
			value("verdict", func(r *result) string { return verdict(r.Share.Share(), targetShare) }),
		})
	add("Memory of a row beside embedding and state: bytes", (*result).judgesOverhead, byRows(), []column{
		value("bytes", func(r *result) string { return threeDigits(r.RowOverhead) }),
		value("verdict", func(r *result) string {
			if r.RowOverhead > targetOverhead {
				return "above " + shortNumber(targetOverhead)
			}
			return fmt.Sprintf("ok (≤ %s)", shortNumber(targetOverhead))
		}),
	})
	return tables
}

// persiaTime is how long Persia's own store takes on one core, in microseconds a row.
type persiaTime struct {
	rows, dim      int
	lookup, update float64
}

// persiaTimes returns measured times of Persia's store, on another machine than the one that runs the
// experiment.
//
// Source: measured in November 2026 for this comparison, not published. Persia's code at commit ff754b8,
// built for the processor at hand (its default build is slower), its service methods called in process,
// without RPC, on one core of an AMD Zen 4 at about 3 GHz: training reads (with write lock and order of use)
// and updates by Adagrad of 8,192 distinct rows a call, drawn uniformly, 100 internal shards.
func persiaTimes() []persiaTime {
	return []persiaTime{
		{million, 16, 1.20, 1.18}, {million, 32, 1.22, 1.22}, {million, 64, 1.32, 1.22},
		{million, 128, 1.45, 1.43}, {tenMillion, 16, 1.27, 1.41}, {tenMillion, 64, 1.92, 1.89},
	}
}

// targetPersia is the least ratio of Tandem's rate to that of Persia's store.
const targetPersia = 1

// persia returns the microseconds a row that Persia's store takes for a lookup or an update, 0 for cases that
// were not measured with it.
func (c *testCase) persia() float64 {
	if c.Rows == nil || c.Threads > 1 || c.Rows.Distribution != uniform {
		return 0
	}
	for _, t := range persiaTimes() {
		if t.rows == c.Rows.Total && t.dim == c.Rows.Dim {
			return map[string]float64{kindLookup: t.lookup, kindUpdate: t.update}[c.Kind]
		}
	}
	return 0
}

// besidePersia reports whether a case was measured with Persia's store.
func (r *result) besidePersia() bool { return r.persia() > 0 }

// micros returns Tandem's microseconds a row, the median over rounds.
func (r *result) micros() float64 { return report.Median(r.Tandem) / r.work() }

// persiaRatio returns the rate of Tandem ÷ that of Persia's store.
func (r *result) persiaRatio() float64 { return r.persia() / r.micros() }

// verdict compares a share or a ratio with its target; 0 is no target.
func verdict(reached, target float64) string {
	switch {
	case target == 0:
		return ""
	case reached >= target:
		return fmt.Sprintf("ok (≥ %s)", shortNumber(target))
	}
	return "short of " + shortNumber(target)
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

// shortNumber returns a number without trailing zeros.
func shortNumber(v float64) string { return fmt.Sprintf("%g", v) }
