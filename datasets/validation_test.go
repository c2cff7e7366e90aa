package datasets

import (
	"slices"
	"strings"
	"testing"

	"tandem/algo/numeric/batch"
)

// thirds returns rows whose ids are their numbers; every third is positive.
func thirds(rows int) *Dataset {
	b := &batch.Batch{Samples: rows, Slots: []batch.Jagged{{Offsets: []int32{0}}}}
	for i := range rows {
		b.Slots[0].IDs = append(b.Slots[0].IDs, uint64(i))
		b.Slots[0].Offsets = append(b.Slots[0].Offsets, int32(i+1))
		b.Labels = append(b.Labels, float32(max(0, 1-i%3)))
	}
	return &Dataset{Schema: newSchema([]string{"id"}, nil, "y"), Train: b, Test: b}
}

// The rows held back and the others are training rows, each once: drawn ones, or the first ones with the
// latest of them held back. Drawn rows that are held back of some rows are never trained on of others.
func TestHoldBack(t *testing.T) {
	everything, err := thirds(100).HoldBack(0.3, false, 7, 100)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(everything.Test.Slots[0].IDs) + len(everything.Train.Slots[0].IDs); n != 100 {
		t.Fatalf("%d of 100 rows", n)
	}
	for _, latest := range []bool{false, true} {
		part, err := thirds(100).HoldBack(0.3, latest, 7, 60)
		if err != nil {
			t.Fatal(err)
		}
		held, rest := part.Test.Slots[0].IDs, part.Train.Slots[0].IDs
		if len(held) != 18 || len(rest) != 42 {
			t.Fatalf("%d rows held back, %d left", len(held), len(rest))
		}
		all := slices.Sorted(slices.Values(slices.Concat(held, rest)))
		if len(slices.Compact(all)) != 60 || (all[59] == 59) != latest {
			t.Fatalf("latest %t: rows %v", latest, all)
		}
		if !latest {
			for _, id := range rest {
				if slices.Contains(everything.Test.Slots[0].IDs, id) {
					t.Errorf("row %d is trained on, and held back of all rows", id)
				}
			}
		}
		if isLatest := slices.Min(held) > slices.Max(rest); isLatest != latest {
			t.Errorf("latest %t: held back %v", latest, held)
		}
	}
}

func TestHoldBackRefusesTooFewRows(t *testing.T) {
	set := thirds(100)
	for _, c := range []struct {
		share float64
		want  string
	}{{0.001, "leaves no rows"}, {0.999, "leaves no rows"}, {0.01, "one value of the label y"}} {
		_, err := set.HoldBack(c.share, false, 1, 100)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("share %v: %v, want %q", c.share, err, c.want)
		}
	}
}
