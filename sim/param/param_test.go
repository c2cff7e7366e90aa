package param

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"tandem/algo/quantity"
	"tandem/algo/unit"
)

type host struct {
	Cores  quantity.Value[int]              `yaml:"cores"`
	Memory quantity.Value[unit.BytesPerSec] `yaml:"memory-bandwidth" group:"PS memory"`
	Row    quantity.Value[unit.Nanos]       `yaml:"row-time" group:"PS memory"`
	Absent quantity.Value[unit.Bytes]       `yaml:"absent"`
	hidden quantity.Value[int]              // must not be found
}

type cluster struct {
	PS     host                            `yaml:"embedding-ps" group:"PS cores"`
	Misses quantity.Value[quantity.Burden] `yaml:"misses"`
	Shared struct {
		X quantity.Value[float64] `yaml:"x"`
	} `yaml:",inline"`
}

func example() *cluster {
	c := &cluster{}
	c.PS.hidden = quantity.Value[int]{Mid: 1, Kind: quantity.Default}
	c.PS.Cores = quantity.Value[int]{Low: 10, Mid: 20, High: 41, Kind: quantity.Guessed}
	c.PS.Memory = quantity.Value[unit.BytesPerSec]{Mid: 1e9, Kind: quantity.Default}
	c.PS.Row = quantity.Value[unit.Nanos]{Low: 100, Mid: 150, High: 400, Kind: quantity.Guessed}
	c.Misses = quantity.Value[quantity.Burden]{Low: 1, Mid: 2, High: 4, Kind: quantity.Guessed}
	c.Shared.X = quantity.Value[float64]{Low: 1, Mid: 2, High: 4, Kind: quantity.Guessed}
	return c
}

func TestCollectFindsGivenQuantitiesByTheirYAMLPaths(t *testing.T) {
	v := Collect("", example())
	want := []string{"embedding-ps.cores", "embedding-ps.memory-bandwidth", "embedding-ps.row-time", "misses",
		"x"}
	if got := v.Names(); !slices.Equal(got, want) {
		t.Errorf("names = %v, want %v", got, want)
	}
	if got := v.Groups(); !slices.Equal(got, []string{"PS cores", "PS memory"}) {
		t.Errorf("groups = %v", got)
	}
	if got := Collect("a", example())[0].Name; got != "a.embedding-ps.cores" {
		t.Errorf("with a prefix: %s", got)
	}
}

func TestFixTakesEachParameterAtItsPosition(t *testing.T) {
	c := example()
	v := Collect("", c)
	v.Fix(Point{1, -1, -0.5, 1, -1})
	if c.PS.Cores.Mid != 41 || c.PS.Memory.Mid != 1e9 || c.PS.Row.Mid != 275 || c.Misses.Mid != 1 ||
		c.Shared.X.Mid != 1 {
		t.Errorf("fixed at %+v", c)
	}
	for _, e := range v {
		if !e.Known() {
			t.Errorf("%s still has a range", e.Name)
		}
	}
}

// A position of a range and its value say the same; values beyond an end have the position of the end.
func TestPositionIsTheInverseOfAt(t *testing.T) {
	v := Collect("", example())
	for _, e := range v {
		low, mid, high := e.Span()
		for _, position := range []float64{-1, -0.5, 0, 0.25, 1} {
			want := position
			if low == mid && mid == high {
				want = 0
			}
			if got := e.Position(e.At(position)); got != want {
				t.Errorf("%s at %v: position %v", e.Name, position, got)
			}
		}
		if e.Known() {
			continue
		}
		worse, better := e.Position(low-1), e.Position(high+1)
		if e.LessIsBetter() {
			worse, better = better, worse
		}
		if worse != -1 || better != 1 {
			t.Errorf("%s: positions %v and %v beyond the ends", e.Name, worse, better)
		}
	}
	if p := v.Everywhere(0.5); len(p) != len(v) || slices.Min(p) != 0.5 || slices.Max(p) != 0.5 {
		t.Errorf("everywhere: %v", p)
	}
}

// The first fault of a struct has the name of its quantity; what is not given has none.
func TestFaultsAreNamed(t *testing.T) {
	c := &cluster{}
	c.PS.Cores = quantity.Value[int]{Low: 10, Mid: 20, High: 41, Kind: quantity.Guessed, Source: "here",
		Date: "2026-11-30"}
	c.PS.Row = quantity.Value[unit.Nanos]{Low: 100, Mid: 150, High: 400, Kind: quantity.Guessed,
		Source: "here", Date: "2026-11-30"}
	if err := Validate(c); err != nil {
		t.Error(err)
	}
	c.PS.Row.High = 120
	if err := Validate(c); err == nil || !strings.HasPrefix(err.Error(), "embedding-ps.row-time: ") {
		t.Error(err)
	}
}

func TestSampleIsALatinHypercube(t *testing.T) {
	const n = 64
	v := Collect("", example())
	points := v.Sample(n, 7)
	for i, e := range v {
		var parts [n]int
		for _, p := range points {
			parts[min(n-1, int((p[i]+1)/2*n))]++
		}
		for part, count := range parts {
			if !e.Known() && count != 1 {
				t.Fatalf("%s: part %d has %d points, want 1", e.Name, part, count)
			}
		}
	}
	// A parameter has the same positions in a vector with other parameters beside it.
	alone := v[3:4].Sample(n, 7)
	for k := range points {
		if points[k][3] != alone[k][0] {
			t.Fatalf("point %d: %v beside others, %v alone", k, points[k][3], alone[k][0])
		}
	}
	if other := v.Sample(n, 8); other[0][0] == points[0][0] {
		t.Error("another seed gives the same points")
	}
	// Two parameters are not correlated.
	sum := 0.0
	for _, p := range points {
		sum += p[0] * p[2]
	}
	if r := sum / n * 3; math.Abs(r) > 0.4 { // variance of a uniform position: 1/3
		t.Errorf("correlation %v", r)
	}
}

func TestSetReadsUnitsAndNamesTheNearest(t *testing.T) {
	c := example()
	v := Collect("", c)
	if err := v.Set("embedding-ps.memory-bandwidth", "8Gbps", "--set"); err != nil || c.PS.Memory.Mid != 1e9 {
		t.Errorf("%v, %v", c.PS.Memory, err)
	}
	if err := v.Set("embedding-ps.cores", "8", "--set"); err != nil || c.PS.Cores.Mid != 8 ||
		c.PS.Cores.High != 0 {
		t.Errorf("%v, %v", c.PS.Cores, err)
	}
	for name, want := range map[string]string{
		"embedding-ps.core":             `nearest is "embedding-ps.cores"`,
		"ps.cores":                      "embedding-ps.cores",
		"zz":                            `unknown parameter "zz"`,
		"embedding-ps.memory-bandwidth": "unit",
	} {
		err := v.Set(name, "8", "--set")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
		if name != "embedding-ps.memory-bandwidth" && !errors.Is(err, ErrUnknown) {
			t.Errorf("%s: %v does not wrap ErrUnknown", name, err)
		}
	}
	for _, bad := range []string{"-1", "0", "1.5", "many", "NaN"} {
		if err := v.Set("embedding-ps.cores", bad, "--set"); err == nil {
			t.Errorf("%s cores are accepted", bad)
		}
	}
}

func TestImproveMakesLessOfABurden(t *testing.T) {
	c := example()
	Collect("", c).Improve("PS memory", 2)
	if c.PS.Memory.Mid != 2e9 || c.PS.Row.Mid != 75 || c.PS.Cores.Mid != 20 {
		t.Errorf("improved to %+v", c.PS)
	}
}
