package datasets

import (
	"os"
	"path/filepath"
	"testing"

	"tandem/algo/job"
)

// BenchmarkOpen opens data in Criteo's format by parsing, and from cached columns, whose numbers
// are standardised after loading.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	text := criteoText(b, 64<<20)
	if err := os.WriteFile(filepath.Join(dir, "clicks.tsv"), text, 0o644); err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct{ name, cache string }{{"parsed", job.CacheOff},
		{"cached", filepath.Join(dir, "cached")}} {
		cfg := job.Data{Kind: job.KindCriteo, Path: "clicks.tsv", Cache: c.cache}
		if _, err := Open(cfg, dir); err != nil { // fills the cache
			b.Fatal(err)
		}
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			rows := 0
			for b.Loop() {
				data, err := Open(cfg, dir)
				if err != nil {
					b.Fatal(err)
				}
				rows += data.Train.Samples + data.Test.Samples
			}
			b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
