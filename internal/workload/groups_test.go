package workload

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/compress"
	"tandem/algo/numeric/shard"
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
		j.Rows.Placement, j.Training.Mode = placement, job.Sequential // other modes are predicted, too
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
				if g.Width != 16*len(of) || !slices.Equal(g.Slots, names[i]) ||
					math.Abs(g.Named-named[i]) > 0.05 ||
					math.Abs(g.Created-n) > 4*math.Sqrt(n) || what == "counted" && g.Created != n {
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

// Groups have the weights of their ids, and the maxima of their slots.
func TestGroupsHaveTheirWeightsAndMaxima(t *testing.T) {
	schema := &batch.Schema{PrefixBits: 12, Slots: []batch.Slot{{Name: "a", Dim: 4, Pooling: batch.Max},
		{Name: "b", Dim: 4, Weighted: true}}}
	rows := &batch.Batch{Samples: 2, Slots: []batch.Jagged{
		{Offsets: []int32{0, 1, 3}, IDs: []uint64{5, 5, 6}},
		{Offsets: []int32{0, 1, 1}, IDs: []uint64{7}, Weights: []float32{0.5}}}}
	g := countedGroups(schema, rows)
	if g[0].Winners != 4 || g[0].Weights != 0 || g[0].Named != 1.5 || g[0].Rows != 2 || g[1].Winners != 0 ||
		g[1].Weights != 0.5 || g[1].Rows != 1 || g[1].Distinct(1) != 0.5 {
		t.Errorf("%+v", g)
	}
}

// A part of a job's rows has the ids, the rows and the compressed sizes of its slots alone: counted as in
// their columns, and expected as of data that have no others.
func TestPartOfAJobIsThatOfItsSlots(t *testing.T) {
	j := job.Default()
	columns := []job.SyntheticColumn{{Name: "user", Cardinality: 3000, Exponent: 1.1},
		{Name: "hour", Cardinality: 24}, {Name: "tags", Cardinality: 500, Exponent: 0.8, IDsPerRow: 2.5}}
	j.Data = job.Data{Kind: job.KindSynthetic, Synthetic: &job.Synthetic{Seed: 1, TrainRows: 2000,
		TestRows: 10, Columns: columns}, Slots: []job.SlotSetting{{Slot: "user", Placement: job.RowsOnPSs}}}
	j.Rows.Placement, j.Wire.Index, j.Training.GlobalBatch = job.RowsOnGPU, job.IndexCompressed, 2000
	data, err := datasets.Open(j.Data, "")
	if err != nil {
		t.Fatal(err)
	}
	counted, _, err := Counted(data, &j)
	if err != nil {
		t.Fatal(err)
	}
	expected, _, err := Simulated(&j.Data, &j, "")
	if err != nil {
		t.Fatal(err)
	}
	alone := j
	spec := *j.Data.Synthetic
	spec.Columns, alone.Data.Slots, alone.Data.Synthetic = columns[1:], nil, &spec
	others, _, err := Simulated(&alone.Data, &alone, "")
	if err != nil {
		t.Fatal(err)
	}
	got := expected.OnGPUs(&j)
	if got.Distinct(100) != others.Distinct(100) || got.Occurrences != others.Occurrences ||
		got.RowOccurrences != others.RowOccurrences || got.Rows != others.Rows ||
		got.Created != others.Created ||
		got.Slots != others.Slots || got.Trained != others.Trained || got.RowBytes != others.RowBytes {
		t.Errorf("expected %+v, want %+v", got, others)
	}
	part := *data.Train
	part.Slots = part.Slots[1:]
	distinct := float64(len(setOf(part.Slots[0].IDs)) + len(setOf(part.Slots[1].IDs)))
	ids := len(part.Slots[0].IDs) + len(part.Slots[1].IDs)
	packed := float64(len(compress.AppendIDs(nil, part.Slots)))
	for what, w := range map[string]cost.Workload{"counted": counted, "expected": expected} {
		on := w.OnGPUs(&j)
		if on.Packed.IDs(2000) != packed || what == "counted" && (on.Distinct(2000) != distinct ||
			on.Occurrences != float64(ids)/2000 || on.Slots != 2) {
			t.Errorf("%s on GPUs: %v B of ids, %v rows, %v ids; want %v, %v, %v", what, on.Packed.IDs(2000),
				on.Distinct(2000), on.Occurrences, packed, distinct, float64(ids)/2000)
		}
		ps := w.OnPSs(&j)
		all := w.Packed.Signs(2000, shard.Rows(2)) - on.Packed.Signs(2000, shard.Rows(2))
		if got := ps.Packed.Signs(2000, shard.Rows(2)); math.Abs(got/all-1) > 0.02 || ps.Slots != 1 {
			t.Errorf("%s on PSs: %v B of signs, all but those of the others are %v", what, got, all)
		}
	}
	j.Data.Slots = nil
	for _, c := range columns {
		j.Data.Slots = append(j.Data.Slots, job.SlotSetting{Slot: c.Name, Placement: job.RowsOnPSs})
	}
	_, _, fromCount := Counted(data, &j)
	_, _, fromSpec := Simulated(&j.Data, &j, "")
	for _, err := range []error{fromCount, fromSpec} {
		if err == nil || !strings.Contains(err.Error(), "all slots of the data have placement ps") {
			t.Errorf("no slot on GPUs: %v", err)
		}
	}
}
