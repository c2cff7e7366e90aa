package model

import (
	"fmt"
	"testing"

	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
)

// The layers and their work are those of the numeric engine's networks of the same shape. The engine
// multiplies each pair of vectors once, in the kernel that joins them, and computes the gradient of the
// numeric features.
func TestLayoutIsThatOfTheNumericEngine(t *testing.T) {
	for _, x := range []struct {
		name string
		spec model.Spec
	}{
		{"criteo", model.Spec{Kind: model.FeedForward, EmbeddingDim: 16,
			Top: []int{4096, 2048, 1024, 512, 256}}},
		{"mlperf-dlrm", model.Spec{Kind: model.DLRM, EmbeddingDim: 128, Bottom: []int{512, 256},
			Top: []int{1024, 1024, 512, 256}}},
	} {
		m := mustLoad(t, x.name)
		x.spec.Activation = "relu"
		schema := &batch.Schema{PrefixBits: batch.MaxPrefixBits, Labels: []string{"click"}}
		for i := range m.Numeric {
			schema.Dense = append(schema.Dense, fmt.Sprint("x", i))
		}
		for _, table := range m.Tables() {
			schema.Slots = append(schema.Slots, batch.Slot{Name: table.Name, Dim: table.Dim})
		}
		engine, err := model.New(x.spec, schema, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, want := m.Layout(), engine.Layout()
		if got.Params != want.Params || got.EmbeddingWidth != want.EmbeddingWidth ||
			got.DenseWidth != want.DenseWidth || got.Labels != want.Labels {
			t.Errorf("%s: %d parameters, widths %d and %d, %d labels; want %d, %d and %d, %d", x.name,
				got.Params,
				got.EmbeddingWidth, got.DenseWidth, got.Labels, want.Params, want.EmbeddingWidth,
				want.DenseWidth, want.Labels)
		}
		for what, ratio := range map[string]float64{
			"FLOPs of forward":  float64(got.Cost.ForwardFLOPs / want.Cost.ForwardFLOPs),
			"FLOPs of backward": float64(got.Cost.BackwardFLOPs / want.Cost.BackwardFLOPs),
			"bytes":             float64(got.Cost.ActivationBytes) / float64(want.Cost.ActivationBytes),
			"kernels":           float64(got.Cost.Kernels) / float64(want.Cost.Kernels),
		} {
			if ratio < 0.94 || ratio > 1.06 {
				t.Errorf("%s: %s %.3f of the engine's", x.name, what, ratio)
			}
		}
	}
}
