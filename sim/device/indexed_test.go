package device

import (
	"math"
	"testing"
)

// The bytes are counted by hand, of a million rows of 512 B that are named once each in a hundred thousand
// bags. Accesses of 32 B take twice as long a byte as long rows; a million numbers of 4 B are in 125,000
// sectors, of which the cache of 1 MB has a quarter.
func TestBytesOfIndexedRows(t *testing.T) {
	x := Indexed{Lookups: 1e6, Distinct: 1e6, New: 1e5, Outputs: 1e5, Groups: 3, Partial: 1e6, Dim: 128,
		Probes: 1}
	stateful, probed := x, x
	stateful.State, probed.Probes = 1, 3
	a := embeddingAccelerator()
	const (
		found, noted, rows = 64e6, 8e6 + 64e6, 512e6
		noticed            = 64 * (1.25e5 + 8.75e5*(0.75+0.25/2.4))
		added              = 8e6 + noticed + found + rows
	)
	gradients := 512 * (1e5 + 9e5*(1-1/51.2+1/51.2/2.4))
	for _, c := range []struct {
		name     string
		kernels  []Kernel
		launches int
		bytes    float64
	}{
		{"pool and note", a.Pool(x, true), 3, 8e6 + 1e5*516 + found + rows + noted},
		{"pool", a.Pool(x, false), 3, 8e6 + 1e5*516 + found + rows},
		{"pool after three probes", a.Pool(probed, false), 3, 8e6 + 1e5*516 + 2*found + rows},
		{"note", a.Note(x), 3, 8e6 + 4e5 + found + noted},
		{"number", a.Number(x), 3, 2*(4e6+found) + 8e6 + 1e5*(512+12)},
		{"number with state", a.Number(stateful), 3, 2*(4e6+found) + 8e6 + 1e5*(512+4+12)},
		{"sort", a.Sort(1e6, 2), 6, 2 * (4e6 + 16e6)},
		{"sum", a.Sum(x), 1, 8e6 + noticed + gradients + 1e6*516},
		{"send", a.Send(x), 1, added + rows},
		{"update", a.Update(x), 1, added + rows + 2*rows + 2*64e6},
		{"update with state", a.Update(stateful), 1, added + rows + 2*(rows+32e6) + 2*64e6},
		{"deal", a.Deal(x), 5, 16e6 + 20e6 + 12e6 + 64e6 + 2*found},
		{"answer", a.Answer(x), 1, 1e6*520 + found + noted + rows},
		{"clear", a.ClearIndex(1e6), 1, 16e6},
	} {
		bytes := 0.0
		for _, k := range c.kernels {
			bytes += float64(k.Bytes)
		}
		if math.Abs(bytes-c.bytes) > 1e-9*c.bytes+3 || Launches(c.kernels...) != c.launches {
			t.Errorf("%s: %.9g B in %d launches, want %.9g in %d", c.name, bytes, Launches(c.kernels...),
				c.bytes, c.launches)
		}
	}
}

// A pass of a sort compares each of a million keys with 256 digits: 2 operations to count and 6 to move it,
// each for as long as 2 FLOPs, at 1 TFLOP/s. Bytes take less.
func TestSortsCompareKeysWithDigits(t *testing.T) {
	a := embeddingAccelerator()
	if got, want := a.TimeOf(a.Sort(1e6, 3)...).Seconds(), 3*256e6*16/1e12; math.Abs(got-want) > 1e-8 {
		t.Errorf("%v s, want %v", got, want)
	}
}
