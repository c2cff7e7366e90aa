package predict

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"tandem/algo/job"
	"tandem/algo/quantity"
	"tandem/algo/unit"
	"tandem/sim/param"
)

// A target is straddled by the neighbouring factors, of 100th to 100 times, nearest to 1 between whose ratios
// it is. Where there are none, both are the factor that comes nearest; jobs that do not run are far.
func TestStraddlingATarget(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name      string
		ratio     map[float64]float64
		target    float64
		low, high float64 // factors, from the one nearer to 1
		reaches   bool
	}{
		{"rises", map[float64]float64{0.01: 1, 0.1: 2, 1: 3, 10: 4, 100: 5}, 4.5, 10, 100, true},
		{"rises, below", map[float64]float64{0.01: 1, 0.1: 2, 1: 3, 10: 4, 100: 5}, 2.5, 1, 0.1, true},
		{"falls", map[float64]float64{0.01: 5, 0.1: 4, 1: 3, 10: 2, 100: 1}, 1, 10, 100, true},
		{"at both sides, nearer above", map[float64]float64{0.01: 9, 0.1: 3, 1: 3, 10: 9, 100: 9}, 5, 1, 10,
			true},
		{"at both sides, nearer below", map[float64]float64{0.01: 9, 0.1: 9, 1: 3, 10: 3, 100: 9}, 5, 1,
			0.1, true},
		{"out of reach", map[float64]float64{0.01: 1, 0.1: 2, 1: 3, 10: 4, 100: 4.5}, 8, 100, 100, false},
		{"nearest in its logarithm", map[float64]float64{0.01: 1, 0.1: 1, 1: 1, 10: 2, 100: 2}, 2.5, 10, 10,
			false},
		{"not run", map[float64]float64{0.01: nan, 0.1: nan, 1: 3, 10: nan, 100: 9}, 5, 1, 1, false},
	} {
		s := &causeSearch{target: c.target}
		values := scale{middle: 2, most: math.Inf(1)}
		try := func(factor float64) tried { return tried{factor, c.ratio[factor]} }
		low, high, reaches := s.straddle(values, try, try(1))
		if low.factor != c.low || high.factor != c.high || reaches != c.reaches {
			t.Errorf("%s: from %v to %v, reaches: %v", c.name, low, high, reaches)
		}
	}
	s := &causeSearch{target: 2}
	for ratio, want := range map[float64]float64{2: 0, 4: math.Ln2, 1: math.Ln2, 0.5: 2 * math.Ln2} {
		if got := s.distance(tried{1, ratio}); math.Abs(got-want) > 1e-12 {
			t.Errorf("%v is %v from 2, want %v", ratio, got, want)
		}
	}
	if !math.IsInf(s.distance(tried{1, nan}), 1) {
		t.Error("a job that does not run is near")
	}
	for _, x := range [][2]float64{{1, 2}, {2, 1}, {2, 2}, {2, 3}} {
		if !s.between(x[0], x[1]) {
			t.Errorf("2 is not between %v", x)
		}
	}
	if s.between(2.1, 3) || s.between(1, 1.9) || s.between(nan, 3) || s.between(1, nan) {
		t.Error("2 is between others")
	}
}

// entry returns a parameter with a range.
func entry[U quantity.Number](name string, low, mid, high U) param.Entry {
	root := &struct {
		Value quantity.Value[U] `yaml:"value"`
	}{quantity.Value[U]{Low: low, Mid: mid, High: high, Kind: quantity.Guessed}}
	e := param.Collect("", root)[0]
	e.Name = name
	return e
}

// Values of a search are multiples of the middle or, where that is 0, of the higher end: of shares at most 1,
// and of whole numbers whole ones from 1 on.
func TestValuesOfASearch(t *testing.T) {
	for _, c := range []struct {
		e      param.Entry
		factor float64
		want   float64
	}{
		{entry("a.time", unit.Nanos(1), 4, 8), 10, 40},
		{entry("a.time", unit.Nanos(1), 4, 8), 0.1, 0.4},
		{entry("a.time", unit.Nanos(0), 0, 8), 0.5, 4},
		{entry("a.share", 0.2, 0.5, 0.9), 10, 1},
		{entry("a.share", 0.2, 0.5, 0.9), 1.5, 0.75},
		{entry("system.pipeline.inputs", 0.2, 0.5, 0.9), 10, 1},
		{entry("a.value", 0.2, 0.5, 0.9), 10, 5},
		{entry("a.count", 2, 3, 5), 0.01, 1},
		{entry("a.count", 2, 3, 5), 1.5, 5}, // 4.5, rounded away from 0
		{entry("system.dense-kernels.products", 1.2, 2.0, 3), 0.1, 1},
	} {
		if got := newScale(c.e).at(c.factor); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s at %v: %v, want %v", c.e.Name, c.factor, got, c.want)
		}
	}
}

// Beyond an end of a range is a multiple of the end that is better, or worse; shares and whole numbers have
// ends beyond which there is nothing.
func TestBeyondARange(t *testing.T) {
	times, rates := entry("a.time", unit.Nanos(2), 4, 8), entry("a.rate", unit.BytesPerSec(2), 4, 8)
	if !times.LessIsBetter() || rates.LessIsBetter() {
		t.Fatal("less time is better, and less rate is worse")
	}
	for _, c := range []struct {
		e      param.Entry
		better bool
		want   float64
		ok     bool
	}{
		{times, true, 1, true}, {times, false, 16, true}, {rates, true, 16, true}, {rates, false, 1, true},
		{entry("a.share", 0.2, 0.5, 0.9), true, 1, true}, {entry("a.share", 0.2, 0.5, 1), true, 1, false},
		{entry("a.share", 0.2, 0.5, 1), false, 0.1, true},
		{entry("a.count", 1, 3, 5), false, 1, false}, {entry("a.count", 1, 3, 5), true, 10, true},
		{entry("a.time", unit.Nanos(0), 4, 8), true, 0, false},
	} {
		if got, ok := Beyond(c.e, c.better, 2); got != c.want || ok != c.ok {
			t.Errorf("%s, better %v: %v, %v; want %v, %v", c.e.Name, c.better, got, ok, c.want, c.ok)
		}
	}
}

// Settings of hot rows are numbers in their ranges.
func TestSettingsOfHotRowsAreChecked(t *testing.T) {
	for name, values := range map[string]map[string]bool{
		hotShare: {"0": true, "1": true, "0.5": true, "-0.1": false, "1.1": false, "NaN": false, "x": false},
		hotMost: {"0": true, "1": true, fmt.Sprint(job.RowsMax): true, fmt.Sprint(job.RowsMax + 1): false,
			"-1": false, "1.5": false},
		hotEvery: {"0": true, "7": true, fmt.Sprint(job.StepsMax): true,
			fmt.Sprint(job.StepsMax + 1): false, "-1": false, "x": false},
	} {
		for value, fits := range values {
			var hot job.Hot
			others, err := SetHot(&hot, map[string]string{name: value})
			if fits != (err == nil) || !fits && !errors.Is(err, ErrChoice) || len(others) != 0 {
				t.Errorf("%s = %s: %v, others %v", name, value, err, others)
			}
			if fits && value == "7" && hot.Every != 7 {
				t.Errorf("%+v", hot)
			}
		}
	}
}
