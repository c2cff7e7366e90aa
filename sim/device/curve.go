package device

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"tandem/algo/quantity"
)

// Curve is the share of peak speed that work of a size reaches: linear between its points and constant
// outside. Sizes ascend; shares are in (0, 1]. A curve without points is 1 everywhere.
type Curve struct {
	Sizes  []float64
	Shares []float64
}

// At returns the share at a size. Interpolation is linear in size, never in its logarithm, so that time is
// piecewise smooth in the amount of work.
func (c Curve) At(size float64) float64 {
	if len(c.Sizes) == 0 {
		return 1
	}
	i := sort.SearchFloat64s(c.Sizes, size)
	if i == 0 {
		return c.Shares[0]
	}
	if i == len(c.Sizes) {
		return c.Shares[i-1]
	}
	x0, x1 := c.Sizes[i-1], c.Sizes[i]
	y0, y1 := c.Shares[i-1], c.Shares[i]
	return y0 + float64((y1-y0)*((size-x0)/(x1-x0)))
}

// CurvePoint is the share of peak speed at one size.
type CurvePoint[U quantity.Number] struct {
	Size  U       `yaml:"size"`
	Share float64 `yaml:"share"`
}

// CurveProfile is a curve with its range and origin.
type CurveProfile[U quantity.Number] struct {
	Points []CurvePoint[U] `yaml:"points"`
	// Spread is the relative half-width of the range of every share: 0.2 means from 0.8 to 1.2 times the
	// share of the point, at most 1.
	Spread float64       `yaml:"spread"`
	Kind   quantity.Kind `yaml:"kind"`
	Source string        `yaml:"source"`
	Date   string        `yaml:"date"`
}

// At returns the curve at a position of its range, from −1 to 1.
func (p *CurveProfile[U]) At(position float64) Curve {
	var c Curve
	for _, point := range p.Points {
		c.Sizes = append(c.Sizes, float64(point.Size))
		c.Shares = append(c.Shares, min(1, point.Share*(1+position*p.Spread)))
	}
	return c
}

// Given implements quantity.Parameter. As a parameter, a curve is the factor on all its shares.
func (p *CurveProfile[U]) Given() bool { return p.Kind != "" }

// Span implements quantity.Parameter.
func (p *CurveProfile[U]) Span() (low, mid, high float64) { return 1 - p.Spread, 1, 1 + p.Spread }

// LessIsBetter implements quantity.Parameter.
func (p *CurveProfile[U]) LessIsBetter() bool { return false }

// Fix implements quantity.Parameter. Afterwards the curve is its own middle.
func (p *CurveProfile[U]) Fix(factor float64) {
	p.Improve(factor)
	p.Spread = 0
}

// Improve implements quantity.Parameter. No share becomes more than 1.
func (p *CurveProfile[U]) Improve(factor float64) {
	p.Points = slices.Clone(p.Points)
	for i := range p.Points {
		p.Points[i].Share = min(1, p.Points[i].Share*factor)
	}
}

// Text implements quantity.Parameter.
func (p *CurveProfile[U]) Text(factor float64) string { return fmt.Sprintf("×%.3g", factor) }

// Parse implements quantity.Parameter.
func (p *CurveProfile[U]) Parse(text string) (float64, error) {
	factor, err := strconv.ParseFloat(strings.TrimPrefix(text, "×"), 64)
	if err != nil || !(factor > 0) || math.IsInf(factor, 1) {
		return 0, fmt.Errorf("%q is no factor on the curve; want a number such as 1.2", text)
	}
	return factor, nil
}

// Origin implements quantity.Parameter.
func (p *CurveProfile[U]) Origin() (kind quantity.Kind, source, date string) {
	return p.Kind, p.Source, p.Date
}

// Replace implements quantity.Parameter.
func (p *CurveProfile[U]) Replace(factor float64, kind quantity.Kind, source string) {
	p.Fix(factor)
	p.Kind, p.Source = kind, source
}

// Validate checks the points, and that time never decreases as work grows: from a point to the next one, the
// share rises at most as the size does. A share that was rounded may exceed that limit by a millionth.
func (p *CurveProfile[U]) Validate() error {
	if len(p.Points) == 0 {
		return errors.New("no points; want at least one")
	}
	for i, point := range p.Points {
		if !(point.Share > 0 && point.Share <= 1) {
			return fmt.Errorf("size %v: share = %v; want more than 0 and at most 1", point.Size, point.Share)
		}
		if i == 0 {
			continue
		}
		before := p.Points[i-1]
		if !(point.Size > before.Size) {
			return fmt.Errorf("size %v after %v; want ascending sizes", point.Size, before.Size)
		}
		const rounding = 1e-6
		most := before.Share * (float64(point.Size) / float64(before.Size))
		if point.Share > most*(1+rounding) {
			return fmt.Errorf("size %v: share rises from %v to %v, by a larger factor than the size from "+
				"%v, so that more work takes less time; want at most %.7g", point.Size, before.Share,
				point.Share, before.Size, most)
		}
	}
	if !(p.Spread >= 0 && p.Spread < 1) || p.Kind == quantity.Guessed && p.Spread == 0 {
		return fmt.Errorf("spread = %v; want at least 0 and less than 1, and more than 0 for a guess",
			p.Spread)
	}
	return quantity.ValidateOrigin(p.Kind, p.Source, p.Date)
}
