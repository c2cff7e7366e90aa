package ages

import (
	"math"
	"slices"
	"strings"
	"testing"

	"tandem/experiments/internal/report"
)

// Arms keep the rows that their names say: expiry forgets rows, a count makes ids wait, a capacity holds, and
// what never takes effect changes nothing. Where nearly all rows go, AUC does, too.
func TestArmsForgetWhatTheySay(t *testing.T) {
	p := &plan{Seed: 1, Seeds: 2, Drift: 0.1, Days: 2, RowsPerDay: 3200, Batch: 64, Steps: 5,
		Arms: []arm{{}, {Expiry: 5}, {Expiry: 1000}, {Count: 3}, {Count: 1}, {Capacity: 0.5},
			{Lottery: 0.001}}}
	courses, err := p.measure(t.Context(), report.Options{Folder: t.TempDir(),
		Progress: func(int, int, string) {}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range courses {
		none, expiry, never, count, once, capacity, lottery := c.Arms[0], c.Arms[1], c.Arms[2], c.Arms[3],
			c.Arms[4], c.Arms[5], c.Arms[6]
		for _, same := range []outcome{never, once} {
			if same.AUC != none.AUC || same.Rows != none.Rows || same.Bytes != none.Bytes {
				t.Errorf("%s: %+v, and none %+v", same.Arm, same, none)
			}
		}
		if expiry.Gone == 0 || expiry.Rows >= none.Rows/2 || expiry.Bytes >= none.Bytes/2 {
			t.Errorf("expiry %+v of %+v", expiry, none)
		}
		if count.Gone > 0 || math.Abs(count.Candidates+count.Rows-none.Rows) > 1e-6 || count.Unlearned == 0 {
			t.Errorf("count %+v of %+v", count, none)
		}
		if capacity.Rows > none.Rows/2 || capacity.Gone == 0 {
			t.Errorf("capacity %+v of %+v", capacity, none)
		}
		if lottery.AUC >= none.AUC || lottery.Unlearned < 0.9 {
			t.Errorf("lottery %+v of %+v", lottery, none)
		}
	}
	r := p.draw(courses)
	if len(r.Comparisons) != 6 || len(r.Figures) != 1 || len(r.Figures[0].Lines) != 3 || // no lottery
		len(r.Tables[0].Rows) != 7 {
		t.Errorf("%d comparisons", len(r.Comparisons))
	}
}

// Ratings are in the order of their time, and those of one second in the order of the file; the last line has
// no end.
func TestRatingsAreByTime(t *testing.T) {
	got, err := byTime([]byte("1\t2\t3\t30\n4\t5\t1\t7\n6\t7\t2\t30\n8\t9\t5\t8"), 3)
	if want := "4\t5\t1\t7\n8\t9\t5\t8\n1\t2\t3\t30\n"; err != nil || string(got) != want {
		t.Errorf("lines %q, error %v", got, err)
	}
	if _, err := byTime([]byte("1\t2\t3\tyesterday\n"), 0); err == nil || !strings.Contains(err.Error(),
		"line 1 has no time") {
		t.Errorf("error %v", err)
	}
	if n := len(slices.Collect(strings.Lines(string(got)))); n != 3 {
		t.Errorf("%d lines", n)
	}
}
