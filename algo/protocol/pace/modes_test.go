package pace_test

import (
	"slices"
	"strings"
	"testing"

	"tandem/algo/protocol/pace"
)

// New returns the rule of the mode, which overlaps the most by default.
func TestModesMakeTheirRules(t *testing.T) {
	settings := pace.Settings{Staleness: 3}
	own := map[string]map[string]int{"async-average": {"every": 5}, "ssp": {"slack": 2}}
	for mode, want := range map[string]pace.Rule{
		"sync":          pace.Sync{Overlap: pace.OverlapIDsDS},
		"hybrid":        pace.Hybrid{Staleness: 3, Overlap: pace.HybridDS},
		"async-ps":      pace.AsyncPS{Staleness: 3, Overlap: pace.PullEarly},
		"async-average": pace.AsyncAverage{Staleness: 3, Every: 5},
		"ssp":           pace.SSP{AsyncPS: pace.AsyncPS{Staleness: 3, Overlap: pace.PullEarly}, Slack: 2},
	} {
		settings.Values = own[mode]
		got, err := pace.New(mode, settings)
		if err != nil || got != want || got.Name() != mode {
			t.Errorf("%s: %+v, %v; want %+v", mode, got, err, want)
		}
	}
	for mode, overlap := range map[string]string{"sync": "ds", "async-average": "ds", "ssp": "ids", "": ""} {
		settings := pace.Settings{Overlap: overlap}
		if _, err := pace.New(mode, settings); err == nil || !strings.Contains(err.Error(), "want") {
			t.Errorf("%s, overlap %q: error %v, want one with the possible values", mode, overlap, err)
		}
	}
}

// Register panics if the name is taken, and changes nothing.
func TestRegisterPanicsOnATakenName(t *testing.T) {
	before := pace.Modes()
	defer func() {
		if recover() == nil || !slices.Equal(pace.Modes(), before) {
			t.Error("a second mode hybrid: no panic, or another list of modes")
		}
	}()
	pace.Register(pace.Mode{Name: "hybrid"})
}
