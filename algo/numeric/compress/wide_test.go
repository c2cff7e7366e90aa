package compress

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// The processor's conversions of several values at a time equal Half and Float bit for bit, for every half,
// every length and any floats.
func TestWideConversionIsThatOfOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := anyFloats(t)
		scale := powerOfTwo(rapid.IntRange(scaleLeast, scaleMost).Draw(t, "scale"))
		got, want := make([]byte, 2*len(values)), []byte{}
		putHalves(got, values, scale)
		for _, x := range values {
			want = binary.LittleEndian.AppendUint16(want, Half(x*scale))
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("%v became %x, want %x", values, got, want)
		}
	})
	var all []byte
	for h := range 1 << 16 {
		all = binary.LittleEndian.AppendUint16(all, uint16(h))
	}
	values := make([]float32, 1<<16)
	getHalves(values, all, 0.5)
	for h, got := range values {
		if want := Float(uint16(h)) * 0.5; math.Float32bits(got) != math.Float32bits(want) {
			t.Fatalf("half %#x became %v, want %v", h, got, want)
		}
	}
}
