package preset

import "testing"

// By letters alone, X200 is the nearest to V1000, which takes three changes.
func TestSuggestionPrefersTheSameFirstLetters(t *testing.T) {
	known := []string{"H100-SXM5", "V100-SXM2-32GB", "X200", "nvlink4"}
	for name, want := range map[string]string{
		"V100": "V100-SXM2-32GB", "V1000": "V100-SXM2-32GB", "V100-PCIe": "V100-SXM2-32GB",
		"nvlink44": "nvlink4", "X201": "X200",
	} {
		if got := suggestion(name, known); got != `"`+name+`"; the nearest is "`+want+`"` {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
