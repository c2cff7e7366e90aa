package sweep

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// ErrAxis is wrapped by every error about an axis.
var ErrAxis = errors.New("bad axis")

// Axis is a setting with the values that it takes.
type Axis struct {
	Name   string
	Values []string
}

// PointsMax bounds the points of a grid.
const PointsMax = 10_000

// steps matches a range of whole numbers: 2..60, 10..60+10 or 1..64*2.
var steps = regexp.MustCompile(`^(\d+)\.\.(\d+)(?:([+*])(\d+))?$`)

// withUnit and bare match a number with and without a unit.
var (
	withUnit = regexp.MustCompile(`^[0-9.]+([A-Za-zµ][A-Za-zµ/]*)$`)
	bare     = regexp.MustCompile(`^[0-9.]+$`)
)

// ParseAxis reads NAME=VALUES. Values are separated by commas: texts, or ranges of whole numbers such as
// 2..60, 10..60+10 in steps of ten and 1..64*2 in doublings. A unit behind the last number is that of all
// numbers without one, as in 25,100,400Gbps.
func ParseAxis(text string) (a Axis, err error) {
	name, values, found := strings.Cut(text, "=")
	if !found || name == "" || values == "" {
		return a, fmt.Errorf("%w: %q: want NAME=VALUES", ErrAxis, text)
	}
	a.Name = name
	for word := range strings.SplitSeq(values, ",") {
		if word == "" {
			return a, fmt.Errorf("%w: %s: a value is empty", ErrAxis, text)
		}
		m := steps.FindStringSubmatch(word)
		if m == nil {
			a.Values = append(a.Values, word)
			continue
		}
		numbers, err := expand(m)
		if err != nil {
			return a, fmt.Errorf("%w: %s: %s %w", ErrAxis, name, word, err)
		}
		a.Values = append(a.Values, numbers...)
	}
	if m := withUnit.FindStringSubmatch(a.Values[len(a.Values)-1]); m != nil {
		for i, value := range a.Values {
			if bare.MatchString(value) {
				a.Values[i] += m[1]
			}
		}
	}
	for i, value := range a.Values {
		if slices.Contains(a.Values[:i], value) {
			return a, fmt.Errorf("%w: %s: %s is there twice", ErrAxis, name, value)
		}
	}
	return a, nil
}

// expand returns the numbers of a range that steps has matched.
func expand(m []string) (numbers []string, err error) {
	low, errLow := strconv.Atoi(m[1])
	high, errHigh := strconv.Atoi(m[2])
	step, errStep := 1, error(nil)
	if m[4] != "" {
		step, errStep = strconv.Atoi(m[4])
	}
	switch {
	case errors.Join(errLow, errHigh, errStep) != nil:
		return nil, errors.New("has too large a number")
	case low > high:
		return nil, fmt.Errorf("is empty: want %d..%d", high, low)
	case step < 1 || m[3] == "*" && (step < 2 || low < 1):
		return nil, errors.New("does not end: want steps of +1 or more, or of *2 or more from 1")
	}
	for x := low; x <= high; {
		if len(numbers) == PointsMax {
			return nil, fmt.Errorf("has too many values; want at most %d", PointsMax)
		}
		numbers = append(numbers, strconv.Itoa(x))
		if m[3] == "*" {
			x *= step
		} else {
			x += step
		}
	}
	return numbers, nil
}

// Grid returns all points of some axes: a value of each, the last axis first to change.
func Grid(axes []Axis) (points [][]string, err error) {
	if len(axes) == 0 {
		return nil, fmt.Errorf("%w: there is none", ErrAxis)
	}
	points = [][]string{nil}
	for i, a := range axes {
		if slices.ContainsFunc(axes[:i], func(b Axis) bool { return b.Name == a.Name }) {
			return nil, fmt.Errorf("%w: %s is there twice", ErrAxis, a.Name)
		}
		if len(points)*len(a.Values) > PointsMax {
			return nil, fmt.Errorf("%w: all values together make more than %d points; choose fewer", ErrAxis,
				PointsMax)
		}
		var next [][]string
		for _, p := range points {
			for _, value := range a.Values {
				next = append(next, append(slices.Clone(p), value))
			}
		}
		points = next
	}
	return points, nil
}
