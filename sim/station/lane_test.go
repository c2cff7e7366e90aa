package station

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/unit"
)

// arrival is a piece of work for a lane.
type arrival struct{ at, takes unit.Tick }

// runLane drives a lane and returns the starts of the pieces, in the order of their arrival, and the order in
// which the pieces leave with its instants.
func runLane(l *Lane, work []arrival) (starts []unit.Tick, left []string) {
	starts = make([]unit.Tick, len(work))
	ends := map[int32]unit.Tick{}
	begin := func(now unit.Tick, tag int32) {
		starts[tag] = now
		ends[tag] = now + work[tag].takes
	}
	for next := 0; next < len(work) || len(ends) > 0; {
		at, tag := unit.Forever, int32(-1)
		for k, end := range ends {
			if end < at || end == at && k < tag {
				at, tag = end, k
			}
		}
		if next < len(work) && work[next].at < at { // ends first
			if l.Push(work[next].at, int32(next)) {
				begin(work[next].at, int32(next))
			}
			next++
			continue
		}
		delete(ends, tag)
		l.End(at, tag)
		for k, ok := l.Next(at); ok; k, ok = l.Next(at) {
			begin(at, k)
		}
		for k, ok := l.Leave(); ok; k, ok = l.Leave() {
			left = append(left, fmt.Sprintf("%d@%d", k, at))
		}
	}
	return starts, left
}

// Three pieces arrive at 0, of 10, 2 and 3 ns.
func TestLaneServesInOrderOfArrival(t *testing.T) {
	work := []arrival{{0, 10}, {0, 2}, {0, 3}}
	for _, test := range []struct {
		servers int
		starts  []unit.Tick
		left    []string
		waited  unit.Tick
	}{
		{1, []unit.Tick{0, 10, 12}, []string{"0@10", "1@12", "2@15"}, 10 + 12},
		// The second server takes the second piece and then the third; both wait for the first to leave.
		{2, []unit.Tick{0, 0, 2}, []string{"0@10", "1@10", "2@10"}, 2},
		{3, []unit.Tick{0, 0, 0}, []string{"0@10", "1@10", "2@10"}, 0},
	} {
		l := NewLane(test.servers)
		starts, left := runLane(l, work)
		if !slices.Equal(starts, test.starts) || !slices.Equal(left, test.left) {
			t.Errorf("%d servers: starts %v, left %v, want %v, %v", test.servers, starts, left, test.starts,
				test.left)
		}
		if s := l.Stats(20); s != (Stats{Busy: 15, Waited: test.waited, Served: 3}) {
			t.Errorf("%d servers: %+v, want 15 ns of work and %d ns of waiting", test.servers, s, test.waited)
		}
	}
}

// The starts of any work follow from its order alone: a piece starts when it has arrived and the server that
// is free first is free.
func TestLaneEqualsTheServerThatIsFreeFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		servers := rapid.IntRange(1, 4).Draw(t, "servers")
		var work []arrival
		at := unit.Tick(0)
		for range rapid.IntRange(0, 30).Draw(t, "pieces") {
			at += unit.Tick(rapid.IntRange(0, 5).Draw(t, "gap"))
			work = append(work, arrival{at, unit.Tick(rapid.IntRange(1, 20).Draw(t, "takes"))})
		}
		l := NewLane(servers)
		starts, left := runLane(l, work)
		free, leaves := make([]unit.Tick, servers), unit.Tick(0)
		var waited, busy unit.Tick
		for i, a := range work {
			k := 0
			for j := range free {
				if free[j] < free[k] {
					k = j
				}
			}
			want := max(a.at, free[k])
			free[k] = want + a.takes
			waited, busy, leaves = waited+want-a.at, busy+a.takes, max(leaves, free[k])
			if starts[i] != want {
				t.Fatalf("piece %d starts at %d, want %d", i, starts[i], want)
			}
			if got := fmt.Sprintf("%d@%d", i, leaves); left[i] != got {
				t.Fatalf("piece %d leaves as %s, want %s", i, left[i], got)
			}
		}
		if s := l.Stats(1000); s != (Stats{busy, waited, int64(len(work))}) {
			t.Fatalf("%+v, want %d ns of work and %d ns of waiting", s, busy, waited)
		}
	})
}

// A crash drops what waits and what has ended out of order; pieces in service end elsewhere.
func TestClearDropsWhatIsNotInService(t *testing.T) {
	l := NewLane(2)
	for tag := range int32(4) {
		l.Push(0, tag)
	}
	l.End(5, 1)
	l.Next(5)
	var dropped []int32
	l.Clear(6, func(tag int32) { dropped = append(dropped, tag) })
	if !slices.Equal(dropped, []int32{1, 3}) || l.Len() != 0 {
		t.Errorf("dropped %v, %d left", dropped, l.Len())
	}
	if !l.Push(7, 9) {
		t.Error("the lane is not idle afterwards")
	}
}
