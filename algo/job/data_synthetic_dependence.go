package job

import (
	"fmt"
	"slices"
)

// Resolved returns Strength, or its default.
func (t SyntheticTie) Resolved() float64 {
	if t.Strength == 0 {
		return 1
	}
	return t.Strength
}

// IsAddressable reports whether each row is drawn from (seed, number of the row) alone, which
// Stream, Coverage, Ties, Blanks and Drift need. Otherwise, a row is drawn after the rows before
// it, as it always was, so that the same job gives the same rows as in earlier versions.
func (s Synthetic) IsAddressable() bool {
	s = s.Resolve()
	return s.Stream || len(s.Ties) > 0 || len(s.Blanks) > 0 || s.RowsPerDay > 0 ||
		slices.ContainsFunc(s.Columns, func(c SyntheticColumn) bool { return len(c.Coverage) > 0 })
}

// Days returns the number of days of all rows, 1 without RowsPerDay.
func (s Synthetic) Days() int {
	if s.RowsPerDay == 0 {
		return 1
	}
	return (s.TrainRows+s.TestRows-1)/s.RowsPerDay + 1
}

// validateDependence checks ties and blanks of resolved columns.
func (s Synthetic) validateDependence() error {
	if n := max(len(s.Ties), len(s.Blanks)); n > tiesMax {
		return fmt.Errorf("ties, blanks: %d: must be at most %d each", n, tiesMax)
	}
	var tied, blank []string
	for i, tie := range s.Ties {
		if !(tie.Strength >= 0 && tie.Strength <= 1) {
			return fmt.Errorf("ties[%d].strength: %v: must be above 0 and at most 1, or 0 for 1", i,
				tie.Strength)
		}
		if err := s.checkSet(tie.Columns, &tied, false); err != nil {
			return fmt.Errorf("ties[%d].columns%w", i, err)
		}
	}
	for i, names := range s.Blanks {
		if err := s.checkSet(names, &blank, true); err != nil {
			return fmt.Errorf("blanks[%d]%w", i, err)
		}
	}
	return nil
}

// checkSet checks a set of columns that depend on each other, and adds it to the earlier sets.
func (s Synthetic) checkSet(names []string, earlier *[]string, blank bool) error {
	if len(names) == 0 {
		return fmt.Errorf(": empty: name at least one column")
	}
	for i, name := range names {
		at := slices.IndexFunc(s.Columns, func(c SyntheticColumn) bool { return c.Name == name })
		switch {
		case at < 0:
			return fmt.Errorf("[%d]: no column %q", i, name)
		case slices.Contains(*earlier, name):
			return fmt.Errorf("[%d]: column %q is there twice", i, name)
		case len(s.Columns[at].Coverage) == 0:
			return fmt.Errorf("[%d]: column %q has no coverage, which this needs", i, name)
		case blank && s.Columns[at].Blank == 0:
			return fmt.Errorf("[%d]: column %q has no blank, the rank of its missing value", i, name)
		}
		*earlier = append(*earlier, name)
	}
	return nil
}
