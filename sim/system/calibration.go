package system

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tandem/algo/quantity"
	"tandem/sim/param"
)

// Calibration is what measured steps say about quantities of a profile: points of the joint posterior
// distribution, each with a value for every quantity, so that what the steps say about several quantities
// together stays. A point holds positions, as param.Point, in the ranges that the quantities had before.
type Calibration struct {
	Source string `yaml:"source" json:"source"` // where the measured steps are from
	Date   string `yaml:"date" json:"date"`     // YYYY, YYYY-MM or YYYY-MM-DD
	// Names are the calibrated quantities, such as "nn-worker.launch-time".
	Names []string `yaml:"names" json:"names"`
	// Ranges has the range of each quantity before: low, middle and high, in the base unit of its type, such
	// as ns or bytes a second. A quantity whose range is now another keeps that one.
	Ranges [][]float64 `yaml:"ranges" json:"ranges"`
	// Points are 1 to 4096 points, each with one position in [−1, 1] for each name. The first is the middle
	// of the calibrated quantities: medians of each would be a point that need not explain the measured
	// steps.
	Points [][]float64 `yaml:"points" json:"points"`

	used []bool // by name: Calibrate has found the range unchanged
}

// ranged is a quantity with a range. All quantities of a profile are.
type ranged interface {
	Narrow(low, mid, high float64, kind quantity.Kind, source, date string)
}

// pointsMax bounds the points of a calibration.
const pointsMax = 4096

// Calibrate gives the quantities of a calibration the ranges that its points span: from the smallest value to
// the largest, with that of the first point in the middle. A quantity whose range is not that of the
// calibration stays as it is, which is added to the note.
func (p *Profile) Calibrate(c *Calibration) error {
	v := param.Collect("", p)
	if err := c.validate(v); err != nil {
		return fmt.Errorf("calibration: %w", err)
	}
	own := *c
	own.used = make([]bool, len(c.Names))
	for i, name := range c.Names {
		e, err := v.Find(name)
		if err != nil {
			return fmt.Errorf("calibration: %w", err)
		}
		low, mid, high := e.Span()
		if before := c.Ranges[i]; low != before[0] || mid != before[1] || high != before[2] {
			if p.Note != "" {
				p.Note += "; "
			}
			p.Note += fmt.Sprintf("%s keeps its range of %s to %s, because it was calibrated from %s to %s",
				name, e.Text(low), e.Text(high), e.Text(before[0]), e.Text(before[2]))
			continue
		}
		own.used[i] = true
		values := make([]float64, len(c.Points))
		for k := range values {
			values[k] = c.value(k, i, e.LessIsBetter())
		}
		e.Parameter.(ranged).Narrow(slices.Min(values), values[0], slices.Max(values), quantity.Calibrated,
			c.Source, c.Date)
	}
	p.Calibration = &own
	return nil
}

// value returns the value of a name at a point.
func (c *Calibration) value(point, name int, lessIsBetter bool) float64 {
	r := c.Ranges[name]
	return param.At(r[0], r[1], r[2], lessIsBetter, c.Points[point][name])
}

// Value returns the value of a quantity at a point. It reports false if the calibration does not have the
// quantity, if Calibrate has not used it, or if the quantity, as the entry of a vector has it, has changed
// since.
func (c *Calibration) Value(name string, e param.Entry, point int) (value float64, ok bool) {
	i := slices.Index(c.Names, name)
	if i < 0 || i >= len(c.used) || !c.used[i] {
		return 0, false
	}
	if kind, source, _ := e.Origin(); kind != quantity.Calibrated || source != c.Source {
		return 0, false
	}
	return c.value(point, i, e.LessIsBetter()), true
}

// validate reports the first fault of a calibration of the quantities of a vector.
func (c *Calibration) validate(v param.Vector) error {
	if err := quantity.ValidateOrigin(quantity.Calibrated, c.Source, c.Date); err != nil {
		return err
	}
	switch {
	case len(c.Names) == 0:
		return fmt.Errorf("no names; write the calibrated quantities")
	case len(c.Ranges) != len(c.Names):
		return fmt.Errorf("%d ranges for %d names; want one for each", len(c.Ranges), len(c.Names))
	case len(c.Points) < 1 || len(c.Points) > pointsMax:
		return fmt.Errorf("%d points; want 1 to %d", len(c.Points), pointsMax)
	}
	for i, name := range c.Names {
		if _, err := v.Find(name); err != nil {
			return err
		}
		if slices.Contains(c.Names[:i], name) {
			return fmt.Errorf("%s is there twice; name each quantity once", name)
		}
		r := c.Ranges[i]
		if len(r) != 3 || !(0 <= r[0] && r[0] <= r[1] && r[1] <= r[2]) || math.IsInf(r[2], 1) {
			return fmt.Errorf("%s: range = %v; want 0 ≤ low ≤ mid ≤ high", name, r)
		}
	}
	for k, point := range c.Points {
		if len(point) != len(c.Names) {
			return fmt.Errorf("point %d has %d positions; want one for each of %d names", k, len(point),
				len(c.Names))
		}
		for i, position := range point {
			if !(-1 <= position && position <= 1) {
				return fmt.Errorf("point %d: %s = %v; want −1 to 1", k, c.Names[i], position)
			}
		}
	}
	return nil
}

// Text returns the calibration as a section of a profile.
func (c *Calibration) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "calibration:\n  source: %q\n  date: %s\n  names:\n", c.Source, c.Date)
	for _, name := range c.Names {
		fmt.Fprintf(&b, "    - %s\n", name)
	}
	b.WriteString("  # low, middle and high of each range before, in ns, B, B/s or as a bare number\n" +
		"  ranges:\n")
	writeRows(&b, c.Ranges)
	b.WriteString("  # positions in these ranges, from −1 for the worse end to 1 for the better one\n" +
		"  points:\n")
	writeRows(&b, c.Points)
	return b.String()
}

// writeRows writes lists of numbers.
func writeRows(b *strings.Builder, rows [][]float64) {
	for _, row := range rows {
		words := make([]string, len(row))
		for i, x := range row {
			words[i] = strconv.FormatFloat(x, 'g', -1, 64)
		}
		fmt.Fprintf(b, "    - [%s]\n", strings.Join(words, ", "))
	}
}
