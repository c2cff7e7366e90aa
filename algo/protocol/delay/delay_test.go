package delay_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/histogram"
	"tandem/algo/protocol/delay"
)

func TestParse(t *testing.T) {
	for _, text := range []string{
		"none", "at-most 0", "at-most 5", "exactly 3", "geometric 2.5", "poisson 4", "distribution 5 3 2",
		"trace runs/my staleness.txt",
	} {
		s, err := delay.Parse(text)
		if err != nil || s.String() != text {
			t.Errorf("Parse(%q) = %q, %v", text, s, err)
		}
		if s.IsZero() != (text == "none") {
			t.Errorf("%q: IsZero() = %t", text, s.IsZero())
		}
	}
	for text, want := range map[string]string{
		"":                       "is not a delay: write",
		"3":                      `"3" is not a delay: write "at-most 5"`,
		"exactly":                "is not a delay",
		"exactly 1.5":            "is not a delay",
		"none 3":                 "is not a delay",
		"poisson few":            "is not a delay",
		"distribution 1 x":       "is not a delay",
		"at-most -1":             "at-most -1; want 0 to 1000000 steps",
		"geometric -0.5":         "want a mean of 0 to 1000000",
		"geometric NaN":          "want a mean",
		"poisson 501":            "want a mean of 0 to 500",
		"distribution":           "with sum 0",
		"distribution 0 0":       "with sum 0",
		"distribution 1 -1":      "the weight of delay 1 is -1",
		"distribution 1e308 Inf": "with sum +Inf",
		"trace":                  "without a file",
	} {
		if s, err := delay.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v; want %q", text, s, err, want)
		}
	}
}

func mustModel(t testing.TB, text string, seed uint64) *delay.Model {
	t.Helper()
	s, err := delay.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	m, err := delay.NewModel(s, seed)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The delays follow their distribution: over n draws, the share of each delay is within five standard
// deviations, √(p(1−p)/n), of its probability.
func TestDelaysFollowTheirDistribution(t *testing.T) {
	const n = 20_000
	poisson := func(d int) float64 {
		gamma, _ := math.Lgamma(float64(d + 1))
		return math.Exp(float64(d)*math.Log(4) - 4 - gamma)
	}
	for text, share := range map[string]func(d int) float64{
		"at-most 4":   func(d int) float64 { return 0.2 * float64(b2i(d <= 4)) },
		"exactly 3":   func(d int) float64 { return float64(b2i(d == 3)) },
		"geometric 3": func(d int) float64 { return 0.25 * math.Pow(0.75, float64(d)) }, // p = 1/(1+3)
		"geometric 0": func(d int) float64 { return float64(b2i(d == 0)) },
		"poisson 4":   poisson,
		"poisson 0":   func(d int) float64 { return float64(b2i(d == 0)) },
		"distribution 0 5 0 3 2 0": func(d int) float64 {
			return append([]float64{0, 0.5, 0, 0.3, 0.2}, make([]float64, 100)...)[d]
		},
	} {
		m, counts := mustModel(t, text, 7), make([]int, 100)
		for step := range n {
			counts[m.DelayOf(step)]++
		}
		for d, count := range counts {
			p := share(d)
			if off := math.Abs(float64(count)/n - p); off > 5*math.Sqrt(p*(1-p)/n)+1e-9 && p > 1e-6 ||
				p == 0 && count > 0 {
				t.Errorf("%s: delay %d occurs %d times of %d, want a share of %.4f", text, d, count, n, p)
			}
		}
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Delays of at-most τ never exceed τ and reach it. They depend on the seed and the step only.
func TestAtMostNeverExceeds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most, seed := rapid.IntRange(0, 20).Draw(t, "τ"), rapid.Uint64().Draw(t, "seed")
		s := delay.Spec{Kind: delay.AtMost, Steps: most}
		m, err := delay.NewModel(s, seed)
		if err != nil {
			t.Fatal(err)
		}
		again, _ := delay.NewModel(s, seed)
		reached := false
		for step := 999; step >= 0; step-- {
			d := m.DelayOf(step)
			if d < 0 || d > most || d != again.DelayOf(step) {
				t.Fatalf("step %d: %d and %d, want the same from 0 to %d", step, d, again.DelayOf(step), most)
			}
			reached = reached || d == most
		}
		if !reached {
			t.Fatalf("delay %d never occurs", most)
		}
	})
	differ := 0
	for step := range 100 {
		one, two := mustModel(t, "at-most 9", 1), mustModel(t, "at-most 9", 2)
		differ += b2i(one.DelayOf(step) != two.DelayOf(step))
	}
	if differ < 50 {
		t.Errorf("%d of 100 delays differ between two seeds, want at least 50", differ)
	}
}

// loaded returns the model of a trace with a text.
func loaded(text string) (*delay.Model, error) {
	s, err := delay.Parse("trace some file")
	if err != nil {
		return nil, err
	}
	if err := s.Load(func(string) ([]byte, error) { return []byte(text), nil }); err != nil {
		return nil, err
	}
	return delay.NewModel(s, 1)
}

func TestTraceOfSteps(t *testing.T) {
	m, err := loaded("# made up\ndelay\n3\n\n0\n7\n")
	if err != nil {
		t.Fatal(err)
	}
	for step, want := range []int{3, 0, 7, 3, 0} {
		if got := m.DelayOf(step); got != want {
			t.Errorf("step %d: %d, want %d", step, got, want)
		}
	}
}

// Delays drawn from written and parsed counts have the shares of the counts: over 4000 draws, each share is
// within 0.04, five standard deviations of a share of one half.
func TestTraceOfCounts(t *testing.T) {
	var h histogram.Histogram
	h.AddCount(2, 300)
	h.AddCount(5, 100)
	var text strings.Builder
	if err := delay.WriteCounts(&text, "own staleness", h.All()); err != nil {
		t.Fatal(err)
	}
	if want := "# own staleness\nstaleness count\n2 300\n5 100\n"; text.String() != want {
		t.Errorf("WriteCounts wrote %q, want %q", text.String(), want)
	}
	m, err := loaded(text.String())
	if err != nil {
		t.Fatal(err)
	}
	counts := map[int]float64{}
	for step := range 4000 {
		counts[m.DelayOf(step)] += 1. / 4000
	}
	if len(counts) != 2 || math.Abs(counts[2]-0.75) > 0.04 || math.Abs(counts[5]-0.25) > 0.04 {
		t.Errorf("shares %v, want 0.75 of delay 2 and 0.25 of delay 5", counts)
	}
}

func TestTraceErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                                     "trace some file:1: no entries",
		"delay\n":                              ":2: no entries",
		"staleness count\n3 0\n":               ":3: no entries",
		"1 2\n":                                `:1: "1 2"; want the header "staleness count" or "delay"`,
		"delay\n3\nx\n":                        `:3: "x"; want a number of steps`,
		"delay\n-1\n":                          `:2: "-1"; want a number of steps from 0`,
		"delay\n1000001\n":                     "to 1000000",
		"delay\n1 2\n":                         ":2: 2 values; want one",
		"staleness count\n1\n":                 ":2: 1 values; want two",
		"staleness count\n1 -1\n":              `:2: "-1"; want a count`,
		"delay\n" + strings.Repeat("1", 1<<17): ":2: ",
	} {
		if _, err := loaded(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
	trace := delay.Spec{Kind: delay.Traced, File: "x"}
	if _, err := delay.NewModel(trace, 1); !errors.Is(err, delay.ErrNotLoaded) {
		t.Errorf("a model of a trace that is not loaded: error %v, want ErrNotLoaded", err)
	}
}

func FuzzParseTrace(f *testing.F) {
	f.Add([]byte("staleness count\n0 1\n"))
	f.Add([]byte("delay\n3\n0\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		trace, err := delay.ParseTrace(text)
		if (trace == nil) != (err != nil) {
			t.Errorf("%v, %v", trace, err)
		}
	})
}
