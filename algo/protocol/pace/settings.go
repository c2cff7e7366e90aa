package pace

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Setting is an integer parameter that one mode adds to the common ones. Two modes may use the same name.
type Setting struct {
	Name string // in job files and flags, as "wait-for"
	// Default is the value if none is given. Min and Max are the smallest and the largest value. DefaultAt
	// moves a default that is out of range for a number of ranks to the nearest limit.
	Default, Min, Max Number
	Doc               string // meaning and unit, such as "steps between two averages"
}

// Number is a whole number that may depend on the number of ranks. The zero value is 0.
type Number struct {
	perRank, plus int
}

// Fixed returns a Number that is n for every number of ranks.
func Fixed(n int) Number { return Number{plus: n} }

// Ranks returns a Number that is the number of ranks plus n.
func Ranks(n int) Number { return Number{perRank: 1, plus: n} }

// At returns the value for a number of ranks.
func (n Number) At(ranks int) int { return n.perRank*ranks + n.plus }

// OfRanks reports whether the value depends on the number of ranks.
func (n Number) OfRanks() bool { return n.perRank != 0 }

// String returns the number as text, with N for the number of ranks.
func (n Number) String() string {
	switch {
	case n.perRank == 0:
		return strconv.Itoa(n.plus)
	case n.plus > 0:
		return fmt.Sprintf("N + %d", n.plus)
	case n.plus < 0:
		return fmt.Sprintf("N - %d", -n.plus)
	}
	return "N"
}

// DefaultAt returns the default value for a number of ranks.
func (s Setting) DefaultAt(ranks int) int {
	return max(s.Min.At(ranks), min(s.Default.At(ranks), s.Max.At(ranks)))
}

// Check returns an error if a value is out of the range for a number of ranks. The error contains the name of
// the setting, the value and the range.
func (s Setting) Check(value, ranks int) error {
	low, high := s.Min.At(ranks), s.Max.At(ranks)
	if value >= low && value <= high {
		return nil
	}
	among := ""
	if s.Min.OfRanks() || s.Max.OfRanks() {
		among = fmt.Sprintf(" with ranks = %d", ranks)
	}
	return fmt.Errorf("%s = %d; want %d to %d%s", s.Name, value, low, high, among)
}

// SettingsOf returns the settings that a mode declares, or nil if there is no such mode.
func SettingsOf(mode string) []Setting {
	if m, ok := find(mode); ok {
		return m.Settings
	}
	return nil
}

// values returns a value for every setting of the mode: the given value, or the default. The error names a
// setting that the mode does not have, or a value out of range.
func (m Mode) values(given map[string]int, ranks int) (map[string]int, error) {
	all := make(map[string]int, len(m.Settings))
	var names []string
	for _, s := range m.Settings {
		names = append(names, s.Name)
		value, ok := given[s.Name]
		if !ok {
			value = s.DefaultAt(ranks)
		}
		if err := s.Check(value, ranks); err != nil {
			return nil, fmt.Errorf("pace: mode %s: %w", m.Name, err)
		}
		all[s.Name] = value
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("pace: mode %s has no setting %q; want %s", m.Name, name,
				cmp.Or(strings.Join(names, ", "), "none"))
		}
	}
	return all, nil
}
