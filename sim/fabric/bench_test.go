package fabric

import (
	"testing"

	"tandem/algo/rng"
	"tandem/algo/unit"
)

// random returns a fabric with flows over three random links each.
func random(links, flows int) *Fabric {
	r := rng.New(1, "fabric benchmark")
	list := make([]Link, links)
	for i := range list {
		list[i].Capacity = unit.BytesPerSec(1e9 * (1 + r.Float64()))
	}
	f := New(list)
	for range flows {
		path := make([]Hop, 3)
		for i := range path {
			path[i] = Hop{LinkID(r.IntN(links)), 1}
		}
		f.Start(0, Flow{Path: path, Bytes: 1 << 40})
	}
	return f
}

// All rates of 8,192 flows on 3,072 links, without the finish times, which do not change.
func BenchmarkSolve8192FlowsOn3072Links(b *testing.B) {
	f := random(3072, 8192)
	f.Settle(0)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		for i := range f.flows {
			if f.flows[i].pool == nil {
				f.seedFlows = append(f.seedFlows, uint32(i))
			}
		}
		f.reach = 0
		f.Settle(0)
	}
}

// The same fabric whenever one flow ends and another starts.
func BenchmarkReplaceOneOf8192Flows(b *testing.B) {
	f := random(3072, 8192)
	f.Settle(0)
	path := []Hop{{1, 1}, {2, 1}, {3, 1}}
	id := f.Start(0, Flow{Path: path, Bytes: 1 << 40})
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		now := unit.Tick(i)
		f.Cancel(now, id)
		id = f.Start(now, Flow{Path: path, Bytes: 1 << 40})
		f.Settle(now)
	}
}

// One of 1,250 islands of 8 flows on 8 links: a flow ends and another starts.
func BenchmarkReplaceInSmallComponent(b *testing.B) {
	const islands, size = 1250, 8
	links := make([]Link, islands*size)
	for i := range links {
		links[i].Capacity = 150e9
	}
	f := New(links)
	path := func(island, i int) []Hop {
		return []Hop{{LinkID(island*size + i%size), 1}, {LinkID(island*size + (i+1)%size), 1}}
	}
	for island := range islands {
		for i := range size {
			f.Start(0, Flow{Path: path(island, i), Bytes: 1 << 40})
		}
	}
	f.Settle(0)
	extra := path(7, 3)
	id := f.Start(0, Flow{Path: extra, Bytes: 1 << 40})
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		now := unit.Tick(i)
		f.Cancel(now, id)
		id = f.Start(now, Flow{Path: extra, Bytes: 1 << 40})
		f.Settle(now)
	}
}

// A fan-out over slack links: the common event of a Persia run.
func BenchmarkReplaceFanOut(b *testing.B) {
	links := make([]Link, 65)
	for i := range links {
		links[i].Capacity = 12.5e9
	}
	f := New(links)
	path := func(i int) []Hop { return []Hop{{LinkID(i), 120}, {64, 1}} }
	for i := range 63 {
		f.Start(0, Flow{Path: path(i), Bytes: 1 << 40})
	}
	extra := path(63)
	id := f.Start(0, Flow{Path: extra, Bytes: 1 << 40})
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		now := unit.Tick(i)
		if i == 0 {
			f.Settle(now)
		}
		f.Cancel(now, id)
		id = f.Start(now, Flow{Path: extra, Bytes: 1 << 40})
		f.Settle(now)
	}
}

// One of 1,000 flows to a slow server ends and another starts: the flows are a pool.
func BenchmarkReplaceInPool(b *testing.B) {
	links := make([]Link, 1001)
	for i := range links {
		links[i].Capacity = 12.5e9
	}
	f := New(links)
	path := func(i int) []Hop { return []Hop{{LinkID(i), 1}, {1000, 1}} }
	for i := range 1000 {
		f.Start(0, Flow{Path: path(i), Bytes: 1 << 40})
	}
	f.Settle(0)
	id := f.Start(0, Flow{Path: path(7), Bytes: 1 << 40})
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		now := unit.Tick(i)
		f.Cancel(now, id)
		id = f.Start(now, Flow{Path: path(7), Bytes: 1 << 40})
		f.Settle(now)
	}
}
