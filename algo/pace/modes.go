package pace

import (
	"fmt"
	"slices"
	"strings"
)

// Mode is a way to train, under its name in job files and reports.
type Mode struct {
	Name string
	// Overlaps are the words for what the mode can overlap, from none to the most;
	// the last is what it overlaps unless told otherwise.
	Overlaps []string
	// New returns the rule of some settings. Overlap is one of Overlaps.
	New func(Settings) Rule
}

// Settings are all that job files say about pace. A mode takes what it needs.
type Settings struct {
	Staleness    int    // τ
	Slack        int    // s of ssp
	AverageEvery int    // steps of a rank between two averages
	Overlap      string // empty: the most that the mode knows
}

var modes = []Mode{
	{"sync", []string{"none", "ids", "ids+ds"}, func(s Settings) Rule { return Sync{SyncOverlap(s.Overlap)} }},
	{"hybrid", []string{"none", "ds"}, func(s Settings) Rule { return Hybrid{s.Staleness, HybridOverlap(s.Overlap)} }},
	{"async-ps", []string{"none", "pull"}, func(s Settings) Rule { return AsyncPS{s.Staleness, PullOverlap(s.Overlap)} }},
	{"async-average", []string{"none"}, func(s Settings) Rule { return AsyncAverage{s.Staleness, s.AverageEvery} }},
	{"ssp", []string{"none", "pull"}, func(s Settings) Rule {
		return SSP{AsyncPS{s.Staleness, PullOverlap(s.Overlap)}, s.Slack}
	}},
}

// Register adds a mode behind those that are there. It is for the init function
// of the file that has the mode's rule, and panics if the name is taken.
func Register(m Mode) {
	if slices.Contains(Modes(), m.Name) {
		panic(fmt.Sprintf("pace: there is a mode %q already", m.Name))
	}
	modes = append(modes, m)
}

// Modes returns the names of all modes, in the order of reports.
func Modes() []string {
	var names []string
	for _, m := range modes {
		names = append(names, m.Name)
	}
	return names
}

// New returns the rule of a mode. The error names a mode or overlap that does not
// exist, or the setting that the rule refuses.
func New(mode string, s Settings) (Rule, error) {
	i := slices.IndexFunc(modes, func(m Mode) bool { return m.Name == mode })
	if i < 0 {
		return nil, fmt.Errorf("pace: there is no mode %q; want %s", mode, strings.Join(Modes(), ", "))
	}
	m := modes[i]
	if s.Overlap == "" {
		s.Overlap = m.Overlaps[len(m.Overlaps)-1]
	}
	if !slices.Contains(m.Overlaps, s.Overlap) {
		return nil, fmt.Errorf("pace: %s cannot overlap %q; want %s", mode, s.Overlap, strings.Join(m.Overlaps, ", "))
	}
	r := m.New(s)
	return r, r.Validate()
}
