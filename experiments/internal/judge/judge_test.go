package judge

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/metric"
	"tandem/algo/rng"
)

// made returns a comparison with AUC differences.
func made(aucs ...float64) *Comparison {
	return &Comparison{AUCs: aucs, LogLosses: make([]float64, len(aucs))}
}

func near(a, b, tolerance float64) bool { return math.Abs(a-b) <= tolerance }

// Without shared test rows, the interval is Student's, and one verdict follows from its interval.
func TestOneVerdictFollowsFromItsInterval(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-0.003, 0.003), 2, 12).Draw(t, "differences")
		c := made(values...)
		Judge([]*Comparison{c})
		want := metric.MeanInterval(values)
		if !near(c.AUC.Low, want.Low, 1e-9) || !near(c.AUC.High, want.High, 1e-9) {
			t.Fatalf("interval %+v, want %+v", c.AUC, want)
		}
		if c.Verdict != metric.Judge(c.AUC, metric.EquivalenceMargin) {
			t.Fatalf("%v for %+v", c.Verdict, c.AUC)
		}
	})
}

// With p-values 0.01, 0.04, 0.03 and 0.005, Holm's procedure multiplies 0.005 by 4, 0.01 by 3, 0.03 by 2 and
// 0.04 by 1, which is then raised to the one before it.
func TestHolm(t *testing.T) {
	got := holm([]float64{0.01, 0.04, 0.03, 0.005})
	for i, want := range []float64{0.03, 0.06, 0.06, 0.02} {
		if !near(got[i], want, 1e-12) {
			t.Errorf("adjusted %v", got)
		}
	}
	if got := holm([]float64{0.7, 0.9}); got[0] != 1 || got[1] != 1 {
		t.Errorf("adjusted %v, want 1", got)
	}
}

// Of many comparisons, one that excludes 0 by little is no evidence; among few it is.
func TestVerdictsAreAdjustedOverTheReport(t *testing.T) {
	clear := made(0.004, 0.006, 0.005, 0.003, 0.007)
	alone := *clear
	Judge([]*Comparison{&alone})
	list := []*Comparison{clear}
	for range 19 {
		list = append(list, made(0.004, -0.004, 0.001, 0.002, -0.003))
	}
	Judge(list)
	if alone.Verdict != metric.Different || clear.Verdict != metric.Different || clear.AUC != alone.AUC ||
		!near(clear.PDifferent, 20*alone.PDifferent, 1e-12) {
		t.Errorf("alone %+v, among 20 %+v", alone, clear)
	}
	weak := made(0.001, 0.007, 0.005, 0.001, 0.008)
	alone = *weak
	Judge([]*Comparison{&alone})
	list[0] = weak
	Judge(list)
	if alone.Verdict != metric.Different || weak.Verdict != metric.Inconclusive || !weak.IsFinding() {
		t.Errorf("alone %+v, among 20 %+v", alone, weak)
	}
}

func TestExactDifferences(t *testing.T) {
	same, small, large := made(0, 0), made(0.0005, 0.0005), made(-0.01, -0.01)
	Judge([]*Comparison{same, small, large})
	if same.Text() != "the same bits" || same.Verdict != metric.Equivalent || same.PDifferent != 1 {
		t.Errorf("%+v", same)
	}
	if small.Text() != "equivalent" || large.Text() != "different" || small.IsFinding() ||
		!large.IsFinding() {
		t.Errorf("%+v, %+v", small, large)
	}
	same.LogLosses[0] = 0.1
	if same.SameBits() {
		t.Error("log loss differs")
	}
}

// s²/n = 0.0003² and r = 0.0004 add to 0.0005², with 4·(0.25/0.09)² = 30.9 degrees of freedom; Student's
// t(0.975) is 2.040 at 30.9.
func TestSharedRowsWidenTheInterval(t *testing.T) {
	d := 0.0003 * math.Sqrt(5) * math.Sqrt(4/2.0) // two of five differ from the mean by d: s² = 2d²/4
	c := made(0.002-d, 0.002+d, 0.002, 0.002, 0.002)
	c.RowDeviation = 0.0004
	Judge([]*Comparison{c})
	if half := (c.AUC.High - c.AUC.Low) / 2; !near(half, 2.040*0.0005, 0.0005*0.002) {
		t.Errorf("half width %v, want %v", half, 2.040*0.0005)
	}
	if c.Verdict != metric.Different {
		t.Errorf("%+v", c)
	}
}

func TestPair(t *testing.T) {
	c := Pair("d", "a", "b", 7, Quality{[]float64{0.7, 0.8}, []float64{3, 2}},
		Quality{[]float64{0.5, 0.5}, []float64{1, 1}})
	if c.Seeds[1] != 8 || !near(c.AUCs[1], 0.3, 1e-12) || c.LogLosses[0] != 2 {
		t.Errorf("%+v", c)
	}
}

// noise draws the error of a difference: normal, or with the heavy tails of Student's t at 4 degrees of
// freedom, both with deviation 1.
func noise(s *rand.Rand, heavy bool) float64 {
	v := s.NormFloat64()
	if !heavy {
		return v
	}
	squares := 0.0
	for range 4 {
		x := s.NormFloat64()
		squares += float64(x * x)
	}
	return v / math.Sqrt(squares/4) / math.Sqrt2 // t(4) has variance 2
}

// experiment draws a report of comparisons with one true gap and judges it.
func experiment(s *rand.Rand, comparisons, seeds int, gap, deviation float64, heavy bool) []*Comparison {
	list := make([]*Comparison, comparisons)
	for i := range list {
		values := make([]float64, seeds)
		for k := range values {
			values[k] = gap + float64(deviation*noise(s, heavy))
		}
		list[i] = made(values...)
	}
	Judge(list)
	return list
}

// In 1,000 simulated reports whose true gap is the margin, at most 5 % call any comparison equivalent: for
// small and large spreads between seeds, few seeds, heavy tails, and several comparisons.
func TestFalseEquivalenceIsRare(t *testing.T) {
	for i, c := range []struct {
		comparisons, seeds int
		deviation          float64
		heavy              bool
	}{
		{1, 5, 0.0001, false}, {1, 5, 0.0003, false}, {1, 5, 0.001, false}, {1, 5, 0.0003, true},
		{1, 3, 0.0003, false}, {1, 10, 0.0003, true}, {6, 5, 0.0002, false}, {6, 5, 0.0002, true},
	} {
		s := rng.New(uint64(i), "reports")
		wrong := 0
		for range 1000 {
			for _, one := range experiment(s, c.comparisons, c.seeds, -metric.EquivalenceMargin, c.deviation,
				c.heavy) {
				if one.Verdict == metric.Equivalent {
					wrong++
					break
				}
			}
		}
		t.Logf("%+v: %d of 1000 reports have a false equivalence", c, wrong)
		if wrong > 50 {
			t.Errorf("%+v: %d of 1000 reports have a false equivalence", c, wrong)
		}
	}
}

// In 1,000 simulated reports of six comparisons without any difference, at most 6.5 % find one: 5 %, and
// twice the deviation of the count.
func TestFalseDifferenceIsRare(t *testing.T) {
	s := rng.New(9, "reports")
	wrong, equivalent := 0, 0
	for range 1000 {
		list := experiment(s, 6, 5, 0, 0.0003, false)
		for _, c := range list {
			if c.Verdict == metric.Equivalent {
				equivalent++
			}
		}
		for _, c := range list {
			if c.PDifferent <= differentError {
				wrong++
				break
			}
		}
	}
	if wrong > 65 {
		t.Errorf("%d of 1000 reports have a false difference", wrong)
	}
	if equivalent < 4000 {
		t.Errorf("%d of 6000 comparisons are equivalent, want most", equivalent)
	}
}

// The spread that leaves an interval of five seeds open is decided by the number that is proposed.
func TestSeedsNeeded(t *testing.T) {
	values := []float64{-0.0012, 0.0012, 0.0007, -0.0007, 0} // deviation 0.00098
	n := seedsNeeded(values, 0)
	c := made(values...)
	Judge([]*Comparison{c})
	if c.Verdict != metric.Inconclusive || n != c.SeedsNeeded || n < 6 || n > 8 {
		// t(0.975)·0.00098/√n < 0.001: 1.028 ≥ 1 for n = 6 (2.571), 0.909 for n = 7 (2.447).
		t.Errorf("%d seeds needed for %+v", n, c.AUC)
	}
	if n := seedsNeeded(values, 0.001); n != 0 {
		t.Errorf("%d seeds needed although rows alone leave ±0.002", n)
	}
	if n := seedsNeeded([]float64{0.01, 0.011}, 0); n != 2 {
		t.Errorf("%d seeds needed for a clear difference", n)
	}
}

// Of the comparison with the smallest p-value, the interval that holds with all others excludes 0 exactly if
// Holm's adjustment calls it different from 0. Alone, it is the interval of the comparison.
func TestSimultaneousIntervalsAgreeWithHolm(t *testing.T) {
	agreed := map[bool]int{}
	for i := range 60 {
		list := []*Comparison{
			{AUCs: []float64{1, 1.1, 0.9 - 0.1*float64(i)}, LogLosses: make([]float64, 3)},
			{AUCs: []float64{-1, 1, 0.5}, LogLosses: make([]float64, 3)},
			{AUCs: []float64{-1, 1.2, 0.5}, LogLosses: make([]float64, 3)},
		}
		Judge(list)
		c := list[0]
		if c.PDifferent > list[1].PDifferent {
			continue
		}
		excludes := c.Simultaneous.Low > 0 || c.Simultaneous.High < 0
		if excludes != (c.PDifferent < differentError) {
			t.Errorf("interval %+v, p %v", c.Simultaneous, c.PDifferent)
		}
		agreed[excludes]++
		Judge(list[:1])
		if c.Simultaneous != c.AUC {
			t.Errorf("alone %+v, want %+v", c.Simultaneous, c.AUC)
		}
	}
	if agreed[true] == 0 || agreed[false] == 0 {
		t.Errorf("cases %v", agreed)
	}
}
