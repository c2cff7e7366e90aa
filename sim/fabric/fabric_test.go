package fabric

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tandem/algo/unit"
)

// run drives a fabric until no flow is left that finishes, and returns "tag@instant" in the order of
// finishes.
func run(f *Fabric, now unit.Tick) (log []string) {
	f.Settle(now)
	for {
		at, ok := f.NextFinish()
		if !ok {
			return log
		}
		for _, d := range f.Finished(at, nil) {
			log = append(log, fmt.Sprintf("%d@%d", d.Tag, at))
		}
		f.Settle(at)
	}
}

// A: 1000 B/s. Two flows of 1000 and 3000 bytes share it: 500 B/s each until the first is done at 2 s; the
// second, with 2000 bytes left, then takes 2 s more.
func TestFinishTimes(t *testing.T) {
	f := New([]Link{{"A", 1000}})
	f.Start(0, Flow{Path: []Hop{{0, 1}}, Bytes: 1000, Tag: 1})
	f.Start(0, Flow{Path: []Hop{{0, 1}}, Bytes: 3000, Tag: 2})
	got, want := run(f, 0), []string{"1@2000000000", "2@4000000000"}
	if !slices.Equal(got, want) {
		t.Errorf("finished %v, want %v", got, want)
	}
	if got := f.Carried(4*unit.Second, 0); got != 4000 {
		t.Errorf("carried %v bytes, want 4000", got)
	}
	if f.Flows() != 0 {
		t.Errorf("%d flows left", f.Flows())
	}
}

// The same two flows and half a second without any: the link is busy for 4 s, and there is demand for a
// second one in the 2 s in which the flows share it.
func TestUseCountsDemandBeyondTheCapacity(t *testing.T) {
	f := New([]Link{{"A", 1000}})
	f.Start(0, Flow{Path: []Hop{{0, 1}}, Bytes: 1000, Tag: 1})
	f.Start(0, Flow{Path: []Hop{{0, 1}}, Bytes: 3000, Tag: 2})
	if got, want := f.Use(unit.Second, 0), (Use{Busy: 0, Excess: unit.Second}); got != want {
		t.Errorf("before the rates are settled: %+v, want %+v", got, want)
	}
	run(f, 0)
	if got, want := f.Use(4500*unit.Millisecond, 0), (Use{4 * unit.Second, 2 * unit.Second, 2}); got != want {
		t.Errorf("use %+v, want %+v", got, want)
	}
}

// 100 KB over 12.5 GB/s are 8,000 ns exactly; 1 byte over 3 B/s, 333,333,333.3 ns, is late by the rest of a
// nanosecond, never early.
func TestFinishIsRoundedUpToANanosecond(t *testing.T) {
	f := New([]Link{{"A", 12.5e9}, {"B", 3}})
	f.Start(0, Flow{Path: []Hop{{0, 1}}, Bytes: 100_000, Tag: 1})
	f.Start(0, Flow{Path: []Hop{{1, 1}}, Bytes: 1, Tag: 2})
	got, want := run(f, 0), []string{"1@8000", "2@333333334"}
	if !slices.Equal(got, want) {
		t.Errorf("finished %v, want %v", got, want)
	}
}

// Flows that end at one instant are returned in the order of their starts, and a flow of 0 bytes ends when it
// starts.
func TestFinishedOrder(t *testing.T) {
	f := New([]Link{{"A", 1000}})
	for tag := range int64(5) {
		f.Start(7, Flow{Path: []Hop{{0, 1}}, Bytes: 200, Tag: tag})
	}
	f.Start(7, Flow{Path: []Hop{{0, 1}}, Tag: 10})
	f.Start(7, Flow{Bytes: 1, Tag: 11})
	got := run(f, 7)
	want := []string{
		"10@7", "11@7", "0@1000000007", "1@1000000007", "2@1000000007", "3@1000000007", "4@1000000007",
	}
	if !slices.Equal(got, want) {
		t.Errorf("finished %v, want %v", got, want)
	}
}

// A: 1000 B/s, one flow of 1000 bytes. Down from 0.5 s to 2 s, it finishes at 2.5 s; while it is down,
// NextFinish returns false.
func TestLinkDownAndUp(t *testing.T) {
	f := New([]Link{{"A", 1000}})
	id := f.Start(0, Flow{Path: []Hop{{0, 1}}, Bytes: 1000})
	f.Settle(0)
	f.SetCapacity(unit.Second/2, 0, 0)
	f.Settle(unit.Second / 2)
	if at, ok := f.NextFinish(); ok {
		t.Errorf("NextFinish = %d with the link down", at)
	}
	if got := f.Carried(unit.Second, 0); got != 500 || f.Rate(id) != 0 {
		t.Errorf("carried %v bytes at %v B/s, want 500 at 0", got, f.Rate(id))
	}
	f.SetCapacity(2*unit.Second, 0, 1000)
	if got, want := run(f, 2*unit.Second), []string{"0@2500000000"}; !slices.Equal(got, want) {
		t.Errorf("finished %v, want %v", got, want)
	}
}

// A: x+y ≤ 10, B: x ≤ 6, C: y ≤ 6. At 5 each A binds; once A has 12 it is slack, which frees both although
// neither's own bound has changed.
func TestLinkThatBecomesSlackFreesItsFlows(t *testing.T) {
	f := New([]Link{{"A", 10}, {"B", 6}, {"C", 6}})
	x := f.Start(0, Flow{Path: []Hop{{0, 1}, {1, 1}}, Bytes: 1000})
	y := f.Start(0, Flow{Path: []Hop{{0, 1}, {2, 1}}, Bytes: 1000})
	for _, step := range []struct{ capacity, rate unit.BytesPerSec }{{10, 5}, {12, 6}, {8, 4}} {
		f.SetCapacity(0, 0, step.capacity)
		f.Settle(0)
		if f.Rate(x) != step.rate || f.Rate(y) != step.rate {
			t.Errorf("capacity %v: rates %v and %v, want %v",
				float64(step.capacity), float64(f.Rate(x)), float64(f.Rate(y)), float64(step.rate))
		}
	}
}

// The links of a fan-out's receivers are slack, so 64 senders are not connected: a start touches one flow.
func TestSlackLinksConnectNothing(t *testing.T) {
	const senders, receivers = 64, 120
	links := make([]Link, senders+1)
	for i := range links {
		links[i].Capacity = 12.5e9
	}
	f := New(links)
	for i := range senders {
		f.Start(0, Flow{Path: []Hop{{LinkID(i), receivers}, {senders, 1}}, Bytes: 1 << 20})
		f.Settle(0)
		if got := len(f.fill.flows); got != 1 {
			t.Fatalf("start %d touched %d flows, want 1", i, got)
		}
	}
}

// Hub: 1000 B/s, five leaves: 400. Five flows, one from each leaf, share the hub: a pool at 200 B/s. Two of
// them are cancelled: 333 B/s each. A third is cancelled: each of the last two is at its leaf's 400. A flow
// over leaf 1 alone then takes half of that leaf.
func TestFlowsOfOnePool(t *testing.T) {
	f := New([]Link{{"hub", 1000}, {"0", 400}, {"1", 400}, {"2", 400}, {"3", 400}, {"4", 400}})
	var ids []FlowID
	for i := range 5 {
		ids = append(ids, f.Start(0, Flow{Path: []Hop{{0, 1}, {LinkID(i + 1), 1}}, Bytes: 1000}))
	}
	f.Settle(0)
	steps := []struct {
		change func()
		want   unit.BytesPerSec
		pools  int
	}{
		{func() {}, 200, 1},
		{func() { f.Cancel(0, ids[4]); f.Cancel(0, ids[3]) }, 1000. / 3, 0}, // above the ceiling of 250
		{func() { f.Cancel(0, ids[2]) }, 400, 0},
		{func() { f.Start(0, Flow{Path: []Hop{{1, 1}}, Bytes: 1000}) }, 200, 0},
	}
	for i, step := range steps {
		step.change()
		f.Settle(0)
		if got := f.Rate(ids[0]); !close(float64(got), float64(step.want)) || f.pools != step.pools {
			t.Errorf("step %d: rate %v in %d pools, want %v in %d", i, got, f.pools, step.want, step.pools)
		}
	}
}

// A: x+4y+4z+s+t ≤ 10000, hub: s+t ≤ 1000. At 1000 and 500 the ceilings are 1250 and 625. Then x ends, and a
// flow of 10¹² transfers over the hub leaves s and t next to nothing: y and z are at 1250, their ceilings,
// and fill A as full as these would, to rounding. But A binds them, so y has it all when z ends.
func TestALinkThatIsFullToRoundingBinds(t *testing.T) {
	f := New([]Link{{"A", 10000}, {"hub", 1000}})
	var ids []FlowID
	start := func(path ...Hop) { ids = append(ids, f.Start(0, Flow{Path: path, Bytes: 1000})) }
	start(Hop{0, 1})
	start(Hop{0, 4})
	start(Hop{0, 4})
	start(Hop{0, 1}, Hop{1, 1})
	start(Hop{0, 1}, Hop{1, 1})
	steps := []struct {
		change func()
		want   unit.BytesPerSec
	}{
		{func() {}, 1000},
		{func() { f.Cancel(0, ids[0]); start(Hop{0, 1}, Hop{1, 1e12}) }, 1250},
		{func() { f.Cancel(0, ids[2]) }, 2500},
	}
	for i, step := range steps {
		step.change()
		f.Settle(0)
		if got := f.Rate(ids[1]); !close(float64(got), float64(step.want)) {
			t.Errorf("step %d: rate %v, want %v", i, got, step.want)
		}
	}
}

// Two links of 1000 B/s, four flows over one, then four over the other: two pools, whose flows end at one
// instant in the order of their starts.
func TestFinishedOrderOfTwoPools(t *testing.T) {
	f := New([]Link{{"left", 1000}, {"right", 1000}})
	var want []string
	for tag := range int64(8) {
		f.Start(0, Flow{Path: []Hop{{LinkID(tag / 4), 1}}, Bytes: 250, Tag: tag})
		want = append(want, fmt.Sprintf("%d@1000000000", tag))
	}
	f.Settle(0)
	if f.pools != 2 {
		t.Errorf("%d pools, want 2", f.pools)
	}
	if got := run(f, 0); !slices.Equal(got, want) {
		t.Errorf("finished %v, want %v", got, want)
	}
}

// Hub: 1000 B/s, leaves: 1000 each. Flows begin one by one, two over each leaf. In the end each has 250, and
// ceilings that have followed the rates down leave both leaves slack: 2 · 312 ≤ 1000.
func TestCeilingsFollowRatesDown(t *testing.T) {
	f := New([]Link{{"hub", 1000}, {"1", 1000}, {"2", 1000}})
	for _, leaf := range []LinkID{1, 1, 2, 2} {
		f.Start(0, Flow{Path: []Hop{{0, 1}, {leaf, 1}}, Bytes: 1000})
		f.Settle(0)
	}
	if f.pools != 1 {
		t.Errorf("%d pools, want that of the hub", f.pools)
	}
}

// To the solver, the 1,000 flows of a pool are one: a start touches that one and the new flow.
func TestAPoolIsOneFlowToTheSolver(t *testing.T) {
	links := make([]Link, 1001)
	for i := range links {
		links[i].Capacity = 1e9
	}
	f := New(links)
	for i := range 1000 {
		f.Start(0, Flow{Path: []Hop{{LinkID(i), 1}, {1000, 1}}, Bytes: 1 << 20})
	}
	f.Settle(0)
	f.Start(0, Flow{Path: []Hop{{7, 1}, {1000, 1}}, Bytes: 1 << 20})
	f.Settle(0)
	if got := len(f.fill.flows); got != 2 {
		t.Errorf("a start touched %d flows, want 2", got)
	}
}

func TestPanics(t *testing.T) {
	start := func(f *Fabric, now unit.Tick) { f.Start(now, Flow{Path: []Hop{{0, 1}}, Bytes: 8}) }
	tests := []struct {
		name string
		run  func(f *Fabric)
		want string
	}{
		{"unknown link", func(f *Fabric) { f.Start(0, Flow{Path: []Hop{{3, 1}}}) }, "link 3, want 0 to 0"},
		{"no multiplicity", func(f *Fabric) { f.Start(0, Flow{Path: []Hop{{0, 0}}}) }, "multiplicity 0 on"},
		{"negative bytes", func(f *Fabric) { f.Start(0, Flow{Bytes: -1}) }, "flow of -1 bytes"},
		{"negative limit", func(f *Fabric) { f.Start(0, Flow{Limit: -1}) }, "limit -1"},
		{"negative capacity", func(f *Fabric) { f.SetCapacity(0, 0, -1) }, `link "A" = -1`},
		{"back in time", func(f *Fabric) { f.Settle(9); f.Settle(8) }, "at 8 ns after a change at 9 ns"},
		{"not settled", func(f *Fabric) { start(f, 1); start(f, 2) }, "want Settle of the changes at 1 ns"},
		{
			"missed finish", func(f *Fabric) { start(f, 0); f.Settle(0); f.Finished(unit.Minute, nil) },
			"want at 1000000000 ns",
		},
		{
			"missed finish of a member of a pool", func(f *Fabric) {
				for tag := range int64(2 * poolLeast) {
					f.Start(0, Flow{Path: []Hop{{0, 1}}, Bytes: 8 + unit.Bytes(tag), Tag: 70 + tag})
				}
				f.Settle(0)
				f.Finished(unit.Minute, nil)
			}, "of tag 70",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			defer func() {
				if text := fmt.Sprint(recover()); !strings.Contains(text, test.want) {
					t.Errorf("panic %q does not say %q", text, test.want)
				}
			}()
			test.run(New([]Link{{"A", 8}}))
		})
	}
}
