package device

import (
	"testing"

	"tandem/algo/unit"
)

// testHost has 100 GB/s of memory, a random row every 10 ns, and cores that copy a byte in 1 ns.
func testHost() *Host {
	return &Host{Bandwidth: 100e9, RowsPerSec: 100e6, CopySpeed: 1e9}
}

func TestRowTraffic(t *testing.T) {
	tests := []struct {
		name string
		rows Rows
		want unit.Tick
	}{
		// 128 B in 1.28 ns: the row rate, 10 ns, is the tighter limit.
		{"short rows", Rows{Count: 1000, Bytes: 128}, 10_000},
		// 6400 B in 64 ns: the bandwidth is.
		{"long rows", Rows{Count: 1000, Bytes: 6400}, 64_000},
		// Read and written: 128 ns.
		{"update", Rows{Count: 1000, Bytes: 6400, Write: true}, 128_000},
		// 6401 B are 101 lines.
		{"a line more", Rows{Count: 1000, Bytes: 6401}, 64_640},
		{"none", Rows{Bytes: 128}, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := testHost().RowTraffic(test.rows); got != test.want {
				t.Errorf("RowTraffic = %v, want %v", got, test.want)
			}
		})
	}
}

// 1 MB: 1 ms of a core at 1 GB/s, 20 µs of a memory of 100 GB/s for two passes.
func TestCopyCost(t *testing.T) {
	want := HostCost{Core: unit.Millisecond, Memory: 20 * unit.Microsecond}
	if got := testHost().CopyCost(1e6); got != want {
		t.Errorf("CopyCost = %+v, want %+v", got, want)
	}
	if got := want.Add(HostCost{1, 2, 3}); got != (HostCost{1_000_001, 20_002, 3}) {
		t.Errorf("Add = %+v", got)
	}
}
