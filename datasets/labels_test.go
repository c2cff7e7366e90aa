package datasets

import (
	"fmt"
	"math"
	"os"
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

// aggregated are rows of users with clicks of impressions, and with weights.
func aggregated(rows int) string {
	var text strings.Builder
	text.WriteString("user,seen,clicks,w\n")
	for i := range rows {
		seen := i * 7919 % 20
		fmt.Fprintf(&text, "u%d,%d,%d,%d.5\n", i%97, seen, i%(seen+1), i%3)
	}
	return text.String()
}

// Clicks of impressions are shares, whose rows count as often as there are impressions, times their weights,
// over the mean of the training rows: in memory, from a cache, in the blocks of a file and in those of a
// temporary file.
func TestClicksOfImpressions(t *testing.T) {
	const rows = 30_000
	folder := t.TempDir()
	write(t, folder, "clicks.csv", aggregated(rows))
	write(t, folder, "clicks.csv.gz", gzipped(t, aggregated(rows)))
	data := job.Data{Kind: job.KindCSV, Path: filepath.Join(folder, "clicks.csv"), Cache: t.TempDir(),
		Split: job.Split{Test: 0.25}, CSV: &job.Table{Slots: []job.IDColumn{{Column: "user"}},
			Label: "clicks", Impressions: "seen", Weight: "w"}}
	var sum, clicked float64
	label, weight := make([]float32, rows), make([]float64, rows)
	for i := range rows {
		seen := float64(i * 7919 % 20)
		clicks := float64(i % (int(seen) + 1))
		weight[i] = seen * (float64(i%3) + 0.5)
		if seen > 0 {
			label[i] = float32(clicks / seen)
		}
		if i < rows*3/4 {
			sum, clicked = sum+weight[i], clicked+weight[i]*float64(label[i])
		}
	}
	stream := data
	stream.Stream, stream.Cache = true, ""
	zipped := stream
	zipped.Path += ".gz"
	for name, d := range map[string]job.Data{"memory": data, "cached": data, "stream": stream,
		"temporary file": zipped} {
		set, err := mustOpen(t, d).InMemory()
		if err != nil {
			t.Fatal(err)
		}
		for i := range rows {
			part, row := set.Train, i
			if i >= part.Samples {
				part, row = set.Test, i-part.Samples
			}
			want := weight[i] / (sum / float64(set.Train.Samples))
			if got := float64(part.Weights[row]); part.Labels[row] != label[i] || math.Abs(got-want) > 1e-5 {
				t.Fatalf("%s: row %d has label %v and weight %v, want %v and %v", name, i, part.Labels[row],
					got, label[i], want)
			}
		}
		if got := mustOpen(t, d).LabelMean(0); math.Abs(got-clicked/sum) > 1e-6 {
			t.Errorf("%s: mean label %v, want %v", name, got, clicked/sum)
		}
	}
	if entries, err := os.ReadDir(data.Cache); err != nil || len(entries) == 0 {
		t.Errorf("%d cached files, error %v", len(entries), err)
	}
}

// Weights and counts that cannot be are named.
func TestBadWeightsAreNamed(t *testing.T) {
	for row, want := range map[string]string{
		"a,3,4,1":  "clicks: \"4\": must be at most the number of impressions, 3",
		"a,-1,0,1": "seen: \"-1\": must be at least 0", "a,3,-1,1": "clicks: \"-1\": must be at least 0",
		"a,3,1,-2": "w: \"-2\": must be at least 0", "a,3,1,": "w: \"\": not a number",
	} {
		folder := t.TempDir()
		write(t, folder, "a.csv", "user,seen,clicks,w\nb,2,1,1\n"+row+"\nc,2,2,1\n")
		_, err := Open(job.Data{Kind: job.KindCSV, Path: filepath.Join(folder, "a.csv"), CSV: &job.Table{
			Slots: []job.IDColumn{{Column: "user"}}, Label: "clicks", Impressions: "seen", Weight: "w"}}, "")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", row, err, want)
		}
	}
	folder := t.TempDir()
	write(t, folder, "a.csv", "user,y,w\na,1,0\nb,0,0\nc,1,1\n")
	_, err := Open(job.Data{Kind: job.KindCSV, Path: filepath.Join(folder, "a.csv"), Cache: job.CacheOff,
		Split: job.Split{Test: 0.34}, CSV: &job.Table{Slots: []job.IDColumn{{Column: "user"}}, Label: "y",
			Weight: "w"}}, "")
	if err == nil || !strings.Contains(err.Error(), "all training rows have weight 0") {
		t.Errorf("error %v", err)
	}
}

// Labels that are numbers are those of the file, and their mean and deviation are those of the training rows,
// in memory and in a stream.
func TestNumbersAreLabels(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, "a.csv", "user,y\na,1e3\nb,-4\nc,2\nd,7\n")
	data := job.Data{Kind: job.KindCSV, Path: filepath.Join(folder, "a.csv"), Cache: job.CacheOff,
		Split: job.Split{Test: 0.25}, CSV: &job.Table{Slots: []job.IDColumn{{Column: "user"}}, Label: "y",
			LabelValues: job.NumberLabels}}
	for _, data.Stream = range []bool{false, true} {
		set := mustOpen(t, data)
		mean, deviation := 998.0/3, math.Sqrt((1e6+16+4)/3-998.0/3*998/3)
		if !slices.Equal(set.Test.Labels, []float32{7}) || set.LabelValues != job.NumberLabels ||
			math.Abs(set.LabelMean(0)-mean) > 1e-9 || math.Abs(set.LabelDeviation(0)-deviation) > 1e-9 {
			t.Errorf("stream %v: test labels %v, mean %v, deviation %v", data.Stream, set.Test.Labels,
				set.LabelMean(0), set.LabelDeviation(0))
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
