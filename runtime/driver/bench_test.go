package driver

import (
	"testing"

	"tandem/algo/protocol/pace"
)

// The benchmark measures the cost of the driver: 16 samples a step leave almost nothing to compute. In sync
// mode a batch causes 8 messages among data loader, EW and NN worker, and 4 messages to and from every PS.
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
