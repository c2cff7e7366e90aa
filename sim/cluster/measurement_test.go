package cluster

import (
	"slices"
	"testing"

	"tandem/algo/protocol/event"
	"tandem/algo/protocol/role"
)

// A rank that is back has the steps of the parameters that it took over, also those that it did not make. A
// step ends when every rank has it, and no rank counts twice.
func TestARankThatIsBackHasTheStepsOfItsParameters(t *testing.T) {
	var ended []int
	w := &simulation{options: &Options{Progress: func(steps, _ int) { ended = append(ended, steps) }}}
	m := newMeasurement(span{warmUp: 100, windows: 1, window: 1}, &role.Config{Steps: 200, Ranks: 3})
	for i, c := range []struct {
		rank, step int32
		applied    []int32 // ranks that have steps 0 to 5
		ended      []int
	}{
		{0, 5, []int32{1, 1, 1, 1, 1, 0}, nil},
		{0, 5, []int32{1, 1, 1, 1, 1, 0}, nil}, // back once more, with what it had
		{2, 1, []int32{2, 1, 1, 1, 1, 0}, nil},
		{1, 0, []int32{2, 1, 1, 1, 1, 0}, nil}, // with the parameters of the beginning
		{1, 3, []int32{3, 2, 2, 1, 1, 0}, []int{1}},
		{2, 6, []int32{3, 3, 3, 2, 2, 1}, []int{1, 2, 3}},
	} {
		m.observe(w, event.Record{Kind: event.RankReturned, Rank: c.rank, Step: c.step})
		if !slices.Equal(m.applied[:6], c.applied) || !slices.Equal(ended, c.ended) ||
			m.ranks[c.rank].trained < c.step {
			t.Errorf("%d: ranks that have the steps %v, ended %v; want %v, %v", i, m.applied[:6], ended,
				c.applied, c.ended)
		}
	}
}
