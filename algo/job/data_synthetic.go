package job

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Limits of the fields of Synthetic.
const (
	CardinalityMax   = int64(1) << 40
	ExponentMax      = 10.0
	SyntheticRowsMax = math.MaxInt32 - 1
	IDsPerRowMax     = 1000.0
	tiesMax          = 1000 // ties of columns, groups of blanks
	daysMax          = 1 << 22
)

// SyntheticTeacher is the hidden model that draws the labels. The weights set the proportions
// of its parts; Scale sets the strength of the signal.
type SyntheticTeacher struct {
	// Seed draws the hidden values; 0 means Synthetic.Seed. With a Seed of its own, the hidden
	// model stays the same for all rows, as that of a real data set does.
	Seed uint64 `yaml:"seed,omitempty"`
	// Rank is the length of the hidden vectors v; 0 means 4.
	Rank int `yaml:"rank,omitempty"`
	// Linear, Interaction and Numeric are the weights of the three sums of the score,
	// whose variances are about 1 before weighting; all 0 means 1 each.
	Linear      float64 `yaml:"linear,omitempty"`
	Interaction float64 `yaml:"interaction,omitempty"`
	Numeric     float64 `yaml:"numeric,omitempty"`
	// Cubic is the weight of the interactions of three columns, of the same form and variance;
	// 0 leaves them out. A factorization machine cannot express them.
	Cubic float64 `yaml:"cubic,omitempty"`
	// Scale is the standard deviation of the logit over rows; 0 means 2. A larger scale
	// makes labels more certain and raises the best reachable AUC.
	Scale float64 `yaml:"scale,omitempty"`
	// Rare shrinks the hidden values of rare ids: an id in a share p of the look-ups of its
	// column has values with variance p / (p + rare) instead of 1. 0 shrinks none.
	Rare float64 `yaml:"rare,omitempty"`
}

// Synthetic describes generated data; package datasets/synth generates them.
type Synthetic struct {
	Seed      uint64 `yaml:"seed"`       // of all draws
	TrainRows int    `yaml:"train-rows"` // number of training rows
	TestRows  int    `yaml:"test-rows"`  // number of test rows
	// Preset is a built-in description of a public data set, or empty for none. A preset
	// supplies every field that is absent, except Seed and the numbers of rows. Its Ties and
	// Blanks name its columns, so a job with Columns gets neither.
	Preset string `yaml:"preset,omitempty"`
	// Stream generates the training rows while a run reads them, and never holds them in
	// memory.
	Stream bool `yaml:"stream,omitempty"`
	// Columns are the id columns.
	Columns []SyntheticColumn `yaml:"columns,omitempty"`
	// Ties are sets of columns that depend on each other.
	Ties []SyntheticTie `yaml:"ties,omitempty"`
	// Blanks are sets of columns whose values are missing in the same rows. Each of them has
	// Coverage and Blank, the rank of the missing value. If one of two columns misses fewer
	// values, the rows in which it does are among those in which the other does.
	Blanks [][]string `yaml:"blanks,omitempty"`
	// RowsPerDay is the number of rows after which Drift begins a new day; 0 if nothing
	// drifts. The test rows follow the training rows.
	RowsPerDay int `yaml:"rows-per-day,omitempty"`
	// Alpha is the probability that a row holds the most frequent id of a large table
	// (the α of Persia's analysis of hybrid training), in (0, 1). It replaces Top of the
	// columns that AlphaColumns names. 0 changes no column.
	Alpha float64 `yaml:"alpha,omitempty"`
	// AlphaColumns names the columns that Alpha applies to; empty means the column with
	// the largest cardinality, the first of equals.
	AlphaColumns []string `yaml:"alpha-columns,omitempty"`
	// Numeric is the number of numeric columns, 0 to 10,000, each standard normal.
	Numeric int `yaml:"numeric,omitempty"`
	// PositiveRate is the expected share of label 1, in (0, 1); 0 means 0.5.
	PositiveRate float64          `yaml:"positive-rate,omitempty"`
	Teacher      SyntheticTeacher `yaml:"teacher,omitempty"` // hidden model that draws the labels
	// Conversion adds a second label, which can be 1 only after a click.
	Conversion *SyntheticConversion `yaml:"conversion,omitempty"`
}

// SyntheticTie makes columns functions of one latent value, each a function of the one before:
// the latent value chooses an id of the first column, and the id of a column chooses the id at
// the same quantile of the next one. So the columns should be in the order of their numbers of
// ids, the largest first. All have Coverage; the shares of a column differ from its own by at
// most those of single ids of the columns before it. With several ids per row, the ids at equal
// positions are tied.
type SyntheticTie struct {
	Columns []string `yaml:"columns"` // names of the columns, the one with the most ids first
	// Strength is the probability that a column of a row follows the latent value; otherwise
	// it is drawn independently. 0 means 1.
	Strength float64 `yaml:"strength,omitempty"`
}

// SyntheticConversion describes the label "conversion" of a row whose label "click" is 1;
// without a click it is 0. A second teacher with the same weights draws it:
//
//	score = shared · click + √(1 − shared²) · own,   both standardised
//	p     = p(click) · sigmoid(scale · score + bias)
//
// Source: the two labels of Ali-CCP, and the factoring of Ma and others (ESMM),
// SIGIR 2018, equation 1.
type SyntheticConversion struct {
	// Rate is the mean of the sigmoid over all rows, in (0, 1).
	Rate float64 `yaml:"rate"`
	// Shared is the correlation of the scores of click and conversion, in [0, 1].
	Shared float64 `yaml:"shared"`
}

// Labels returns the names of the label columns.
func (s Synthetic) Labels() []string {
	if s.Conversion == nil {
		return []string{"label"}
	}
	return []string{"click", "conversion"}
}

// Resolve returns s with preset, defaults, column names and Alpha applied, which is what
// synth.Generate uses. Resolving a second time changes nothing.
func (s Synthetic) Resolve() Synthetic {
	if preset, ok := syntheticPreset(s.Preset); ok {
		s.merge(preset)
	}
	if s.PositiveRate == 0 {
		s.PositiveRate = 0.5
	}
	s.Teacher = s.Teacher.resolve()
	s.Columns = slices.Clone(s.Columns)
	for i := range s.Columns {
		if s.Columns[i].Name == "" {
			s.Columns[i].Name = "c" + strconv.Itoa(i+1)
		}
	}
	if s.Alpha > 0 && len(s.AlphaColumns) == 0 && len(s.Columns) > 0 {
		s.AlphaColumns = []string{slices.MaxFunc(s.Columns, func(a, b SyntheticColumn) int {
			return cmp.Compare(a.Cardinality, b.Cardinality)
		}).Name}
	}
	for i := range s.Columns {
		if s.Alpha > 0 && slices.Contains(s.AlphaColumns, s.Columns[i].Name) {
			s.Columns[i].Top = s.Alpha
		}
	}
	return s
}

func (t SyntheticTeacher) resolve() SyntheticTeacher {
	if t.Rank == 0 {
		t.Rank = 4
	}
	if t.Linear == 0 && t.Interaction == 0 && t.Numeric == 0 {
		t.Linear, t.Interaction, t.Numeric = 1, 1, 1
	}
	if t.Scale == 0 {
		t.Scale = 2
	}
	return t
}

// Validate checks every field and names the path of the first invalid one.
func (s Synthetic) Validate() error {
	if _, ok := syntheticPreset(s.Preset); s.Preset != "" && !ok {
		return fmt.Errorf("preset: %w", unknownPreset(s.Preset))
	}
	names := s.AlphaColumns
	s = s.Resolve()
	switch {
	case s.TrainRows < 1 || s.TrainRows > SyntheticRowsMax:
		return fmt.Errorf("train-rows: %d: must be 1 to %d", s.TrainRows, SyntheticRowsMax)
	case s.TestRows < 1 || s.TestRows > SyntheticRowsMax:
		return fmt.Errorf("test-rows: %d: must be 1 to %d", s.TestRows, SyntheticRowsMax)
	case len(s.Columns) == 0:
		return errors.New("columns: empty: give at least one, or a preset")
	case !(s.Alpha >= 0 && s.Alpha < 1):
		return fmt.Errorf("alpha: %v: must lie in [0, 1)", s.Alpha)
	case s.Alpha == 0 && len(names) > 0:
		return errors.New("alpha-columns: only used with alpha")
	case len(s.Columns) > columnsMax:
		return fmt.Errorf("columns: %d: must be at most %d", len(s.Columns), columnsMax)
	case s.Numeric < 0 || s.Numeric > columnsMax:
		return fmt.Errorf("numeric: %d: must be 0 to %d", s.Numeric, columnsMax)
	case !(s.PositiveRate > 0 && s.PositiveRate < 1):
		return fmt.Errorf("positive-rate: %v: must lie in (0, 1)", s.PositiveRate)
	case s.RowsPerDay < 0 || s.RowsPerDay > SyntheticRowsMax:
		return fmt.Errorf("rows-per-day: %d: must be 1 to %d, or 0 for none", s.RowsPerDay, SyntheticRowsMax)
	case s.RowsPerDay > 0 && (s.TrainRows+s.TestRows)/s.RowsPerDay >= daysMax:
		return fmt.Errorf("rows-per-day: %d: the rows have more than %d days", s.RowsPerDay, daysMax)
	}
	if c := s.Conversion; c != nil && !(c.Rate > 0 && c.Rate < 1) {
		return fmt.Errorf("conversion.rate: %v: must lie in (0, 1)", c.Rate)
	}
	if c := s.Conversion; c != nil && !(c.Shared >= 0 && c.Shared <= 1) {
		return fmt.Errorf("conversion.shared: %v: must lie in [0, 1]", c.Shared)
	}
	known := make([]string, 0, len(s.Columns))
	for i, c := range s.Columns {
		if slices.Contains(known, c.Name) {
			return fmt.Errorf("columns[%d].name: %q is there twice", i, c.Name)
		}
		known = append(known, c.Name)
		if err := c.Validate(); err != nil {
			return fmt.Errorf("columns[%d].%w", i, err)
		}
		if c.Drift > 0 && s.RowsPerDay == 0 {
			return fmt.Errorf("columns[%d].drift: %v: needs rows-per-day", i, c.Drift)
		}
		if most := math.Ceil(c.MeanIDs()) * float64(max(s.TrainRows, s.TestRows)); most > math.MaxInt32 {
			return fmt.Errorf("columns[%d].ids-per-row: %v: up to %.0f ids in all, want at most %d", i,
				c.IDsPerRow, most, math.MaxInt32)
		}
	}
	for i, name := range names {
		if !slices.Contains(known, name) {
			return fmt.Errorf("alpha-columns[%d]: no column %q", i, name)
		}
	}
	if err := s.validateDependence(); err != nil {
		return err
	}
	return s.Teacher.validate()
}

func (t SyntheticTeacher) validate() error {
	if t.Rank < 1 || t.Rank > 256 {
		return fmt.Errorf("teacher.rank: %d: must be 1 to 256", t.Rank)
	}
	for _, field := range []struct {
		name  string
		value float64
	}{
		{"linear", t.Linear}, {"interaction", t.Interaction}, {"numeric", t.Numeric}, {"scale", t.Scale},
		{"cubic", t.Cubic}, {"rare", t.Rare},
	} {
		if !(field.value >= 0 && field.value <= 1e6) {
			return fmt.Errorf("teacher.%s: %v: must be 0 to 1e6", field.name, field.value)
		}
	}
	return nil
}
