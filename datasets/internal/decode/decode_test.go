package decode

import (
	"math"
	"strings"
	"testing"

	"tandem/datasets/internal/input"
)

// Numbers are read without the signs that people write around them, in every style; other texts are no
// numbers.
func TestSignsAroundNumbers(t *testing.T) {
	for _, c := range []struct {
		style Style
		text  string
		want  float64
	}{
		{DecimalPoint, "12.5%", 12.5}, {DecimalPoint, "12.5 %", 12.5}, {DecimalPoint, "$19.99", 19.99},
		{DecimalPoint, "-$5", -5}, {DecimalPoint, "$-5", -5}, {DecimalPoint, "(3.50)", -3.5},
		{DecimalPoint, "($1.50)", -1.5}, {DecimalPoint, "−7", -7}, {DecimalPoint, "£ 4", 4},
		{DecimalPoint, "1'234.5", 1234.5}, {DecimalPoint, "1’234’567", 1234567}, {DecimalPoint, "+5%", 5},
		{Thousands, "$1,234.50", 1234.5}, {Thousands, "(1,234)", -1234}, {DecimalComma, "1.234,5 €", 1234.5},
		{DecimalComma, "−12,5 %", -12.5}, {DecimalComma, "1 234,5\u00a0€", 1234.5},
	} {
		if got, reason := c.style.Parse(c.text); got != c.want || reason != "" {
			t.Errorf("%q is %v (%s), want %v", c.text, got, reason, c.want)
		}
	}
	for _, text := range []string{"", "$", "%", "()", "(-5)", "--5", "-(5)", "5%%", "$$", "5 kg", "(5",
		"1'23", "12'3456", "a%", "'5'"} {
		if got, reason := DecimalPoint.Parse(text); reason == "" {
			t.Errorf("%q is the number %v", text, got)
		}
	}
}

// Weights and counts are numbers of at least 0.
func TestWeightsAreAtLeastZero(t *testing.T) {
	for x, ok := range map[float64]bool{0: true, 0.5: true, 7: true, -0.5: false, math.NaN(): false} {
		if reason := CheckWeight(x); (reason == "") != ok {
			t.Errorf("%v: %q", x, reason)
		}
	}
}

// A record is too long without the comments and empty lines before it, of which there may be any number.
func TestRecordsThatAreTooLong(t *testing.T) {
	f := &tableFormat{table: &Table{Comment: "#"}}
	empty := strings.Repeat("# a comment\n\r\n\n", input.RowBytesMax/10)
	row := strings.Repeat("x", input.RowBytesMax-1)
	for text, want := range map[string]bool{
		"": false, empty: false, row + "\n": false, empty + row + "\n": false, row + "x\n": true,
		empty + row + "x\n": true,
	} {
		if got := f.tooLong([]byte(text)); got != want {
			t.Errorf("%.20q… of %d bytes: %t", text, len(text), got)
		}
	}
}
