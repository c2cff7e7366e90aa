package similar

import (
	"math/rand/v2"
	"slices"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/datasets/synth"
)

// A site determines its category, and its domain in 97 of 100 rows. The price follows it in half of the rows,
// and users and ads are independent of it.
func TestTiesAreTheColumnsThatAnotherDetermines(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	b := &batch.Batch{Samples: 5_000, Slots: make([]batch.Jagged, 6), Labels: make([]float32, 5_000)}
	names := []string{"user", "domain", "site", "category", "ad", "price"}
	spec := job.Synthetic{Seed: 1, TrainRows: 5_000, TestRows: 10}
	for slot := range b.Slots {
		b.Slots[slot].Offsets = []int32{0}
	}
	for i := range b.Samples {
		site := uint64(random.ExpFloat64() * 20)
		row := []uint64{uint64(random.IntN(50)), site / 3, site, site / 30, uint64(random.IntN(9)), site / 10}
		if random.IntN(100) < 3 {
			row[1] = uint64(random.IntN(40))
		}
		if random.IntN(2) == 0 {
			row[5] = uint64(random.IntN(6))
		}
		for slot, id := range row {
			b.Slots[slot].IDs = append(b.Slots[slot].IDs, id)
			b.Slots[slot].Offsets = append(b.Slots[slot].Offsets, int32(i+1))
		}
	}
	var slots []int
	for slot, name := range names {
		byID := map[uint64]int64{}
		for _, id := range b.Slots[slot].IDs {
			byID[id]++
		}
		spec.Columns = append(spec.Columns, Column(values(byID)))
		spec.Columns[slot].Name = name
		slots = append(slots, slot)
	}
	ties := FindTies(&spec, b, b.Samples, slots)
	if len(ties) != 1 || !slices.Equal(ties[0].Columns, []string{"site", "domain", "category"}) ||
		ties[0].Strength < 0.95 || ties[0].Strength >= 1 {
		t.Fatalf("%+v", ties)
	}

	// Generated rows have the same ties, and only with them.
	for _, c := range []struct {
		ties []job.SyntheticTie
		want int
	}{{ties, 1}, {nil, 0}} {
		spec.Ties = c.ties
		data, err := synth.Generate(spec)
		if err != nil {
			t.Fatal(err)
		}
		if again := FindTies(&spec, data.Train, data.Train.Samples, slots); len(again) != c.want {
			t.Errorf("ties %+v: generated rows have %+v", c.ties, again)
		}
	}
}
