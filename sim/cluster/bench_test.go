package cluster

import (
	"fmt"
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

// The time of an event should not depend on the number of ranks. It does: caches; and flows that two nearly
// full links could slow down, whose rates are solved one by one.
func BenchmarkEvents(b *testing.B) {
	for _, mode := range []string{job.Sync, job.Hybrid, job.AsyncPS} {
		for _, ranks := range []int{8, 64, 256, 1024, 4096} {
			b.Run(fmt.Sprintf("%s/%d", mode, ranks), func(b *testing.B) {
				layout, w, s := tower(b), clicks(), job.PersiaCluster()
				events := int64(0)
				for b.Loop() {
					r, err := Run(hardwareOf(b, s), training(mode, ranks), layout, w,
						Options{SystemJitter: true, Seed: 1, WarmUp: 8, Measured: 8})
					if err != nil {
						b.Fatal(err)
					}
					events += r.Events
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(events), "ns/event")
			})
		}
	}
}
