package validation

import (
	"math"
	"slices"
	"testing"

	"tandem/sim/model"
)

// The sizes of tables that the pages state, in GiB with 4 bytes a value, and the number of ids of a sample.
func TestModelsHaveThePublishedSizes(t *testing.T) {
	sizes := map[string]struct{ gib, ids float64 }{
		// distributed-embeddings, synthetic_models: 55 tables have 58 inputs, of which 3 have 10 ids.
		"synthetic-tiny":   {4.2, 58 + 3*9},
		"synthetic-small":  {26.3, 107 + 9 + 9*29},
		"synthetic-medium": {206.2, 311 + 26 + 26*49},
		"synthetic-large":  {773.8, 612 + 57 + 57*99},
		"synthetic-jumbo":  {3109.5, 1022 + 75 + 75*199},
		// DeepLearningExamples, TensorFlow2: thresholds 15, 3 and 0.
		"criteo-t15-dlrm":  {15.6, 26},
		"criteo-t15-dcnv2": {15.6, 26},
		"criteo-t3-dlrm":   {84.9, 26},
		"criteo-t3-dcnv2":  {84.9, 26},
		"criteo-t0-dlrm":   {421, 26},
		// HugeCTR, samples/dlrm: 187,767,399 rows of 128 values.
		"criteo-40m-dlrm": {187767399 * 128 * 4 / float64(1<<30), 26},
		// DLPerf: 2,322,444 deep rows, and 3,200,000 wide ones of a single value.
		"wdl-2x1024-dim16": {(2322444*16 + 3200000) * 4 / float64(1<<30), 28},
		"wdl-2x1024-dim32": {(2322444*32 + 3200000) * 4 / float64(1<<30), 28},
		"wdl-7x1024-dim32": {(2322444*32 + 3200000) * 4 / float64(1<<30), 28},
	}
	for _, name := range Models.Names() {
		want, ok := sizes[name]
		m := new(model.Model)
		if err := Models.Load(name, m); err != nil || !ok {
			t.Errorf("%s: error %v; its published size is known: %v", name, err, ok)
			continue
		}
		s := m.Size(model.Float32)
		gib := s.RowBytes / (1 << 30)
		if math.Abs(gib/want.gib-1) > 0.015 || s.IDs != want.ids || m.Name != name {
			t.Errorf("%s: %s with %.2f GiB and %v ids, want %.2f and %v", name, m.Name, gib, s.IDs, want.gib,
				want.ids)
		}
	}
	used := func(name string) bool {
		return slices.ContainsFunc(load(t), func(s Step) bool { return s.Model == name })
	}
	for _, name := range Models.Names() {
		if !used(name) {
			t.Errorf("%s: no step has it", name)
		}
	}
}
