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

// A piece of which a share of the time counts keeps the station for all of its time, which is busy for the
// share, also while the piece runs.
func TestAPieceCountsInPart(t *testing.T) {
	var s Serial
	s.Run(0, 100)
	if start, end := s.RunFor(0, 200, 0.5); start != 100 || end != 300 {
		t.Errorf("from %d to %d, want 100 to 300", start, end)
	}
	for now, want := range map[unit.Tick]unit.Tick{300: 200, 200: 150, 100: 100, 40: 40, 0: 0} {
		if got := s.Busy(now); got != want {
			t.Errorf("busy for %d at %d, want %d", got, now, want)
		}
	}
}
