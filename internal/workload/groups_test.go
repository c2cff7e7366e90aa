package workload

import (
	"maps"
	"math"
	"slices"
	"testing"

	"tandem/algo/job"
	"tandem/datasets"
	"tandem/sim/cost"
)

// A job that asks for rows on GPUs has the rows and the reads of each feature group, as a plain count of its
// ids finds them; in the samples of generated data they are expected. Other jobs have none.
func TestGroupsOfRowsForGPUs(t *testing.T) {
	j := job.Default()
	j.Data = job.Data{Kind: job.KindSynthetic, Synthetic: &job.Synthetic{
		Seed: 1, TrainRows: 20_000, TestRows: 10, Columns: []job.SyntheticColumn{
			{Name: "user", Cardinality: 30_000, Exponent: 1.1}, {Name: "hour", Cardinality: 24},
			{Name: "tags", Cardinality: 5000, Exponent: 0.8, IDsPerRow: 2.5},
			{Name: "friend", Cardinality: 1000, Exponent: 1.1},
		},
	}, Slots: []job.SlotSetting{{Slot: "user", Group: "people"}, {Slot: "friend", Group: "people"}}}
	data, err := datasets.Open(j.Data, "")
	if err != nil {
		t.Fatal(err)
	}
	slots := [][]int{{0, 3}, {1}, {2}}
	names, named := [][]string{{"user", "friend"}, {"hour"}, {"tags"}}, []float64{2, 1, 2.5}
	for _, placement := range []string{"", job.RowsOnGPU} {
		j.Rows.Placement = placement
		expected, _, err := Simulated(&j.Data, &j, "")
		if err != nil {
			t.Fatal(err)
		}
		counted, _, err := Counted(data, &j)
		if err != nil {
			t.Fatal(err)
		}
		if placement == "" {
			if expected.Groups != nil || counted.Groups != nil {
				t.Error("a job without rows on GPUs has groups")
			}
			continue
		}
		for i, of := range slots {
			distinct := map[uint64]bool{}
			for _, s := range of {
				maps.Insert(distinct, maps.All(setOf(data.Train.Slots[s].IDs)))
			}
			n := float64(len(distinct))
			for what, w := range map[string]cost.Workload{"expected": expected, "counted": counted} {
				g := w.Groups[i]
				// A count of rows deviates by less than √n, and one of ids by less than 0.02 of a sample.
				if !slices.Equal(g.Slots, names[i]) || math.Abs(g.Named-named[i]) > 0.05 ||
					math.Abs(g.Rows-n) > 4*math.Sqrt(n) || what == "counted" && g.Rows != n {
					t.Errorf("%s: %+v, want %v with %v rows, %v of a sample", what, g, names[i], n, named[i])
				}
			}
		}
	}
}

func setOf(ids []uint64) map[uint64]bool {
	set := map[uint64]bool{}
	for _, id := range ids {
		set[id] = true
	}
	return set
}
