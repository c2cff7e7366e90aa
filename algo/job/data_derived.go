package job

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// DerivedSlot is a slot whose ids follow from other columns of a row: an id for each combination of their
// values that rows have. A model learns from it what no column says alone.
type DerivedSlot struct {
	// Name is that of the slot.
	Name string `yaml:"name"`
	// Columns are the columns whose values are combined. Where a slot has several ids, each is combined with
	// those of the other columns, to at most 10,000 combinations in a row.
	Columns []DerivedColumn `yaml:"columns"`
}

// DerivedColumn is a column that a derived slot combines.
type DerivedColumn struct {
	// Column is the name of a slot or, with edges, of a numeric column.
	Column string `yaml:"column"`
	// Edges divide the values of a numeric column, as they are in the file, into intervals, which stand for
	// ids: those below the first edge, those from there to below the second, and so on. A missing number has
	// an id of its own.
	Edges []float64 `yaml:"edges,omitempty,flow"`
}

const (
	derivedColumnsMax = 8      // of a slot
	edgesMax          = 10_000 // of a column
)

// validateDerived checks all that does not depend on the columns of the data.
func (d *Data) validateDerived() error {
	if len(d.Derived) > 0 && d.Kind == KindSynthetic {
		return fmt.Errorf("derived: kind %q has no columns of a file: leave it out", d.Kind)
	}
	if len(d.Derived) > columnsMax {
		return fmt.Errorf("derived: %d: must be at most %d", len(d.Derived), columnsMax)
	}
	for i, s := range d.Derived {
		if slices.ContainsFunc(d.Derived[:i], func(other DerivedSlot) bool { return other.Name == s.Name }) {
			return fmt.Errorf("derived[%d].name: %q is there twice", i, s.Name)
		}
		if err := s.Validate(); err != nil {
			return fmt.Errorf("derived[%d].%w", i, err)
		}
	}
	return nil
}

// Validate checks every field and names the first invalid one.
func (s *DerivedSlot) Validate() error {
	switch n := len(s.Columns); {
	case s.Name == "":
		return errors.New("name: empty: name the slot")
	case n == 0 || n > derivedColumnsMax:
		return fmt.Errorf("columns: %d: must be 1 to %d", n, derivedColumnsMax)
	case n == 1 && len(s.Columns[0].Edges) == 0:
		return fmt.Errorf("columns: only %q: add another column, or edges between its numbers",
			s.Columns[0].Column)
	}
	for i, c := range s.Columns {
		if c.Column == "" {
			return fmt.Errorf("columns[%d].column: empty: name a column", i)
		}
		if len(c.Edges) > edgesMax {
			return fmt.Errorf("columns[%d].edges: %d: must be at most %d", i, len(c.Edges), edgesMax)
		}
		for k, edge := range c.Edges {
			if !(math.Abs(edge) <= math.MaxFloat32) || k > 0 && !(edge > c.Edges[k-1]) {
				return fmt.Errorf("columns[%d].edges[%d]: %v: must be finite and above the edge before", i, k,
					edge)
			}
		}
	}
	return nil
}

// SlotNames returns the names of the slots of kinds csv and parquet: the id columns, then the derived ones.
func (d *Data) SlotNames() []string {
	names := d.Table().SlotNames()
	for _, s := range d.Derived {
		names = append(names, s.Name)
	}
	return names
}
