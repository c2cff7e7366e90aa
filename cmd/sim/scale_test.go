package main

import "testing"

func TestScale(t *testing.T) {
	tests := []struct {
		smallest, largest float64
		unit, low, high   string
	}{
		{40_700, 1_766_800, "1000 samples/s", "40.7", "1766.8"},
		{390_900, 3_839_200, "1000 samples/s", "391", "3839"},
		{41.9, 150.4, "samples/s", "41.9", "150.4"},
		{5_000, 9_999, "samples/s", "5000", "9999"},
		{0.0239, 0.0351, "samples/s", "0.0239", "0.0351"},
	}
	for _, test := range tests {
		s := newScale(test.smallest, test.largest)
		if low, high := s.text(test.smallest), s.text(test.largest); s.unit != test.unit || low != test.low ||
			high != test.high {
			t.Errorf("%v to %v: %s to %s %s, want %s to %s %s", test.smallest, test.largest, low, high,
				s.unit, test.low, test.high, test.unit)
		}
	}
}
