package job

import (
	"testing"

	"pgregory.net/rapid"
)

func TestNearest(t *testing.T) {
	modes := []string{"sequential", "sync", "hybrid", "async-ps", "async-average", "ssp"}
	for word, want := range map[string]string{
		"hybird": "hybrid", "sycn": "sync", "async_ps": "async-ps", "spp": "ssp",
		"turbo": "", "": "",
		"synchronous": "sync", // which it begins with
		// One letter from sync, and the beginning of two modes, of which this is shorter.
		"async": "async-ps",
	} {
		if got := Nearest(word, modes); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}

// V100 is two letters from X200, and H1000 is the beginning of no name.
func TestNearestPrefersTheWordThatIsBegun(t *testing.T) {
	known := []string{"H100-PCIe", "H100-SXM5", "V100-SXM2-32GB", "X200"}
	for word, want := range map[string]string{
		"V100": "V100-SXM2-32GB", "v100": "V100-SXM2-32GB", "H100": "H100-PCIe", "H1000": "X200",
		"X2000": "X200",
	} {
		if got := Nearest(word, known); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestUnknown(t *testing.T) {
	known := []string{"sync", "hybrid"}
	for word, want := range map[string]string{
		"hybird": `"hybird" is unknown; the nearest is "hybrid"`,
		"turbo":  `"turbo" is unknown; known are sync, hybrid`,
	} {
		if got := Unknown(word, known); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// slowDistance is the recursive definition.
func slowDistance(a, b []rune) int {
	if len(a) == 0 || len(b) == 0 {
		return len(a) + len(b)
	}
	x, y := a[len(a)-1], b[len(b)-1]
	shortA, shortB := a[:len(a)-1], b[:len(b)-1]
	best := slowDistance(shortA, shortB)
	if x != y {
		best++
	}
	best = min(best, slowDistance(shortA, b)+1, slowDistance(a, shortB)+1)
	if len(a) > 1 && len(b) > 1 && x == b[len(b)-2] && y == a[len(a)-2] {
		best = min(best, slowDistance(a[:len(a)-2], b[:len(b)-2])+1)
	}
	return best
}

func TestEditDistanceAgainstDefinition(t *testing.T) {
	word := rapid.SliceOfN(rapid.SampledFrom([]rune("abö")), 0, 5)
	rapid.Check(t, func(t *rapid.T) {
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		if got, want := editDistance(a, b), slowDistance(a, b); got != want {
			t.Fatalf("distance of %q and %q = %d, want %d", string(a), string(b), got, want)
		}
	})
}
