package station

import (
	"testing"

	"tandem/algo/unit"
)

func TestSerialIsFirstComeFirstServed(t *testing.T) {
	var s Serial
	tests := []struct{ now, takes, start, end unit.Tick }{
		{10, 5, 10, 15},
		{11, 2, 15, 17}, // waits for the first
		{16, 0, 17, 17}, // even if it takes nothing
		{30, 5, 30, 35}, // idle in between
	}
	for _, test := range tests {
		if start, end := s.Run(test.now, test.takes); start != test.start || end != test.end {
			t.Errorf("Run(%d, %d) = %d, %d, want %d, %d", test.now, test.takes, start, end, test.start,
				test.end)
		}
	}
	if got := s.Busy(32); got != 5+2+2 {
		t.Errorf("Busy(32) = %d, want 9", got)
	}
}
