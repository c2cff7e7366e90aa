package datasets

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/algo/job"
)

// shareRows are rows of users with labels between 0 and 1.
func shareRows(rows int) string {
	var text strings.Builder
	text.WriteString("user;rate\n")
	for i := range rows {
		fmt.Fprintf(&text, "u%d;0,%03d\n", i%97, i*7919%1000)
	}
	return text.String()
}

// shares describes a file of shareRows.
func shares(t *testing.T, rows int) job.Data {
	return job.Data{Kind: job.KindCSV, Path: filepath.Join(t.TempDir(), "rates.csv"), Cache: job.CacheOff,
		CSV: &job.Table{Delimiter: ";", Slots: []job.IDColumn{{Column: "user"}}, Label: "rate",
			LabelValues: job.ShareLabels, DecimalComma: []string{"rate"}}}
}

// Labels that are shares are the numbers of the file, in memory and in a stream of blocks.
func TestSharesAreLabels(t *testing.T) {
	data := shares(t, 40_000)
	write(t, filepath.Dir(data.Path), "rates.csv", shareRows(40_000))
	set := mustOpen(t, data)
	want := 0.0
	for i, label := range slices.Concat(set.Train.Labels, set.Test.Labels) {
		x := float32(float64(i*7919%1000) / 1000)
		if label != x {
			t.Fatalf("label %d is %v, want %v", i, label, x)
		}
		if i < set.Train.Samples {
			want += float64(x) / float64(set.Train.Samples)
		}
	}
	data.Stream = true
	for _, stream := range []*Dataset{set, mustOpen(t, data)} {
		if got := stream.LabelMean(0); !(math.Abs(got-want) < 1e-9) {
			t.Errorf("mean label %v, want %v", got, want)
		}
	}
}

// A label that is no share makes its row a bad one.
func TestBadSharesAreNamed(t *testing.T) {
	for field, want := range map[string]string{
		"1,5": "label must be a share, from 0 to 1", "-0,1": "label must be a share", "": "not a number",
		"NaN": "not a finite 32-bit number",
	} {
		data := shares(t, 0)
		write(t, filepath.Dir(data.Path), "rates.csv", "user;rate\na;0,5\nb;"+field+"\nc;1\n")
		if _, err := Open(data, ""); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "rates.csv:3") {
			t.Errorf("%q: error %v, want %q", field, err, want)
		}
	}
}
