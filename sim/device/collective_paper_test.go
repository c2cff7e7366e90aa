package device

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/unit"
)

var gigabyte = Wire{Bandwidth: 1e9, Latency: 1000}

func TestOneRankCostsNothing(t *testing.T) {
	for name, cost := range map[string]unit.Tick{
		"ReduceScatter":         ReduceScatter(1, 1e9, gigabyte),
		"AllGather":             AllGather(1, 1e9, gigabyte),
		"AllReduce":             AllReduce(1, 1e9, gigabyte),
		"HierarchicalAllReduce": HierarchicalAllReduce(1, 1, 1e9, gigabyte, gigabyte),
	} {
		if cost != 0 {
			t.Errorf("%s = %d ns, want 0", name, cost)
		}
	}
}

// 4 ranks, 1 MB at 1 GB/s: 6 messages of 250 kB: 6·1000 + 6·250,000 ns.
func TestRingAllReduceTakesTwiceNMinusOneSteps(t *testing.T) {
	if got := AllReduce(4, 1e6, gigabyte); got != 1_506_000 {
		t.Errorf("AllReduce = %d ns, want 1506000", got)
	}
}

func TestAllReduceIsReduceScatterPlusAllGather(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 1000).Draw(t, "n")
		bytes := unit.Bytes(rapid.Int64Range(0, 1e12).Draw(t, "bytes"))
		sum := ReduceScatter(n, bytes, gigabyte) + AllGather(n, bytes, gigabyte)
		// Each of the three is rounded up to a nanosecond.
		if got := AllReduce(n, bytes, gigabyte); got > sum || got < sum-2 {
			t.Fatalf("AllReduce = %d ns, sum of its halves %d", got, sum)
		}
	})
}

// Without latency the cost is below 2·bytes/bandwidth for every n and nears it: at n = 1000 it lacks a
// thousandth.
func TestBandwidthTermNearsTwiceTheBytes(t *testing.T) {
	wire := Wire{Bandwidth: 1e9}
	last := unit.Tick(0)
	for n := 2; n <= 1000; n++ {
		got := AllReduce(n, 1e9, wire)
		if got <= last || got >= 2*unit.Second {
			t.Fatalf("n = %d: %d ns after %d, want growing and below 2 s", n, got, last)
		}
		last = got
	}
	if lack := 2 - last.Seconds(); math.Abs(lack-0.002) > 1e-9 {
		t.Errorf("lacks %v s at n = 1000, want 2/1000", lack)
	}
}

func TestLatencyTermGrowsLinearlyWithRanks(t *testing.T) {
	for n := 1; n < 100; n++ {
		if got := AllReduce(n, 0, gigabyte); got != unit.Tick(2*(n-1)*1000) {
			t.Errorf("n = %d: %d ns, want %d", n, got, 2*(n-1)*1000)
		}
	}
}

func TestHierarchyOfOneLevelIsAFlatRing(t *testing.T) {
	other := Wire{Bandwidth: 3, Latency: 77}
	want := AllReduce(8, 1e6, gigabyte)
	if got := HierarchicalAllReduce(8, 1, 1e6, other, gigabyte); got != want {
		t.Errorf("8 servers of 1 = %d ns, want %d", got, want)
	}
	// Rounded up twice inside, once in the flat ring.
	if got := HierarchicalAllReduce(1, 8, 1e6, gigabyte, other); got < want || got > want+1 {
		t.Errorf("1 server of 8 = %d ns, want %d", got, want)
	}
}

// Over a fast inside, the hierarchy of 8 servers of 8 sends 2·7/8 of the bytes through a card where the flat
// ring of 64 sends 2·63/64, in 14 steps across instead of 126.
func TestHierarchyBeatsFlatRingOverASlowNetwork(t *testing.T) {
	inside, across := Wire{Bandwidth: 150e9, Latency: 3400}, Wire{Bandwidth: 12.5e9, Latency: 30_000}
	for _, bytes := range []unit.Bytes{0, 1e3, 1e6, 1e8, 1e9} {
		flat, hierarchy := AllReduce(64, bytes, across), HierarchicalAllReduce(8, 8, bytes, inside, across)
		if hierarchy >= flat {
			t.Errorf("%d bytes: hierarchy %d ns, flat ring %d", bytes, hierarchy, flat)
		}
	}
}
