package parquet

import (
	"math"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// A value is the number that it is, and a text as a table would have it: of booleans 1 or 0, of integers all
// digits, of decimals their digits with a point.
func TestNumbersAndTextsOfValues(t *testing.T) {
	for _, c := range []struct {
		value   parquet.Value
		column  column
		number  float64
		text    string
		noReals bool
	}{
		{parquet.BooleanValue(true), column{}, 1, "1", false},
		{parquet.BooleanValue(false), column{}, 0, "0", false},
		{parquet.Int32Value(-7), column{}, -7, "-7", false},
		{parquet.Int32Value(-1), column{unsigned: true}, math.MaxUint32, "4294967295", false},
		{parquet.Int64Value(-1 << 53), column{}, -1 << 53, "-9007199254740992", false},
		{parquet.Int64Value(math.MinInt64), column{}, -1 << 63, "-9223372036854775808", false},
		{parquet.Int64Value(-1), column{unsigned: true}, 1 << 64, "18446744073709551615", false},
		{parquet.Int64Value(1), column{unsigned: true}, 1, "1", false},
		{parquet.FloatValue(0.5), column{}, 0.5, "0.5", false},
		{parquet.DoubleValue(-1e21), column{}, -1e21, "-1000000000000000000000", false},
		{parquet.Int32Value(-1234), column{decimal: true, scale: 2}, -12.34, "-12.34", false},
		{parquet.Int64Value(1 << 40), column{decimal: true}, 1 << 40, "1099511627776", false},
		{parquet.ByteArrayValue([]byte{0xff, 0x01}), column{decimal: true, scale: 1}, -25.5, "-25.5", false},
		{parquet.FixedLenByteArrayValue([]byte{1, 2, 3}), column{decimal: true}, 66051, "66051", false},
		{parquet.ByteArrayValue([]byte("a b")), column{}, 0, "a b", true},
		{parquet.FixedLenByteArrayValue([]byte("xyz")), column{}, 0, "xyz", true},
		{parquet.NullValue(), column{}, 0, "", true},
	} {
		if got := c.column.real(&c.value); !c.noReals && got != c.number {
			t.Errorf("%v: %v, want %v", c.value, got, c.number)
		}
		if got := string(c.column.appendText([]byte("|"), &c.value)); got != "|"+c.text {
			t.Errorf("%v: %q, want %q", c.value, got, c.text)
		}
	}
	empty := parquet.ByteArrayValue([]byte{})
	if got := (&column{decimal: true}).real(&empty); !math.IsNaN(got) {
		t.Errorf("a decimal without bytes is %v", got)
	}
}

// A missing number, a null or a NaN, has the value of its column if that has one; numbers are finite ones of
// 32 bits, and weights not negative.
func TestWhichNumbersAreBad(t *testing.T) {
	seven := 7.0
	nan, none := parquet.DoubleValue(math.NaN()), parquet.NullValue()
	for _, c := range []struct {
		value  parquet.Value
		column column
		want   float32
		bad    bool
	}{
		{none, column{use: numeric, empty: &seven}, 7, false},
		{none, column{use: numeric}, 0, true},
		{none, column{use: weight, empty: &seven}, 0, true},
		{nan, column{use: numeric}, 0, true},
		{nan, column{use: numeric, isMissingNaN: true}, float32(math.NaN()), false},
		{nan, column{use: weight, isMissingNaN: true}, 0, true},
		{parquet.DoubleValue(math.MaxFloat32), column{use: numeric}, math.MaxFloat32, false},
		{parquet.DoubleValue(-math.MaxFloat32), column{use: numeric}, -math.MaxFloat32, false},
		{parquet.DoubleValue(4e38), column{use: numeric}, 0, true},
		{parquet.DoubleValue(math.Inf(-1)), column{use: numeric}, 0, true},
		{parquet.DoubleValue(-2), column{use: numeric}, -2, false},
		{parquet.DoubleValue(-2), column{use: weight}, 0, true},
		{parquet.DoubleValue(-2), column{use: impressions}, 0, true},
		{parquet.DoubleValue(2), column{use: weight}, 2, false},
		{parquet.DoubleValue(2), column{use: impressions}, 2, false},
	} {
		got, reason := c.column.number(&piece{}, &c.value)
		same := got == c.want || got != got && c.want != c.want
		if c.bad != (reason != "") || !c.bad && !same {
			t.Errorf("%v as use %v: %v, reason %q; want %v", c.value, c.column.use, got, reason, c.want)
		}
	}
}
