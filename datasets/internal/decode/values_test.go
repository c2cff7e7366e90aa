package decode

import (
	"fmt"
	"slices"
	"testing"

	"tandem/algo/job"
)

// Numbers are read by their style, and must be finite in 32 bits.
func TestNumbersByStyle(t *testing.T) {
	const infinite, none = "not a finite 32-bit number", "not a number"
	for _, c := range []struct {
		style Style
		text  string
		want  string // a number, or the reason
	}{
		{DecimalPoint, "1e3", "1000"}, {DecimalPoint, "1,000", none}, {DecimalPoint, "1e39", infinite},
		{DecimalPoint, "-1e400", infinite}, {DecimalPoint, "NaN", infinite}, {DecimalPoint, "inf", infinite},
		{Thousands, "1,234,567.5", "1.2345675e+06"}, {Thousands, "1,23", none}, {Thousands, "1234", "1234"},
		{Thousands, "12,34,567", none}, {Thousands, "0,123", none}, {Thousands, "1,234e2", "123400"},
		{Thousands, "1,234.5,6", none}, {Thousands, ",123", none}, {Thousands, "+1,234", "1234"},
		{Thousands, "1234,567", none}, {Thousands, "123,456E1", "1.23456e+06"}, {Thousands, "1,2e4", none},
		{DecimalComma, "1,5", "1.5"}, {DecimalComma, ",5", "0.5"}, {DecimalComma, "1.5", none},
		{DecimalComma, "1.234", "1234"}, {DecimalComma, "1.234 567", none}, {DecimalComma, "1,2,3", none},
		{DecimalComma, "-1\u202f234,25", "-1234.25"}, {DecimalComma, "1,2e1", "12"},
		{DecimalComma, "1 23,5", none}, {DecimalComma, "1.a34", none},
	} {
		got, reason := c.style.Parse(c.text)
		if reason == "" {
			reason = fmt.Sprint(got)
		}
		if reason != c.want {
			t.Errorf("%q in style %d: %s, want %s", c.text, c.style, reason, c.want)
		}
	}
	table := &job.Table{DecimalComma: []string{"a"}, Thousands: []string{"b"}}
	want := []Style{DecimalPoint, Thousands, DecimalComma}
	if got := StylesOf(table, []string{"c", "b", "a"}); !slices.Equal(got, want) {
		t.Errorf("styles %v", got)
	}
}

// Whole numbers lose a fraction of zeros, and other texts stay.
func TestWholeText(t *testing.T) {
	for text, want := range map[string]string{
		"17.0": "17", "17.00": "17", "-3.0": "-3", "17.": "17", "17": "17", "17.5": "17.5", ".0": ".0",
		"a.0": "a.0", "1-.0": "1-.0", "17.0.0": "17.0.0", "": "",
	} {
		if got := WholeText(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// Labels are classes by their texts, shares, counts or numbers.
func TestLabels(t *testing.T) {
	for _, c := range []struct {
		table job.Table
		label int
		want  map[string]string // "" is an error
	}{
		{job.Table{Label: "y", Positive: []string{"yes"}, Negative: []string{"no"}}, 0,
			map[string]string{"yes": "1", "no": "0", "1": "", "": ""}},
		{job.Table{Label: "y", LabelValues: job.ShareLabels}, 0,
			map[string]string{"0": "0", "1": "1", "0.25": "0.25", "1.01": "", "-0.01": "", "x": ""}},
		{job.Table{Label: "y", LabelValues: job.NumberLabels}, 0,
			map[string]string{"-3": "-3", "1.5": "1.5", "x": "", "1e40": ""}},
		{job.Table{Label: "y", Impressions: "n"}, 0,
			map[string]string{"0": "0", "17": "17", "-1": "", "x": ""}},
		{job.Table{Label: "y", FurtherLabels: []string{"z"}, LabelValues: job.NumberLabels,
			DecimalComma: []string{"z"}}, 1, map[string]string{"1,5": "1.5", "1.5": ""}},
	} {
		decode := NewLabelDecoder(&c.table)
		for text, want := range c.want {
			value, reason := decode(c.label, text)
			if got := fmt.Sprint(value); (reason == "") != (want != "") || reason == "" && got != want {
				t.Errorf("%+v: %q is %s (%s), want %q", c.table, text, got, reason, want)
			}
		}
	}
	for _, c := range []struct {
		clicks, impressions, share float32
		ok                         bool
	}{{1, 4, 0.25, true}, {4, 4, 1, true}, {5, 4, 0, false}, {0, 0, 0, true}, {0, 3, 0, true}} {
		if share, reason := Share(c.clicks, c.impressions); share != c.share || (reason == "") != c.ok {
			t.Errorf("%+v: %v (%s)", c, share, reason)
		}
	}
	for text, want := range map[string]float32{"0": 0, "1": 1} {
		if y, ok := ParseBinaryLabel(text); y != want || !ok {
			t.Errorf("%q: %v", text, y)
		}
	}
	if _, ok := ParseBinaryLabel("2"); ok {
		t.Error("2 is a label")
	}
}
