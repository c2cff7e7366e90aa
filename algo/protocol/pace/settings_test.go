package pace_test

import (
	"regexp"
	"slices"
	"testing"

	"tandem/algo/protocol/pace"
)

// Every setting of a mode has a unique name in kebab case, a description, and a default within its range for
// every number of ranks.
func TestDeclaredSettingsAreValid(t *testing.T) {
	name := regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
	for _, mode := range pace.Modes() {
		var names []string
		for _, s := range pace.SettingsOf(mode) {
			if !name.MatchString(s.Name) || s.Doc == "" || slices.Contains(names, s.Name) {
				t.Errorf("%s: %+v: want a unique name in kebab case, and a description", mode, s)
			}
			names = append(names, s.Name)
			for _, ranks := range []int{1, 2, 3, 16384} {
				if err := s.Check(s.DefaultAt(ranks), ranks); err != nil {
					t.Errorf("%s: the default: %v", mode, err)
				}
			}
		}
	}
	if pace.SettingsOf("bsp") != nil {
		t.Error("SettingsOf(\"bsp\") is not nil, but there is no such mode")
	}
}

// These are the defaults of all settings with 6 ranks.
func TestDefaultsOfModes(t *testing.T) {
	for mode, want := range map[string]map[string]int{
		"sync": {}, "hybrid": {}, "async-ps": {}, "ssp": {"slack": 3}, "async-average": {"every": 16},
		"gba": {"batches": 6, "tolerance": 3}, "local-sgd": {"every": 16}, "backup-workers": {"wait-for": 5},
	} {
		settings := pace.SettingsOf(mode)
		for _, s := range settings {
			if got, declared := s.DefaultAt(6), want[s.Name]; got != declared {
				t.Errorf("%s: %s = %d, want %d", mode, s.Name, got, declared)
			}
		}
		if len(settings) != len(want) {
			t.Errorf("%s has %d settings, want %d", mode, len(settings), len(want))
		}
	}
}

// A default and a limit may depend on the number of ranks. With one rank, DefaultAt moves the default N − 1 =
// 0 into the range.
func TestSettingDependsOnRanks(t *testing.T) {
	s := pace.Setting{Name: "wait-for", Default: pace.Ranks(-1), Min: pace.Fixed(1), Max: pace.Ranks(0)}
	for ranks, want := range map[int]int{1: 1, 2: 1, 4: 3} {
		if got := s.DefaultAt(ranks); got != want {
			t.Errorf("%d ranks: default %d, want %d", ranks, got, want)
		}
	}
	for value, want := range map[int]string{
		0: "wait-for = 0; want 1 to 4 with ranks = 4", 1: "", 4: "",
		5: "wait-for = 5; want 1 to 4 with ranks = 4",
	} {
		if err := s.Check(value, 4); err == nil && want != "" || err != nil && err.Error() != want {
			t.Errorf("Check(%d) = %v, want %q", value, err, want)
		}
	}
	fixed := pace.Setting{Name: "every", Min: pace.Fixed(1), Max: pace.Fixed(9)}
	if err := fixed.Check(0, 4); err == nil || err.Error() != "every = 0; want 1 to 9" {
		t.Errorf("Check(0) = %v, want the range without ranks", err)
	}
	for n, want := range map[pace.Number]string{
		pace.Fixed(16): "16", pace.Fixed(-1): "-1", pace.Ranks(0): "N", pace.Ranks(2): "N + 2",
		pace.Ranks(-1): "N - 1",
	} {
		if n.String() != want {
			t.Errorf("String() = %s, want %s", n, want)
		}
	}
}

// New uses the given values, and defaults for other settings. It returns an error for a setting that the mode
// does not have and for a value out of range.
func TestNewFillsInDefaults(t *testing.T) {
	for mode, want := range map[string]pace.Rule{
		"async-average": pace.AsyncAverage{Every: 16},
		"ssp":           pace.SSP{AsyncPS: pace.AsyncPS{Overlap: pace.PullEarly}, Slack: 3},
	} {
		if got, err := pace.New(mode, pace.Settings{}); err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", mode, got, err, want)
		}
	}
	for _, c := range []struct {
		mode, name string
		value      int
		want       string
	}{
		{"ssp", "slack", -1, "pace: mode ssp: slack = -1; want 0 to 1000000"},
		{"ssp", "every", 1, `pace: mode ssp has no setting "every"; want slack`},
		{"hybrid", "slack", 1, `pace: mode hybrid has no setting "slack"; want none`},
	} {
		_, err := pace.New(c.mode, pace.Settings{Values: map[string]int{c.name: c.value}})
		if err == nil || err.Error() != c.want {
			t.Errorf("%s with %s = %d: error %v, want %s", c.mode, c.name, c.value, err, c.want)
		}
	}
}
