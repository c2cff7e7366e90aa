package datasets

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/datasets/internal/decode"
)

// byTime is the separator of the slot that is read for job.SplitTime, which no job file can have: the slot
// has a single id, which orders rows as the values of the column do.
const byTime = "\x00time"

// withTime returns a table with the slot of a column to order rows by, as the last one.
func withTime(t *job.Table, column string) *job.Table {
	more := *t
	more.Slots = append(slices.Clone(t.Slots), job.IDColumn{Column: column, Separator: byTime})
	return &more
}

// timeLayouts are the forms of times, without and with a zone. A time without one is taken for UTC. Forms
// such as 02/01/2026 are not among them, because they may begin with the day or the month.
var timeLayouts = []string{time.DateOnly, "2006-01-02 15:04", time.DateTime, "2006-01-02 15:04:05Z07:00",
	"2006-01-02T15:04", "2006-01-02T15:04:05", time.RFC3339, "2006/01/02", "2006/01/02 15:04",
	"2006/01/02 15:04:05", "02.01.2006", "02.01.2006 15:04", "02.01.2006 15:04:05"}

// IsTime reports whether a field is a time by which rows can be split, and no number.
func IsTime(field string) bool {
	key, reason := timeKey(field)
	return reason == "" && key&timeFlag != 0
}

// timeFlag is set in the keys of times, and not in those of numbers.
const timeFlag = 1 << 63

// timeKey returns a number that orders rows as a field does, which is a number or a time of the years 1970 to
// 2261.
func timeKey(field string) (key uint64, reason string) {
	field = strings.TrimSpace(field)
	if number, bad := decode.ParseNumber(field); bad == "" {
		bits := math.Float64bits(number + 0) // −0 + 0 = +0
		if bits>>63 == 1 {
			bits = ^bits
		} else {
			bits |= 1 << 63
		}
		return bits >> 1, ""
	}
	for _, layout := range timeLayouts {
		at, err := time.Parse(layout, field)
		if err == nil && at.Year() >= 1970 && at.Year() <= 2261 {
			return timeFlag | uint64(at.UnixNano()), ""
		}
	}
	return 0, "neither a number nor a time such as 2026-11-23 14:05:00"
}

// splitByTime splits rows whose last slot is that of withTime: test rows are the latest ones. Rows of one
// time stay together, so the share of test rows is the nearest that there is. Both parts are in the order of
// time, without the slot.
func splitByTime(s job.Split, b *batch.Batch) (train, test *batch.Batch, err error) {
	last := len(b.Slots) - 1
	keys := b.Slots[last].IDs
	rows := make([]int32, b.Samples)
	for i := range rows {
		rows[i] = int32(i)
	}
	slices.SortStableFunc(rows, func(i, k int32) int { return cmp.Compare(keys[i], keys[k]) })
	first, final := keys[rows[0]], keys[rows[len(rows)-1]]
	if first&timeFlag != final&timeFlag {
		return nil, nil, fmt.Errorf("split.column: %q has numbers and times: give all rows one of them",
			s.Column)
	}
	if first == final {
		return nil, nil, fmt.Errorf("split.column: %q is the same in all rows: split by another column, "+
			"or at random", s.Column)
	}
	wanted := b.Samples - int(math.Round(s.TestShare()*float64(b.Samples)))
	at := keys[rows[min(max(wanted, 0), b.Samples-1)]]
	before := func(i int32, at uint64) int { return cmp.Compare(keys[i], at) }
	lo, _ := slices.BinarySearchFunc(rows, at, before)
	hi, _ := slices.BinarySearchFunc(rows, at+1, before)
	cut := lo
	if lo == 0 || hi < b.Samples && hi-wanted < wanted-lo {
		cut = hi
	}
	plain := *b
	plain.Slots = b.Slots[:last]
	gatherer := batch.NewGatherer(&plain)
	return gatherer.Rows(rows[:cut]), gatherer.Rows(rows[cut:]), nil
}
