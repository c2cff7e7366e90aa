package job

import "fmt"

// SyntheticColumn is the distribution of one id column: a Zipf distribution, or one given by
// Coverage.
type SyntheticColumn struct {
	// Name of the slot; empty means "c" and the position from 1.
	Name string `yaml:"name,omitempty"`
	// Cardinality is the number of different ids, 1 to 2⁴⁰. With Drift it is the
	// number on any one day.
	Cardinality int64 `yaml:"cardinality"`
	// Exponent is the s of p(rank) ∝ rank^−s, 0 (uniform) to 10.
	Exponent float64 `yaml:"zipf,omitempty"`
	// Coverage gives the shares of the most frequent ids, as published tables do, and replaces
	// Exponent.
	Coverage []CoveragePoint `yaml:"coverage,omitempty"`
	// Top is the share of rows that hold the most frequent id, from 1/Cardinality to
	// below 1; 0 means the share under the distribution above. A larger share lowers the
	// shares of all other ids in proportion, a smaller one flattens the head.
	Top float64 `yaml:"top,omitempty"`
	// IDsPerRow is the mean number of ids of a row, drawn independently, at most
	// 1000; 0 means 1. A row has this number of ids, rounded down or up.
	IDsPerRow float64 `yaml:"ids-per-row,omitempty"`
	// Weight is the weight of the column in the linear sum of the teacher, relative to other
	// columns, at most 1e6; 0 means 1.
	Weight float64 `yaml:"weight,omitempty"`
	// Blank is the rank of the id that stands for a missing value, for columns that
	// Synthetic.Blanks names; 0 if no value is missing.
	Blank int64 `yaml:"blank,omitempty"`
	// Drift is the share of the ids that are replaced by new ones each day, in [0, 1]. A new
	// id has the popularity of the id that it replaces.
	Drift float64 `yaml:"drift,omitempty"`
}

// CoveragePoint says that the Top most frequent ids are in Share of all rows.
type CoveragePoint struct {
	Top   int64   `yaml:"top"`   // number of ids, the most frequent first
	Share float64 `yaml:"share"` // of all rows that hold one of them
}

// MeanIDs returns IDsPerRow, or its default.
func (c SyntheticColumn) MeanIDs() float64 {
	if c.IDsPerRow == 0 {
		return 1
	}
	return c.IDsPerRow
}

// LinearWeight returns Weight, or its default.
func (c SyntheticColumn) LinearWeight() float64 {
	if c.Weight == 0 {
		return 1
	}
	return c.Weight
}

// Validate names the first invalid field.
func (c SyntheticColumn) Validate() error {
	switch {
	case !(c.Weight >= 0 && c.Weight <= 1e6):
		return fmt.Errorf("weight: %v: must be above 0 and at most 1e6, or 0 for 1", c.Weight)
	case c.Cardinality < 1 || c.Cardinality > CardinalityMax:
		return fmt.Errorf("cardinality: %d: must be 1 to %d", c.Cardinality, CardinalityMax)
	case !(c.Exponent >= 0 && c.Exponent <= ExponentMax):
		return fmt.Errorf("zipf: %v: must be 0 to %v", c.Exponent, ExponentMax)
	case len(c.Coverage) > 0 && c.Exponent != 0:
		return fmt.Errorf("zipf: %v: coverage replaces it: leave one out", c.Exponent)
	case !(c.Top >= 0 && c.Top < 1):
		return fmt.Errorf("top: %v: must lie in [0, 1)", c.Top)
	case !(c.IDsPerRow >= 0 && c.IDsPerRow <= IDsPerRowMax):
		return fmt.Errorf("ids-per-row: %v: must be above 0 and at most %v, or 0 for 1", c.IDsPerRow,
			IDsPerRowMax)
	case c.Top > 0 && c.Cardinality == 1:
		return fmt.Errorf("top: %v: a column of one id always holds it", c.Top)
	case c.Top > 0 && c.Top < 1/float64(c.Cardinality):
		return fmt.Errorf("top: %v: %d ids have a mean share of %v: the largest is at least that", c.Top,
			c.Cardinality, 1/float64(c.Cardinality))
	case c.Blank < 0 || c.Blank > c.Cardinality:
		return fmt.Errorf("blank: %d: must be a rank, 1 to %d, or 0 for none", c.Blank, c.Cardinality)
	case !(c.Drift >= 0 && c.Drift <= 1):
		return fmt.Errorf("drift: %v: must be 0 to 1", c.Drift)
	}
	return c.validateCoverage()
}

// coveragePointsMax bounds the points of one column.
const coveragePointsMax = 1000

// validateCoverage checks that ranks and shares ascend, and that the mean share of an id does
// not grow from one interval of ranks to the next, because ids are ranked by their shares.
func (c SyntheticColumn) validateCoverage() error {
	if n := len(c.Coverage); n > coveragePointsMax {
		return fmt.Errorf("coverage: %d points: must be at most %d", n, coveragePointsMax)
	}
	before, mean := CoveragePoint{}, 1.0
	for i, point := range c.Coverage {
		switch {
		case point.Top <= before.Top || point.Top >= c.Cardinality:
			return fmt.Errorf("coverage[%d].top: %d: must be above %d and below the cardinality of %d", i,
				point.Top, before.Top, c.Cardinality)
		case !(point.Share > before.Share && point.Share < 1):
			return fmt.Errorf("coverage[%d].share: %v: must be above %v and below 1, the share of all ids",
				i, point.Share, before.Share)
		}
		if err := concave(i, before, point, &mean); err != nil {
			return err
		}
		before = point
	}
	if len(c.Coverage) == 0 {
		return nil
	}
	return concave(len(c.Coverage)-1, before, CoveragePoint{c.Cardinality, 1}, &mean)
}

// concave returns an error if the ids between two points have a larger mean share than the ids
// before them, which it updates. Published shares have few digits: a hundredth is forgiven.
func concave(i int, before, point CoveragePoint, mean *float64) error {
	this := (point.Share - before.Share) / float64(point.Top-before.Top)
	if this > *mean*1.01 {
		return fmt.Errorf("coverage[%d]: ids %d to %d have a mean share of %.3g, more than the %.3g of the "+
			"ids before them: leave the point before out", i, before.Top+1, point.Top, this, *mean)
	}
	*mean = this
	return nil
}
