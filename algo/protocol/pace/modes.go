package pace

import (
	"fmt"
	"slices"
	"strings"
)

// Mode is a way to train, under its name in job files and reports. It is declared in
// the file of its rule.
type Mode struct {
	Name string
	// Overlaps are the words for what the mode can overlap, from none to the most;
	// the last is what it overlaps unless told otherwise.
	Overlaps []string
	Settings []Setting // that the mode has for itself
	// New returns the rule of some settings. Overlap is one of Overlaps, and Values has
	// a value in range for each of Settings.
	New func(Settings) Rule
}

// Settings are what a mode makes its rule of.
type Settings struct {
	Staleness int            // τ
	Overlap   string         // empty: the most that the mode knows
	Ranks     int            // NN workers; 0 counts as 1
	Values    map[string]int // of the mode's own settings, by name; absent: the default
}

// modes is the table of modes, in the order of reports.
var modes = []Mode{
	syncMode,
	hybridMode,
	asyncPSMode,
	asyncAverageMode,
	sspMode,
	gbaMode,
	localSGDMode,
	backupWorkersMode,
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

// New returns the rule of a mode. The error names a mode, an overlap or a setting that
// does not exist, or what is out of range.
func New(mode string, s Settings) (Rule, error) {
	m, ok := find(mode)
	if !ok {
		return nil, fmt.Errorf("pace: there is no mode %q; want %s", mode, strings.Join(Modes(), ", "))
	}
	if s.Overlap == "" {
		s.Overlap = m.Overlaps[len(m.Overlaps)-1]
	}
	if !slices.Contains(m.Overlaps, s.Overlap) {
		return nil, fmt.Errorf("pace: %s cannot overlap %q; want %s", mode, s.Overlap, strings.Join(m.Overlaps, ", "))
	}
	s.Ranks = max(s.Ranks, 1)
	var err error
	if s.Values, err = m.values(s.Values, s.Ranks); err != nil {
		return nil, err
	}
	r := m.New(s)
	return r, r.Validate()
}

// find returns the mode of a name.
func find(name string) (Mode, bool) {
	i := slices.IndexFunc(modes, func(m Mode) bool { return m.Name == name })
	if i < 0 {
		return Mode{}, false
	}
	return modes[i], true
}
