package speed

import (
	"fmt"
	"strconv"
	"strings"

	"tandem/experiments/internal/report"
	"tandem/internal/cli"
)

// comparison is Tandem beside a peer.
type comparison struct {
	name, figure string
	networks     string                    // what it does with networks
	has          func(c *testCase) bool    // whether the peer can do a case
	seconds      func(r *result) []float64 // per step, by round; nil if the peer did not run
	target       func(c *testCase) float64 // the least ratio of rates; 0: none
}

// comparisons returns the comparisons with peers.
func comparisons() []comparison {
	return []comparison{
		{"PyTorch", "ratios", "dense steps and trainings with Adagrad", (*testCase).hasPeer,
			func(r *result) []float64 { return r.PyTorch }, func(c *testCase) float64 { return c.Target }},
		{"FBGEMM", "fbgemm", "trainings with row-wise Adagrad", (*testCase).hasFBGEMM,
			func(r *result) []float64 { return r.FBGEMM }, (*testCase).targetFBGEMM},
	}
}

// ratio returns Tandem's rate ÷ the peer's rate, by round. What slows both sides of a round cancels.
func (c *comparison) ratio(r *result) spread { return ratio(c.seconds(r), r.Tandem) }

// column is a column of a table with a row per result.
type column struct {
	name string
	of   func(r *result) string
}

// tableOf returns a table of the results that belong there. The first columns name the case.
func tableOf(caption string, results []*result, belongs func(r *result) bool,
	naming, values []column) cli.Table {
	t := cli.Table{Caption: caption, Words: len(naming)}
	columns := append(naming[:len(naming):len(naming)], values...)
	for _, c := range columns {
		t.Header = append(t.Header, c.name)
	}
	for _, r := range results {
		if !belongs(r) {
			continue
		}
		var row []string
		for _, c := range columns {
			row = append(row, c.of(r))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// byNet names cases with a network.
func byNet() []column {
	return []column{{"case", func(r *result) string { return r.String() }}, batchColumn(), coresColumn()}
}

// byRows names cases with rows of one kind.
func byRows() []column {
	return []column{
		{"rows", func(r *result) string { return millions(r.Rows.Total) }},
		{"dim", func(r *result) string { return strconv.Itoa(r.Rows.Dim) }},
		{"ids", func(r *result) string { return strings.Fields(r.Rows.Distribution)[0] }},
	}
}

func batchColumn() column {
	return column{"batch", func(r *result) string { return strconv.Itoa(r.Batch) }}
}

func coresColumn() column {
	return column{"cores", func(r *result) string { return strconv.Itoa(r.Threads) }}
}

// rate returns a column of median rates, in the unit of a case.
func rate(name string, seconds func(r *result) []float64) column {
	return column{name, func(r *result) string {
		of := seconds(r)
		if of == nil {
			return "–"
		}
		return threeDigits(r.work() / report.Median(of))
	}}
}

// own is the rate of Tandem.
func own() column { return rate("Tandem", func(r *result) []float64 { return r.Tandem }) }

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

// beside returns the columns of a comparison.
func (c *comparison) beside() []column {
	return []column{
		own(), rate(c.name, c.seconds),
		{"ratio", func(r *result) string {
			if c.seconds(r) == nil {
				return "–"
			}
			return r.marked(threeDigits(c.ratio(r).Median))
		}},
		{"verdict", func(r *result) string {
			if c.seconds(r) == nil {
				return ""
			}
			return verdict(c.ratio(r).Median, c.target(&r.testCase))
		}},
	}
}

// marked returns a text with a mark if one side at a time held its rows.
func (r *result) marked(text string) string {
	if r.Alone {
		return text + "*"
	}
	return text
}

// tables returns the comparisons with PyTorch, with FBGEMM if there is any, and with limits. They fit in 80
// columns: ranges are in the figures, and all rounds in speed.json.
func (p *plan) tables(results []*result) []cli.Table {
	var tables []cli.Table
	add := func(caption string, belongs func(r *result) bool, naming, values []column) {
		if t := tableOf(caption, results, belongs, naming, values); len(t.Rows) > 0 {
			tables = append(tables, t)
		}
	}
	withBatch := append(byRows(), batchColumn(), coresColumn())
	for _, peer := range comparisons() {
		if peer.name == "FBGEMM" && p.FBGEMM == nil {
			continue
		}
		caption := fmt.Sprintf("Tandem and %s in turns, medians of %d rounds: ", peer.name, p.Rounds)
		add(caption+peer.networks+", thousand samples/s",
			func(r *result) bool { return r.Net != nil && peer.has(&r.testCase) }, byNet(), peer.beside())
		for _, rowWise := range []bool{false, true} {
			add(caption+"sparse steps with "+adagradName(rowWise)+", million rows/s", func(r *result) bool {
				return r.Kind == kindSparse && r.RowWise == rowWise && peer.has(&r.testCase)
			}, withBatch, peer.beside())
		}
	}
	limit := rate("limit", func(r *result) []float64 { return r.Limit })
	share := column{"share", func(r *result) string { return r.marked(percent(r.limitShare())) }}
	add("Dense steps and arithmetic in registers, in the same rounds: thousand samples/s",
		func(r *result) bool { return r.Kind == kindDense && r.Limit != nil }, byNet(),
		[]column{own(), limit, share})
	for _, kind := range []string{kindLookup, kindUpdate} {
		add(fmt.Sprintf("One %s a row and a bare loop, in the same rounds: million rows/s", kind),
			func(r *result) bool { return r.Kind == kind && r.Limit != nil }, append(byRows(), coresColumn()),
			[]column{own(), limit, share,
				{"verdict", func(r *result) string { return verdict(r.limitShare(), r.targetShare()) }}})
	}
	add("Tandem and Persia's own store on another machine, one core, uniform ids: microseconds a row",
		func(r *result) bool { _, known := r.persia(); return known },
		append([]column{{"step", func(r *result) string { return r.Kind }}}, byRows()[:2]...), besidePersia())
	add("Trainings and their own work, measured alone: thousand samples/s",
		func(r *result) bool { return r.Share != nil }, byNet(), []column{
			{"reached", func(r *result) string { return threeDigits(r.Share.SamplesPerSecond / 1e3) }},
			{"limit", func(r *result) string { return threeDigits(r.Share.Bound / 1e3) }},
			{"share", func(r *result) string { return percent(r.Share.Share()) }},
			{"verdict", func(r *result) string { return verdict(r.Share.Share(), targetShare) }},
		})
	add("Memory of a row beside embedding and state: bytes", (*result).judgesOverhead, byRows(), []column{
		{"bytes", func(r *result) string { return threeDigits(r.RowOverhead) }},
		{"verdict", func(r *result) string { return verdictMost(r.RowOverhead, targetOverhead) }},
	})
	return tables
}
