package datasets

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/compress"
	"tandem/algo/numeric/route"
	"tandem/algo/numeric/shard"
)

// sizes are the bytes of the id features in the batches of a data set, and of their distinct
// signs.
type sizes struct{ raw, persia, ours, signs, oursSigns int }

// sizesOf returns the sizes of the training rows in batches of a number of samples.
func sizesOf(t testing.TB, data *Dataset, samples int) (z sizes) {
	schema := WithDim(data.Schema, 1)
	for lo := 0; lo+samples <= data.Train.Samples; lo += samples {
		b := batch.Slice(data.Train, lo, lo+samples)
		for _, slot := range b.Slots {
			distinct := map[uint64]bool{}
			for _, id := range slot.IDs {
				distinct[id] = true
			}
			z.raw += 8*len(slot.IDs) + 4*len(slot.Offsets)
			// Persia's FeatureBatch: for every distinct id, the id, the length of its list
			// and its position in a map; for every occurrence, a sample and a column; for
			// every sample, its number of ids.
			z.persia += 28*len(distinct) + 4*len(slot.IDs) + 4*samples
		}
		packed := compress.AppendIDs(nil, b.Slots)
		back, err := compress.ReadIDs(packed, len(b.Slots), samples)
		if err != nil {
			t.Fatal(err)
		}
		for s := range back {
			if !slices.Equal(back[s].IDs, b.Slots[s].IDs) ||
				!slices.Equal(back[s].Offsets, b.Slots[s].Offsets) {
				t.Fatalf("slot %d has changed", s)
			}
		}
		z.ours += len(packed)
		signs := route.Route(&schema, batch.Cut(b, 1, 1)[0], shard.Rows(1)).Signs
		z.signs += 8 * len(signs)
		z.oursSigns += compress.PackSigns(signs, schema.PrefixBits).Size()
	}
	return z
}

// Persia, section on communication, "lossless index compression": the distinct ids of a batch and
// small positions replace the ids of every sample. On slots with one id, the form of the original
// adds more than it saves. Ours is smaller than both raw ids and the original, for every data set
// and batch size.
func TestIndexCompressionBeatsRawIDs(t *testing.T) {
	folder := os.Getenv("TANDEM_DATA")
	for _, c := range []struct {
		name string
		cfg  job.Data
	}{
		{"adult-income", job.Data{Kind: job.KindAdultIncome}},
		{"synthetic Zipf", job.Data{Kind: job.KindSynthetic,
			Synthetic: &job.Synthetic{Seed: 1, TrainRows: 16384, TestRows: 1, Columns: []job.SyntheticColumn{
				{Cardinality: 10_000_000, Exponent: 1.05}, {Cardinality: 100_000, Exponent: 1.1},
				{Cardinality: 500, Exponent: 0.8},
			}}}},
		{"criteo, generated", job.Data{Kind: job.KindSynthetic,
			Synthetic: &job.Synthetic{Seed: 1, TrainRows: 8192, TestRows: 1, Preset: job.PresetCriteo}}},
		{"criteo", job.Data{Kind: job.KindCriteo, Path: "criteo-kaggle-head/train_head10k.txt.gz"}},
		{"frappe", job.Data{Kind: job.KindLibFM, Train: "frappe/nfm_validation.libfm.gz",
			Test: "frappe/nfm_test.libfm.gz"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if (c.cfg.Path != "" || c.cfg.Train != "") && folder == "" {
				t.Skip("needs TANDEM_DATA")
			}
			data, err := Open(c.cfg, folder)
			if err != nil {
				t.Fatal(err)
			}
			t.Log("samples  raw ids  Persia's  ours   raw signs  ours    (bytes a sample)")
			for _, samples := range []int{32, 256, 4096} {
				z := sizesOf(t, data, samples)
				n := float64(data.Train.Samples / samples * samples)
				t.Logf("%7d %8.1f %9.1f %5.1f %11.1f %5.1f", samples, float64(z.raw)/n, float64(z.persia)/n,
					float64(z.ours)/n,
					float64(z.signs)/n, float64(z.oursSigns)/n)
				if z.ours >= z.raw || z.ours >= z.persia || z.oursSigns > z.signs {
					t.Errorf("batches of %d: %+v", samples, z)
				}
			}
		})
	}
}

// The form of the original is made for slots with several ids that repeat: there it is smaller
// than raw ids, and ours is smaller still.
func TestIndexCompressionOfHistories(t *testing.T) {
	history := batch.Jagged{Offsets: []int32{0}}
	for i := range 256 {
		for k := range 20 {
			history.IDs = append(history.IDs, CategoryID(fmt.Sprint(i%7, strings.Repeat("x", k))))
		}
		history.Offsets = append(history.Offsets, int32(len(history.IDs)))
	}
	b := &batch.Batch{Samples: 256, Slots: []batch.Jagged{history}}
	z := sizesOf(t, &Dataset{Schema: batch.Schema{Slots: make([]batch.Slot, 1), PrefixBits: prefixBits},
		Train: b}, 256)
	if !(z.ours < z.persia && z.persia < z.raw) {
		t.Errorf("%+v", z)
	}
}
