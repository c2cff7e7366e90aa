package report

import (
	"testing"

	"tandem/algo/metric"
)

func TestThousands(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := Thousands(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

func TestDigits(t *testing.T) {
	for _, c := range []struct {
		v    float64
		n    int
		want string
	}{
		{0.0954, 2, "0.095"}, {110, 2, "110"}, {1234.5, 2, "1200"}, {0.0000123, 2, "0.000012"}, {1, 3, "1"},
		{-0.04321, 3, "−0.0432"}, {0, 2, "0"},
	} {
		if got := Digits(c.v, c.n); got != c.want {
			t.Errorf("%v in %d digits: %q, want %q", c.v, c.n, got, c.want)
		}
	}
}

func TestThree(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 0.001234: "0.00123", 0.9994: "0.999", 0.9996: "1.00", 1.2: "1.20", 9.996: "10.0",
		99.94: "99.9", 99.96: "100", 12345: "12345",
	} {
		if got := Three(v); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
	if got := Range(metric.Interval{Low: 0.5, High: 12}); got != "0.500–12.0" {
		t.Errorf("range %q", got)
	}
}

func TestPValue(t *testing.T) {
	for p, want := range map[float64]string{0: "< 0.001", 0.00099: "< 0.001", 0.001: "0.001", 1: "1.000"} {
		if got := pValue(p); got != want {
			t.Errorf("%v: %q, want %q", p, got, want)
		}
	}
}

func TestAmount(t *testing.T) {
	v := metric.Interval{Estimate: -0.01, Low: -0.0111, High: -0.0089}
	if got := Amount(v) + ", " + Amount(Negated(v)); got != "−0.0100 ± 0.0011, 0.0100 ± 0.0011" {
		t.Errorf("%q", got)
	}
}
