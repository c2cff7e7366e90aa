package main

import "testing"

// All sizes of a column have the unit of the largest.
func TestSizesOfAColumnHaveOneUnit(t *testing.T) {
	for _, c := range []struct {
		bytes, largest int64
		want           string
	}{
		{12, 999, "12B"}, {12, 1000, "0.01kB"}, {1000, 1000, "1.00kB"}, {5402, 6010, "5.40kB"},
		{5402, 6_010_000, "0.01MB"}, {3e9, 4e9, "3.00GB"}, {2e15, 2e15, "2000.00TB"},
	} {
		if got := sizeIn(c.bytes, c.largest); got != c.want {
			t.Errorf("%d bytes beside %d: %s, want %s", c.bytes, c.largest, got, c.want)
		}
	}
}
