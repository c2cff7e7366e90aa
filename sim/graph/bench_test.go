package graph

import "testing"

func BenchmarkRun(b *testing.B) {
	j := example(b, dgxH100(b), "mlperf-dcnv2", 128, 55296)
	for b.Loop() {
		if _, err := Run(b.Context(), j); err != nil {
			b.Fatal(err)
		}
	}
}
