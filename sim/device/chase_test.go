package device

import (
	"math"
	"testing"

	"tandem/algo/unit"
)

// A core with 100 ns to memory and 10 lines in flight takes a line every 10 ns. A row touches one place of
// an index that is half in the cache, and one of rows that are ten times as large and nearly all outside,
// with half a line more in the mean.
func TestRowTimeByHand(t *testing.T) {
	h := &Host{MemoryLatency: 100, CacheLatency: 10, TLBEntries: 1 << 22, LinesInFlight: 10, WalksInFlight: 5,
		NextLine: 0.4}
	huge := Region{Bytes: 1 << 32, Touches: 1} // without a cache, all lines miss
	for _, test := range []struct {
		name    string
		cache   unit.Bytes
		regions []Region
		want    float64 // ns
	}{
		{"one place", 0, []Region{huge}, 10},
		{"two places", 0, []Region{huge, huge}, 20},
		{"half a line more", 0, []Region{{Bytes: 1 << 32, Touches: 1, Next: 0.5}}, 12},
		{"written back", 0, []Region{{Bytes: 1 << 32, Touches: 1, Next: 0.5, Write: true}}, 24},
		// A tenth of a line that was not asked for in advance costs a tenth of the whole latency.
		{"a line behind", 0, []Region{{Bytes: 1 << 32, Touches: 1, Behind: 0.1}}, 20},
		{"twice the cache", 1 << 20, []Region{{Bytes: 2 << 20, Touches: 1}}, 5},
		{"in the cache", 1 << 20, []Region{{Bytes: 1 << 20, Touches: 1}}, 0},
		// Two regions of the cache's size each, at equal rates, are one of twice its size.
		{"two regions", 1 << 20, []Region{{Bytes: 1 << 20, Touches: 1}, {Bytes: 1 << 20, Touches: 1}}, 10},
	} {
		h.CacheTogether = test.cache
		if got := h.RowTime(test.regions...) * 1e9; math.Abs(got-test.want) > 1e-6*test.want+1e-9 {
			t.Errorf("%s: %.6g ns, want %v", test.name, got, test.want)
		}
	}
	// Without a TLB and a cache, a place of 32 PiB costs a line, in 10 ns, and a walk of 4.75 entries of 100
	// ns (TestAccessInTheLimits), of which 5 go on at a time: the walks are slower.
	h.TLBEntries, h.CacheTogether = 1, 0
	if got := h.RowTime(Region{Bytes: 32 << 50, Touches: 1}) * 1e9; math.Abs(got-95) > 0.01 {
		t.Errorf("walks: %.6g ns, want 95", got)
	}
}

// One region in two parts costs what it costs as a whole, where cache, TLB and page tables are far too small.
func TestRegionsAddUp(t *testing.T) {
	h := &Host{MemoryLatency: 100, CacheLatency: 10, CacheTogether: 8 << 20, TLBEntries: 4096, Virtual: true,
		LinesInFlight: 12, WalksInFlight: 12}
	whole := h.RowTime(Region{Bytes: 8 << 30, Touches: 2})
	parts := h.RowTime(Region{Bytes: 4 << 30, Touches: 1}, Region{Bytes: 4 << 30, Touches: 1})
	if math.Abs(parts/whole-1) > 0.01 {
		t.Errorf("%.4g ns in parts, %.4g as a whole", parts*1e9, whole*1e9)
	}
}

// Regions share the TLB and the entries that a core keeps in proportion to their touches. So one region in
// equal parts costs what it costs as a whole, also where both cover a part of it, and two touches cost twice
// as much as one.
func TestRegionsShareTheTLB(t *testing.T) {
	h := &Host{MemoryLatency: 100, CacheLatency: 10, CacheTogether: 1 << 20, TLBEntries: 4096,
		LinesInFlight: 12, WalksInFlight: 1}
	for _, virtual := range []bool{false, true} {
		h.Virtual = virtual
		whole := h.RowTime(Region{Bytes: 32 << 20, Touches: 2}) // the TLB covers 16 MiB
		half := Region{Bytes: 16 << 20, Touches: 1}
		if parts := h.RowTime(half, half); math.Abs(parts/whole-1) > 1e-6 {
			t.Errorf("virtual %t: %.6g ns in parts, %.6g as a whole", virtual, parts*1e9, whole*1e9)
		}
		once := h.RowTime(Region{Bytes: 32 << 20, Touches: 1})
		if math.Abs(whole/(2*once)-1) > 1e-6 {
			t.Errorf("virtual %t: %.6g ns for a touch, %.6g for two", virtual, once*1e9, whole*1e9)
		}
	}
}

// The hypervisor's small pages take the guest's huge ones out of the TLB.
func TestHypervisorSplintersHugePages(t *testing.T) {
	h := &Host{MemoryLatency: 100, CacheLatency: 10, Cache: 1 << 20, TLBEntries: 4096, HugePageShare: 1}
	const table = 4 << 30 // half of the reach of 4,096 huge pages
	bare := h.Access(table)
	h.Virtual, h.HypervisorHugePageShare = true, 1
	huge := h.Access(table)
	h.HypervisorHugePageShare = 0
	small := h.Access(table)
	if bare != huge || small.Time < bare.Time*1.5 {
		t.Errorf("bare %+v, hypervisor with huge pages %+v, with small ones %+v", bare, huge, small)
	}
}

// FitMemory finds the host whose chases it is given, and predicts a table four times as large as the largest.
func TestFitFindsTheHost(t *testing.T) {
	for _, want := range []Host{
		{MemoryLatency: 140, Cache: 8 << 20, CacheLatency: 14, TLBEntries: 4096, Virtual: true,
			LinesInFlight: 12,
			WalksInFlight: 9},
		{MemoryLatency: 90, Cache: 30 << 20, CacheLatency: 22, TLBEntries: 1536, Virtual: true,
			HypervisorHugePageShare: 1, LinesInFlight: 16, WalksInFlight: 4},
		{MemoryLatency: 110, Cache: 16 << 20, CacheLatency: 20, TLBEntries: 2048, LinesInFlight: 10,
			WalksInFlight: 2},
	} {
		var chases []Chase
		for _, share := range []float64{0, 1} {
			for size := unit.Bytes(16 << 20); size <= 4<<30; size *= 2 {
				want.HugePageShare, want.CacheTogether = share, want.Cache
				chases = append(chases, Chase{size, share, want.Access(size).Time,
					want.RowTime(Region{Bytes: size, Touches: 1})})
			}
		}
		got, err := FitMemory(Host{TLBEntries: want.TLBEntries, Virtual: want.Virtual}, chases)
		if err != nil {
			t.Fatal(err)
		}
		got.HugePageShare = want.HugePageShare
		const table = 16 << 30
		row := Region{Bytes: table, Touches: 1}
		alone := got.Access(table).Time / want.Access(table).Time
		together := got.RowTime(row) / want.RowTime(row)
		if math.Abs(alone-1) > 0.02 || math.Abs(together-1) > 0.03 ||
			got.HypervisorHugePageShare != want.HypervisorHugePageShare {
			t.Errorf("%+v: chases of %+v, %.3f and %.3f of its times", got, want, alone, together)
		}
	}
}

// Measurements that contradict every memory are an error.
func TestFitRefuses(t *testing.T) {
	falling := []Chase{{1 << 24, 0, 4e-7, 1e-8}, {1 << 26, 0, 3e-8, 1e-8}, {1 << 28, 0, 2e-9, 1e-8},
		{1 << 30, 0, 1e-10, 1e-8}}
	if _, err := FitMemory(Host{TLBEntries: 1024}, falling); err != ErrChases {
		t.Errorf("falling times: error %v", err)
	}
	if _, err := FitMemory(Host{TLBEntries: 1024}, falling[:3]); err != ErrChases {
		t.Errorf("three chases: error %v", err)
	}
}
