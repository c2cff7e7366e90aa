package pace

import (
	"fmt"
	"slices"
	"strings"
)

// Mode is a training algorithm under the name that job files, command lines and reports use. The file of a
// rule declares its mode.
type Mode struct {
	Name string
	// Overlaps are the words for what the mode can overlap, from none to the most. The last one is the
	// default.
	Overlaps []string
	Settings []Setting // settings that only this mode has
	// New returns the rule for settings: Overlap is one of Overlaps, and Values has a value in range for each
	// Setting in Settings.
	New func(Settings) Rule
}

// Settings are the values from which a mode makes its rule.
type Settings struct {
	Staleness int            // τ
	Overlap   string         // one of Mode.Overlaps; empty: the last one
	Ranks     int            // NN workers; 0 counts as 1
	Values    map[string]int // values of the mode's own settings, by name; absent: the default
}

// modes is the table of modes, in the order of reports. Register appends the modes of a user.
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

// Register appends a user's own mode to the modes of Tandem. Call it in an init function. It panics if the
// name is taken.
func Register(m Mode) {
	if slices.Contains(Modes(), m.Name) {
		panic(fmt.Sprintf("pace: mode %q is registered already", m.Name))
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

// New returns the rule of a mode. The error names the mode, overlap or setting that does not exist, or the
// value that is out of range.
func New(mode string, s Settings) (Rule, error) {
	m, ok := find(mode)
	if !ok {
		return nil, fmt.Errorf("pace: unknown mode %q; want %s", mode, strings.Join(Modes(), ", "))
	}
	if s.Overlap == "" {
		s.Overlap = m.Overlaps[len(m.Overlaps)-1]
	}
	if !slices.Contains(m.Overlaps, s.Overlap) {
		return nil, fmt.Errorf("pace: %s cannot overlap %q; want %s", mode, s.Overlap,
			strings.Join(m.Overlaps, ", "))
	}
	s.Ranks = max(s.Ranks, 1)
	var err error
	if s.Values, err = m.values(s.Values, s.Ranks); err != nil {
		return nil, err
	}
	r := m.New(s)
	return r, r.Validate()
}

// find returns the mode with a name.
func find(name string) (Mode, bool) {
	i := slices.IndexFunc(modes, func(m Mode) bool { return m.Name == name })
	if i < 0 {
		return Mode{}, false
	}
	return modes[i], true
}
