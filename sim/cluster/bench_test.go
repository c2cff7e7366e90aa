package cluster

import (
	"testing"

	"tandem/algo/job"
)

// Budget: well under 0.3 s.
func BenchmarkPersia64(b *testing.B) {
	for _, mode := range []string{job.Sync, job.Hybrid} {
		b.Run(mode, func(b *testing.B) {
			layout, w, s := tower(b), clicks(), job.GoogleCloudCluster()
			for b.Loop() {
				if _, err := Run(hardwareOf(b, s), training(mode, 64), layout, w,
					Options{WarmUp: 20, Measured: 30}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Budget: 1.5 s on one core.
func BenchmarkThousandSteps(b *testing.B) {
	for _, mode := range []string{job.Sync, job.Hybrid} {
		b.Run(mode, func(b *testing.B) {
			layout, w, s := tower(b), clicks(), job.PersiaCluster()
			for b.Loop() {
				if _, err := Run(hardwareOf(b, s), training(mode, 64), layout, w,
					Options{WarmUp: 20, Measured: 980}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
