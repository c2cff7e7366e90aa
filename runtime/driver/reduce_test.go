package driver

import (
	"context"
	"slices"
	"testing"

	"tandem/algo/exec/dense"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
)

func TestSmallBucketsAreReducedTogether(t *testing.T) {
	group := func(first, last int32) dense.Buckets { return dense.Buckets{First: first, Last: last} }
	for _, c := range []struct {
		sizes   []unit.Bytes
		most    unit.Bytes
		network int // buckets; the others are of hot rows
		want    []dense.Buckets
	}{
		{[]unit.Bytes{1, 2, 9}, 5, 2, []dense.Buckets{group(0, 2), group(0, 2), group(0, 2)}},
		{[]unit.Bytes{1, 9, 9}, 5, 2, []dense.Buckets{group(0, 0), group(1, 2), group(1, 2)}},
		{[]unit.Bytes{1, 2, 9}, 0, 2, []dense.Buckets{group(0, 0), group(1, 1), group(2, 2)}},
		{[]unit.Bytes{1, 2, 3}, 6, 3, []dense.Buckets{group(0, 2), group(0, 2), group(0, 2)}},
		{[]unit.Bytes{1, 2, 3}, 5, 3, []dense.Buckets{group(0, 1), group(0, 1), group(2, 2)}},
		{[]unit.Bytes{9, 1, 2, 9}, 5, 4, []dense.Buckets{group(0, 0), group(1, 2), group(1, 2), group(3, 3)}},
		{[]unit.Bytes{1, 2, 3}, 0, 3, []dense.Buckets{group(0, 0), group(1, 1), group(2, 2)}},
	} {
		if got := groupBuckets(c.sizes, c.most, c.network); !slices.Equal(got, c.want) {
			t.Errorf("%v of at most %d: %v, want %v", c.sizes, c.most, got, c.want)
		}
	}
}

// summing is a Remote that notes what is reduced.
type summing struct {
	adversary
	reduced []reduction
}

func (s *summing) Reduce(_ context.Context, step int32, b dense.Buckets) error {
	s.reduced = append(s.reduced, reduction{step, b, nil})
	return nil
}

// The small buckets of a step are one call of Remote.Reduce, after the last of them was fed; then every one
// is reported in order.
func TestBucketsOfAStepAreOneReduction(t *testing.T) {
	s := &summing{}
	rank := &instance{inbox: newQueue[delivery]()}
	r := &run{remote: s, cfg: &role.Config{Ranks: 2}, ranks: []*instance{rank},
		ready:    newQueue[reduction](),
		together: groupBuckets([]unit.Bytes{1, 2, TogetherMost}, TogetherMost, 3)}
	r.fed = role.NewReduction(1, len(r.together))
	for step := range int32(2) {
		for bucket := range int32(len(r.together)) {
			if err := r.feed(rank, role.Contribution{Step: step, Bucket: bucket}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 4 {
		b, _ := r.ready.pop()
		if err := r.reduceOne(b); err != nil {
			t.Fatal(err)
		}
	}
	want := []reduction{{0, dense.Buckets{Last: 1}, nil}, {0, dense.Buckets{First: 2, Last: 2}, nil},
		{1, dense.Buckets{Last: 1}, nil}, {1, dense.Buckets{First: 2, Last: 2}, nil}}
	if !slices.Equal(s.reduced, want) {
		t.Errorf("reduced %v, want %v", s.reduced, want)
	}
	for number := range int32(6) {
		d, _ := rank.inbox.pop()
		if d.input.Kind != role.BucketReduced || d.input.Bucket != number%3 || d.input.Work.Step != number/3 {
			t.Errorf("input %d is %+v, want bucket %d of step %d", number, d.input, number%3, number/3)
		}
	}
}
