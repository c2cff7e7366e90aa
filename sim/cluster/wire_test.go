package cluster

import (
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/compress"
	"tandem/algo/numeric/shard"
	"tandem/algo/unit"
	"tandem/sim/cost"
)

// What a training packs is smaller on the wires by what its form saves, and by nothing else. A step of one
// rank, with one PS, sends pooled embeddings and their gradients, 512 samples of 26·16 values, and rows and
// row gradients, each once; ids once, and signs with lookup and put.
func TestPackedPayloadsAreSmallerOnTheWires(t *testing.T) {
	s := small()
	s.EmbeddingPSs.Count, s.EmbeddingPSs.PerHost = 1, 1
	w := clicks()
	w.Packed = &cost.PackedSizes{
		IDs: func(samples int) float64 { return 26 * float64(samples) },
		Signs: func(samples int,
			plan shard.Plan) float64 {
			return 7 * w.Distinct(samples) / float64(plan.Servers())
		},
	}
	bytes := func(change func(*job.Job)) unit.Bytes {
		j := training(job.Sync, 1)
		j.Training.Prefetch = 2 // so that batches are dealt throughout, one a step
		change(&j)
		a, err := Run(hardwareOf(t, s), j, tower(t), w, Options{WarmUp: 8, Measured: 8, check: true})
		if err != nil {
			t.Fatal(err)
		}
		return a.Bytes
	}
	plain := bytes(func(*job.Job) {})
	rows := w.Distinct(512)
	values := 2 * (512*26*16 + rows*16)
	for _, c := range []struct {
		name   string
		saves  float64
		change func(*job.Job)
	}{
		{"fp16", values * 2, func(t *job.Job) { t.Wire.Precision = compress.FP16 }},
		{"fp16-block", values * (2 - 1.0/compress.BlockValues),
			func(t *job.Job) { t.Wire.Precision = compress.FP16Block }},
		{"index", 512*26*(8-1) + 2*rows*(8-7), func(t *job.Job) { t.Wire.Index = job.IndexCompressed }},
	} {
		// Each of four or three messages is rounded to a byte.
		if got := float64(plain - bytes(c.change)); got < c.saves-4 || got > c.saves+4 {
			t.Errorf("%s saves %.0f bytes of %d a step, want %.0f", c.name, got, plain, c.saves)
		}
	}
}

func TestCompressedIndexNeedsItsSizes(t *testing.T) {
	j := training(job.Sync, 1)
	j.Wire.Index = job.IndexCompressed
	if _, err := Run(hardwareOf(t, small()), j, tower(t), clicks(),
		Options{}); err == nil || !strings.Contains(err.Error(), "no sizes of compressed ids") {
		t.Error(err)
	}
}
