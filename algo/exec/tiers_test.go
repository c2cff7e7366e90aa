package exec

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tandem/algo/exec/backend"
	"tandem/algo/exec/embedding"
	"tandem/algo/exec/exectest"
	"tandem/algo/exec/frequent"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/protocol/msg"
)

// drawIDs returns samples with one id each, of a number of rows of which the k-th has the weight k^−skew. Ids
// of frequent rows are not neighbours.
func drawIDs(r *rand.Rand, samples, rows int, skew float64) *exectest.Columns {
	below := make([]float64, rows) // the weights up to each row
	sum := 0.0
	for k := range below {
		sum += math.Pow(float64(k+1), -skew)
		below[k] = sum
	}
	c := &exectest.Columns{Size: samples, Fields: batch.Schema{PrefixBits: 8, Labels: []string{"y"},
		Slots: []batch.Slot{{Name: "id", Dim: 3}}}}
	own := batch.Jagged{Offsets: []int32{0}}
	for range samples {
		k, _ := slices.BinarySearch(below, r.Float64()*sum)
		own.IDs = append(own.IDs, uint64(k)*0x9e3779b97f4a7c15)
		own.Offsets = append(own.Offsets, int32(len(own.IDs)))
	}
	c.All = &batch.Batch{Samples: samples, Slots: []batch.Jagged{own}, Labels: make([]float32, samples)}
	return c
}

// topShare returns the share of the weights of drawIDs that the first of the rows have.
func topShare(first, rows int, skew float64) float64 {
	top, all := 0.0, 0.0
	for k := range rows {
		w := math.Pow(float64(k+1), -skew)
		if all += w; k < first {
			top += w
		}
	}
	return top / all
}

// GPUs with room for 1/1, 1/4 and 1/16 of a table serve the share of ids that the most frequent rows have in
// theory, to within 2 %, if rows are chosen by other samples than those that are served: 16 times as many as
// rows. The share of each GPU, which a hash chooses, costs next to nothing.
func TestTiersServeTheShareOfTheMostFrequentRows(t *testing.T) {
	const rows, samples = 1 << 13, 1 << 17
	for _, skew := range []float64{1.05, 0} {
		counted := drawIDs(rand.New(rand.NewPCG(1, 1)), samples, rows, skew)
		served := drawIDs(rand.New(rand.NewPCG(2, 2)), samples, rows, skew)
		for _, times := range []int{1, 4, 16} {
			const ranks = 4
			j := exectest.Job(ranks, 1)
			j.Rows.Placement, j.Rows.Capacity, j.Model.Device.CUDA = job.RowsOnGPU, rows/times/ranks, true
			j.Rows.Hot.Auto = true
			if err := frequent.Choose(&j, counted, 0); err != nil {
				t.Fatal(err)
			}
			elsewhere := func(at msg.Address) bool { return at.Role != msg.NNWorker }
			e, err := NewLocal(j, served, backend.Backend{}, elsewhere)
			if err != nil {
				t.Fatal(err)
			}
			for rank, part := range batch.Cut(served.All, j.TotalGroups(), ranks) {
				for range 1 + rank%2 { // an EW that has lost a batch divides it again
					(&embeddingWorkerWork{e.numerics}).divide(embedding.BatchKey{Rank: int32(rank)}, part)
				}
			}
			all, onGPUs := IDsInTiers(e.Model())
			got, want := float64(onGPUs)/float64(all), topShare(rows/times, rows, skew)
			t.Logf("skew %g, a table of %2d times the memory: %.1f %% of ids, in theory %.1f %%", skew, times,
				100*got, 100*want)
			if all != samples || math.Abs(got-want) > 0.02 {
				t.Errorf("skew %g, a table of %d times the memory: %.3f of %d ids, want %.3f", skew, times,
					got, all, want)
			}
		}
	}
}
