package speed

import (
	"strconv"

	"tandem/experiments/internal/report"
)

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

// persiaNote says what the times of Persia's store are.
const persiaNote = "Persia's store was measured once, on another machine, so its ratio only shows that " +
	"ours has not become slower: Persia's code at commit ff754b8, called in process without RPC, one core " +
	"of an AMD Zen 4 at about 3 GHz, ids uniform, 8,192 rows a call. Its reads take a write lock and keep " +
	"the order of use."

// targetPersia is the least ratio of Tandem's rate to that of Persia's store.
const targetPersia = 1

// persia returns the microseconds a row that Persia's store takes for a lookup or an update; known is false
// for cases that were not measured with it.
func (c *testCase) persia() (micros float64, known bool) {
	if c.Rows == nil || c.Threads > 1 || c.Rows.Distribution != uniform {
		return 0, false
	}
	for _, t := range persiaTimes() {
		if t.rows == c.Rows.Total && t.dim == c.Rows.Dim {
			switch c.Kind {
			case kindLookup:
				return t.lookup, true
			case kindUpdate:
				return t.update, true
			}
		}
	}
	return 0, false
}

// micros returns Tandem's microseconds a row, the median over rounds.
func (r *result) micros() float64 { return report.Median(r.Tandem) / r.work() }

// persiaRatio returns the rate of Tandem ÷ that of Persia's store.
func (r *result) persiaRatio() float64 {
	theirs, _ := r.persia()
	return theirs / r.micros()
}

// besidePersia returns the columns of the comparison with Persia's store.
func besidePersia() []column {
	number := func(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) }
	return []column{
		{"Tandem", func(r *result) string { return number(r.micros()) }},
		{"Persia", func(r *result) string {
			theirs, _ := r.persia()
			return number(theirs)
		}},
		{"ratio", func(r *result) string { return threeDigits(r.persiaRatio()) }},
		{"verdict", func(r *result) string { return verdict(r.persiaRatio(), targetPersia) }},
	}
}
