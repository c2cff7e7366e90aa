package driver

import (
	"testing"

	"tandem/algo/protocol/pace"
)

// The cost of the driver: 16 samples a step leave next to nothing to compute. A
// batch in sync mode is 8 messages among loader, EW and NN worker, and 4 to and
// from every PS.
func BenchmarkMessages(b *testing.B) {
	const trained = 100
	messages := 0
	for b.Loop() {
		b.StopTimer()
		cfg, p := cluster(b, pace.Sync{Overlap: pace.OverlapIDsDS}, steps(trained))
		b.StartTimer()
		if err := Run(b.Context(), cfg, p, Options{}); err != nil {
			b.Fatal(err)
		}
		messages += trained * int(cfg.Ranks) * (8 + 4*servers)
	}
	b.ReportMetric(float64(messages)/b.Elapsed().Seconds(), "messages/s")
}
