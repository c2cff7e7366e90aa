package unit_test

import (
	"encoding"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/unit"
)

func TestParse(t *testing.T) {
	// The parsers return values in the base unit of the quantity.
	parsers := map[string]func(string) (float64, error){
		"tick":  func(s string) (float64, error) { v, err := unit.ParseTick(s); return float64(v), err },
		"bytes": func(s string) (float64, error) { v, err := unit.ParseBytes(s); return float64(v), err },
		"bandwidth": func(s string) (float64, error) {
			v, err := unit.ParseBytesPerSec(s)
			return float64(v), err
		},
		"work": func(s string) (float64, error) { v, err := unit.ParseFLOPs(s); return float64(v), err },
		"rate": func(s string) (float64, error) {
			v, err := unit.ParseFLOPsPerSec(s)
			return float64(v), err
		},
	}
	for _, c := range []struct {
		quantity, text string
		want           float64
		wantError      string // part of the error, "" for none
	}{
		{"tick", "936ns", 936, ""},
		{"tick", "1.5ms", 1.5e6, ""},
		{"tick", "2h", 7200e9, ""},
		{"tick", "3m", 180e9, ""},
		{"tick", "-4us", -4000, ""},
		{"tick", "2e3 ns", 2000, ""},
		{"tick", "0", 0, ""},
		{"tick", "forever", math.MaxInt64, ""},
		{"tick", "1.1ms", 1100000, ""}, // 1.1·1e6 is not whole in float64: rounded
		{"tick", "12", 0, "add one of ns, us"},
		{"tick", "12parsec", 0, `unknown unit "parsec": use one of ns, us`},
		{"tick", "300000000h", 0, "out of range"},
		{"tick", "1e30ns", 0, "out of range"},
		{"tick", "ms", 0, "is not a duration"},
		{"tick", "", 0, "is not a duration"},
		{"bytes", "12TB", 12e12, ""},
		{"bytes", "480GiB", 480 * (1 << 30), ""},
		{"bytes", "64KiB", 65536, ""},
		{"bytes", "1.5KiB", 1536, ""},
		{"bytes", "12Tb", 0, `unknown unit "Tb"`},
		{"bandwidth", "25Gbps", 25e9 / 8, ""},
		{"bandwidth", "900GB/s", 900e9, ""},
		{"bandwidth", "0", 0, ""},
		{"bandwidth", "25", 0, "Gbps"},
		{"work", "77MFLOP", 77e6, ""},
		{"work", "2EFLOP", 2e18, ""},
		{"rate", "15.7TFLOP/s", 15.7e12, ""},
		{"rate", "inf", 0, "is not a rate of work"},
	} {
		got, err := parsers[c.quantity](c.text)
		switch {
		case c.wantError == "" && (err != nil || got != c.want):
			t.Errorf("%s %q = %v, %v, want %v", c.quantity, c.text, got, err, c.want)
		case c.wantError != "" && (err == nil || !strings.Contains(err.Error(), c.wantError)):
			t.Errorf("%s %q: error %v, want one with %q", c.quantity, c.text, err, c.wantError)
		}
	}
}

func TestString(t *testing.T) {
	for _, c := range []struct {
		value fmt.Stringer
		want  string
	}{
		{unit.Tick(0), "0ns"},
		{unit.Tick(936), "936ns"},
		{unit.Tick(1_500_000), "1.5ms"},
		{100 * unit.Minute, "100min"},
		{unit.Tick(1_234_567_891), "1.235s"},
		{unit.Forever, "forever"},
		{unit.Bytes(65536), "64KiB"},
		{unit.Bytes(12e12), "12TB"},
		{unit.Bytes(123_456_789_012), "123.5GB"},
		{unit.BytesPerSec(25e9 / 8), "25Gbps"},
		{unit.BytesPerSec(1.935e12), "1935GB/s"}, // shorter than 1.935TB/s
		{unit.FLOPs(77e6), "77MFLOP"},
		{unit.FLOPsPerSec(15.7e12), "15.7TFLOP/s"},
		{unit.FLOPsPerSec(math.Pi * 1e12), "3.142TFLOP/s"},
	} {
		if got := c.value.String(); got != c.want {
			t.Errorf("%T: String() = %q, want %q", c.value, got, c.want)
		}
	}
}

// whole draws whole numbers of every magnitude.
func whole(t *rapid.T) int64 {
	return rapid.Int64().Draw(t, "value") >> rapid.IntRange(0, 63).Draw(t, "shift")
}

// real draws finite values of the magnitudes that jobs contain.
func real(t *rapid.T) float64 { return rapid.Float64Range(-1e20, 1e20).Draw(t, "value") }

func TestMarshalTextIsLossless(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lossless(t, unit.Tick(whole(t)), new(unit.Tick))
		lossless(t, unit.Bytes(whole(t)), new(unit.Bytes))
		lossless(t, unit.BytesPerSec(real(t)), new(unit.BytesPerSec))
		lossless(t, unit.FLOPs(real(t)), new(unit.FLOPs))
		lossless(t, unit.FLOPsPerSec(real(t)), new(unit.FLOPsPerSec))
	})
}

func lossless[T interface {
	comparable
	encoding.TextMarshaler
}, P interface {
	*T
	encoding.TextUnmarshaler
}](t *rapid.T, value T, back P) {
	text, err := value.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	if err := back.UnmarshalText(text); err != nil || *back != value {
		t.Fatalf("%T %v is written as %q, which reads back as %v, %v", value, value, text, *back, err)
	}
}

func TestStringReadsBackToFourDigits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := whole(t)
		back, err := unit.ParseBytes(unit.Bytes(value).String())
		// Half a unit of the fourth digit is 5e-4 of the smallest leading digit.
		limit := 5e-4*math.Abs(float64(value)) + 0.5
		if err != nil || math.Abs(float64(back)-float64(value)) > limit {
			if math.Abs(float64(value)) < 9.2e18 { // rounding up may leave int64
				t.Fatalf("%d is written as %q, which reads back as %d, %v",
					value, unit.Bytes(value), back, err)
			}
		}
		rate := real(t)
		backRate, err := unit.ParseFLOPsPerSec(unit.FLOPsPerSec(rate).String())
		if err != nil || math.Abs(float64(backRate)-rate) > 5e-4*math.Abs(rate) {
			t.Fatalf("%g is written as %q, which reads back as %g, %v",
				rate, unit.FLOPsPerSec(rate), float64(backRate), err)
		}
	})
}
