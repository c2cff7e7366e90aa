package probe

import (
	"testing"
	"time"

	"tandem/algo/numeric/isa"
)

// On any machine a core multiplies with at most 10 TFLOP/s and at least 10 MFLOP/s, and so on. The bounds
// catch a wrong unit.
func TestResultIsPlausible(t *testing.T) {
	r, err := Run()
	if err != nil {
		t.Fatal(err)
	}
	if r.Cores < 1 || r.Multiply < 1e7 || r.Multiply > 1e13 || r.Copy < 1e7 || r.Copy > 1e12 {
		t.Errorf("%+v", r)
	}
	if r.Peak > 1e13 || (r.Peak > 0) != (isa.Best() != isa.Portable) {
		t.Errorf("peak %v with %v", r.Peak, isa.Best())
	}
	if r.Lookup < 1 || r.Lookup > 100_000 || r.Update < 1 || r.Update > 100_000 || r.Message < 1 ||
		r.Message > 1_000_000 {
		t.Errorf("%+v", r)
	}
	if _, err := time.Parse(time.DateOnly, r.Date); err != nil {
		t.Error(err)
	}
}

func TestTotalMemory(t *testing.T) {
	for text, want := range map[string]int64{
		"MemTotal:       32768 kB\nMemFree:  5 kB\n": 32768 * 1024,
		"Other:   7 kB\nMemTotal:        1 kB\n":     1024,
		"":                                           0,
		"MemTotal: lots\n":                           0,
	} {
		if got := totalMemory(text); int64(got) != want {
			t.Errorf("totalMemory(%q) = %d, want %d", text, got, want)
		}
	}
}

func BenchmarkProbe(b *testing.B) {
	for b.Loop() {
		if _, err := Run(); err != nil {
			b.Fatal(err)
		}
	}
}
