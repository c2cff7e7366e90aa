package infer

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/datasets"
)

// What labels are follows from their values.
func TestLabelsAsPeopleHaveThem(t *testing.T) {
	for _, c := range []struct {
		name, delimiter string
		label           func(i int) string
		want            string // LabelValues
		why             string
		mean            float64
	}{
		{"classes", ",", func(i int) string { return fmt.Sprint(i % 2) }, job.ClassLabels,
			"1 is positive, 0 negative", 0.5},
		{"two shares", ",", func(i int) string { return []string{"0.2", "0.8"}[i%4/3] }, job.ClassLabels,
			"0.8 is positive, 0.2 negative", 0.25},
		{"shares", ",", func(i int) string { return fmt.Sprintf("0.%02d", i%100) }, job.ShareLabels,
			"shares between 0 and 1", 0.495},
		{"shares with a decimal comma", ";", func(i int) string { return fmt.Sprintf("0,%02d", i%100) },
			job.ShareLabels, "shares between 0 and 1", 0.495},
		{"shares of few values", ",", func(i int) string { return []string{"0", "0.5", "1"}[i%4%3] },
			job.ShareLabels, "shares between 0 and 1", 0.375},
		{"one share among classes", ",",
			func(i int) string { return []string{"0", "1", "0.5"}[i%2+i/199] }, job.ShareLabels,
			"shares between 0 and 1", 0.4975},
		{"numbers", ";", func(i int) string { return fmt.Sprintf("1.%03d,5", i%100) }, job.NumberLabels,
			"numbers, learned by squared loss", 1050},
		{"whole numbers", ",", func(i int) string { return fmt.Sprint(i % 11) }, job.NumberLabels,
			"numbers, learned by squared loss", 4.955},
	} {
		t.Run(c.name, func(t *testing.T) {
			var text strings.Builder
			fmt.Fprintf(&text, "user%sy\n", c.delimiter)
			for i := range 200 {
				fmt.Fprintf(&text, "%d%s%s\n", i%9, c.delimiter, c.label(i))
			}
			path := file(t, text.String())
			got, err := CSV(path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			at := slices.IndexFunc(got.Columns, func(c Column) bool { return c.Use == Label })
			if got.Data.LabelValues() != c.want || got.Columns[at].Why != c.why ||
				fmt.Sprintf("%.6f", got.LabelMean) != fmt.Sprintf("%.6f", c.mean) {
				t.Errorf("%q, %s, mean %v; want %q, %s, %v", got.Data.LabelValues(), got.Columns[at].Why,
					got.LabelMean, c.want, c.why, c.mean)
			}
			rows, err := datasets.ReadRows(got.Data, path)
			if err != nil {
				t.Fatal(err)
			}
			sum := 0.0
			for _, label := range rows.Batch.Labels {
				sum += float64(label)
			}
			if mean := sum / 200; fmt.Sprintf("%.6f", mean) != fmt.Sprintf("%.6f", c.mean) {
				t.Errorf("the labels that are read have mean %v, want %v", mean, c.mean)
			}
		})
	}
	ratings := file(t, "user,y\n1,4\n2,5\n3,3\n4,4.5\n")
	for _, c := range []struct{ asked, want string }{{job.NumberLabels, job.NumberLabels},
		{"", "or learn the numbers, with --label-values numbers"}, {"classes", "say which are positive"},
		{"number", `--label-values: "number" is unknown; the nearest is "numbers"`}} {
		got, err := CSV(ratings, Options{LabelValues: c.asked})
		if err != nil && !strings.Contains(err.Error(), c.want) || err == nil &&
			(got.Data.LabelValues() != c.want || got.LabelMean != 4.125) {
			t.Errorf("%q: %+v, error %v; want %s", c.asked, got, err, c.want)
		}
	}
	for _, o := range []Options{{LabelValues: job.NumberLabels}, {LabelValues: job.NumberLabels,
		Positive: ">3"}} {
		if _, err := CSV(file(t, "user,y\n1,a\n2,b\n3,a\n"), o); err == nil ||
			!strings.Contains(err.Error(), "leave") {
			t.Errorf("%+v: error %v", o, err)
		}
	}
	path := file(t, "user,Impressions,clicks,w\na,10,1,0.5\nb,20,5,2\na,0,0,1\nc,10,2,1\n")
	for _, o := range []Options{{}, {Label: "clicks"}, {Label: "clicks", Impressions: "Impressions"},
		{Label: "clicks", Weight: "w"}} {
		got, err := CSV(path, o)
		if err != nil {
			t.Fatal(err)
		}
		if spec := got.Data.CSV; spec.Impressions != "Impressions" || spec.Weight != o.Weight ||
			got.LabelMean != 0.2 || slices.Contains(spec.SlotNames(), "Impressions") ||
			slices.Contains(spec.Numeric, "Impressions") {
			t.Errorf("%+v: %+v, mean %v", o, spec, got.LabelMean)
		}
		if rows, err := datasets.ReadRows(got.Data, path); err != nil || rows.Batch.Labels[1] != 0.25 {
			t.Errorf("%+v: %v, error %v", o, rows, err)
		}
	}
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Weight: "user"}, `column "user": weights and counts must be numbers of at least 0`},
		{Options{Weight: "wght"}, `column "wght" is unknown`},
		{Options{Weight: "clicks"}, `column "clicks" is the label`},
		{Options{Impressions: "w", Positive: ">1"}, "of clicks and impressions, the label is the share"},
	} {
		if _, err := CSV(path, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want %q", c.o, err, c.want)
		}
	}
	if _, err := CSV(file(t, "user,y\n1,0.1\n2,\n3,0.2\n4,0.3\n"), Options{}); err == nil ||
		!strings.Contains(err.Error(), `label "y" is missing, "", in some rows`) {
		t.Errorf("error %v", err)
	}
}
