package htmlreport

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
)

// scale maps an interval of values to an interval of pixels.
type scale struct {
	low, high float64 // values
	from, to  float64 // pixels
	ticks     []float64
}

// newScale returns a scale whose ends are ticks, with about a number of ticks.
func newScale(low, high float64, count int, from, to float64) scale {
	if !(high > low) { // also if one is not a number
		if math.IsNaN(low) || math.IsInf(low, 0) {
			low = 0
		}
		high = low + max(math.Abs(low), 1)
	}
	step := niceStep((high - low) / float64(count))
	s := scale{from: from, to: to}
	s.low, s.high = math.Floor(low/step+1e-9)*step, math.Ceil(high/step-1e-9)*step
	for i := 0; ; i++ {
		tick := s.low + float64(i)*step
		if tick > s.high+step/2 {
			return s
		}
		s.ticks = append(s.ticks, math.Round(tick/step)*step)
	}
}

// niceStep returns 1, 2 or 5 times a power of ten, at least x.
func niceStep(x float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(x)))
	for _, factor := range []float64{1, 2, 5} {
		if x <= factor*power*(1+1e-9) {
			return factor * power
		}
	}
	return 10 * power
}

// at returns the pixel of a value.
func (s scale) at(value float64) float64 {
	return s.from + (value-s.low)/(s.high-s.low)*(s.to-s.from)
}

// below draws the ticks, with grid lines up to the top of the figure, and the label of the x axis at a
// height.
func (s scale) below(b *strings.Builder, foot float64, label string) {
	for _, tick := range s.ticks {
		at := s.at(tick)
		if at < s.from-0.5 || at > s.to+0.5 {
			continue
		}
		fmt.Fprintf(b, `<line class="grid" x1="%.1f" y1="%g" x2="%.1[1]f" y2="%[3]g"/>`, at, top, foot)
		fmt.Fprintf(b, `<text class="tick" x="%.1f" y="%g" text-anchor="middle">%s</text>`, at, foot+16,
			short(tick))
	}
	fmt.Fprintf(b, `<text class="label" x="%g" y="%g" text-anchor="middle">%s</text>`, (s.from+s.to)/2,
		foot+bottom-6, template.HTMLEscapeString(label))
}

// short writes a value of a tick in little room, with k for thousands and M for millions.
func short(x float64) string {
	switch {
	case math.Abs(x) >= 1e9:
		return number(x)
	case math.Abs(x) >= 1e6:
		return number(x/1e6) + "M"
	case math.Abs(x) >= 1e4:
		return number(x/1e3) + "k"
	}
	return number(x)
}

// number writes a value with a comma between thousands.
func number(x float64) string {
	if math.Abs(x) >= 1e9 || x != 0 && math.Abs(x) < 1e-4 {
		return strings.Replace(strconv.FormatFloat(x, 'e', -1, 64), "-", "−", 1)
	}
	text := strconv.FormatFloat(math.Round(x*1e6)/1e6, 'f', -1, 64)
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(text, "-"), ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if fraction != "" {
		whole += "." + fraction
	}
	if x < 0 {
		return "−" + whole
	}
	return whole
}
