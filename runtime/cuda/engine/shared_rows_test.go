package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"tandem/algo/exec"
	"tandem/algo/exec/backend"
	"tandem/algo/exec/evaluation"
	"tandem/algo/exec/exectest"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/opt"
	"tandem/runtime/cuda/softgpu"
	"tandem/runtime/train"
)

// drawSlots draws slots of every form, of rows of dim values, some of which have their rows together.
func drawSlots(r *rand.Rand, dim int) (slots []batch.Slot) {
	for i := range 1 + r.IntN(4) {
		s := batch.Slot{Name: fmt.Sprint("slot", i), Dim: dim}
		if r.IntN(3) == 0 {
			s.HashStack = batch.HashStack{Rounds: 1 + r.IntN(2), Rows: 4 + r.IntN(20)}
		} else if r.IntN(2) == 0 {
			s.Group = "together"
		}
		if r.IntN(3) == 0 {
			s.Pooling, s.FixedSize = batch.Raw, 1+r.IntN(3)
		}
		s.Scale = []batch.Scale{batch.Unscaled, batch.SqrtScaled, batch.Mean}[r.IntN(3)]
		slots = append(slots, s)
	}
	return slots
}

// drawTraining draws a job whose rows are on its GPUs, for 1, 2 and 4 ranks, and its data.
func drawTraining(r *rand.Rand) (job.Job, *exectest.Columns) {
	return drawTrainingOf(r, drawSlots(r, 1+r.IntN(20)))
}

// drawTrainingOf is drawTraining with some slots.
func drawTrainingOf(r *rand.Rand, slots []batch.Slot) (job.Job, *exectest.Columns) {
	data := exectest.NewColumns(0, 4+r.IntN(24))
	data.Fields.Slots = slots
	b := data.All
	b.Samples, b.Slots = data.Size*(1+r.IntN(4))+r.IntN(data.Size), nil
	for range data.Fields.Slots {
		slot, most, ids := batch.Jagged{Offsets: []int32{0}}, 1+r.IntN(5), 1+r.Uint64N(40)
		for range b.Samples {
			for range r.IntN(most + 1) {
				slot.IDs = append(slot.IDs, r.Uint64N(ids))
			}
			slot.Offsets = append(slot.Offsets, int32(len(slot.IDs)))
		}
		b.Slots = append(b.Slots, slot)
	}
	for range b.Samples {
		b.Dense, b.Labels = append(b.Dense, float32(r.NormFloat64())), append(b.Labels, float32(r.IntN(2)))
	}
	j := exectest.Job(1, 1+r.IntN(3))
	j.Model.Device.CUDA, j.Training.GlobalBatch, j.Training.Seed = true, data.Size, r.Uint64N(1000)
	j.Training.Groups = []int{4, 8, 16}[r.IntN(3)]
	j.Model.Spec.EmbeddingDim, j.Model.Spec.BatchNorm = data.Fields.Slots[0].Dim, r.IntN(2) == 0
	j.Rows.Optimizer.Kind = []string{opt.SGD, opt.Adagrad, opt.RowwiseAdagrad, opt.Adam}[r.IntN(4)]
	j.Rows.Optimizer.Order = []opt.Order{opt.Before, opt.After}[r.IntN(2)]
	j.Rows.Optimizer.Rate, j.Rows.Init = 0.1, 0.05
	j.Training.EvaluateEvery.Steps = r.IntN(3)
	j.Wire.AllReduce = []string{job.HostSums, job.NCCLTreeSums}[r.IntN(2)]
	return j, data
}

// shared returns a job with its rows on the GPUs of a number of ranks.
func shared(j job.Job, ranks int) job.Job {
	j.Roles.Ranks, j.Rows.Placement, j.Rows.Capacity = ranks, job.RowsOnGPU, 300
	j.Model.Device.CUDA = true
	if ranks == 1 {
		j.Wire.AllReduce = job.HostSums
	}
	return j
}

// trainedOn trains a job on GPUs of the software, one for each rank.
func trainedOn(t *testing.T, j job.Job, data *exectest.Columns, o train.Options) (*train.Result, error) {
	t.Helper()
	if err := j.Validate(); err != nil {
		t.Fatal(err)
	}
	o.Backend = backend.Backend{Trainer: open(t, j.Roles.Ranks, j).Trainer}
	return train.Run(t.Context(), j, data, data.All, o)
}

// Random jobs have the same bits with their rows on 1, 2 or 4 GPUs as on PSs beside one GPU: rows, network
// and predictions, in sync and, where no read is stale either, in hybrid.
func TestSharedRowsHaveTheSameBitsOnAnyNumberOfGPUs(t *testing.T) {
	jobs := 8
	if *long {
		jobs = 500
	} else if testing.Short() {
		jobs = 3
	}
	for seed := range jobs {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { compareSharedRows(t, uint64(seed)) })
	}
}

// compareSharedRows compares the rows of a random job on PSs and on GPUs.
func compareSharedRows(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(11, seed))
	j, data := drawTraining(r)
	want, err := trainedOn(t, j, data, train.Options{})
	if err != nil {
		t.Fatal("rows on PSs:", err)
	}
	for _, ranks := range []int{1, 2, 4} {
		j := shared(j, ranks)
		j.Training.Mode = []string{job.Sync, job.Hybrid}[r.IntN(2)]
		got, err := trainedOn(t, j, data, train.Options{})
		if err != nil {
			t.Fatalf("%d GPUs: %v", ranks, err)
		}
		if got.DenseDigest != want.DenseDigest || got.RowsDigest != want.RowsDigest ||
			got.Rows != want.Rows || !slices.Equal(got.Probabilities, want.Probabilities) {
			t.Fatalf("%s on %d GPUs: %d rows %x, network %x; want %d, %x, %x", j.Training.Mode, ranks,
				got.Rows, got.RowsDigest, got.DenseDigest, want.Rows, want.RowsDigest, want.DenseDigest)
		}
		sameCurves := slices.EqualFunc(got.Curve, want.Curve, func(a, b evaluation.Point) bool {
			return a.Step == b.Step && math.Float64bits(a.LogLoss) == math.Float64bits(b.LogLoss)
		})
		if !sameCurves {
			t.Errorf("%d GPUs: evaluations %v, want %v", ranks, got.Curve, want.Curve)
		}
		n, most := got.MissedUpdates.Count(), got.MissedUpdates.Max()
		if n != want.MissedUpdates.Count() || most > 0 {
			t.Errorf("%d GPUs: %d row gradients, some missed %d updates; want %d, 0", ranks, n, most,
				want.MissedUpdates.Count())
		}
	}
}

// However streams, blocks and threads run, rows on three GPUs, whose gradients NCCL sums along the tree, have
// the same bits.
func TestSharedRowsDoNotDependOnTime(t *testing.T) {
	var want *train.Result
	for _, seed := range []string{"0", "1", "2"} {
		softgpu.Set(t, "TANDEM_SOFTGPU_SEED", seed)
		j := shared(exectest.Job(3, 2), 3)
		j.Training.Mode, j.Wire.AllReduce = job.Hybrid, job.NCCLTreeSums
		got, err := trainedOn(t, j, exectest.NewColumns(80, 16), train.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = got
		}
		if got.RowsDigest != want.RowsDigest || got.DenseDigest != want.DenseDigest {
			t.Errorf("seed %s: other rows or another network", seed)
		}
	}
}

// losable is a GPU that no test has used yet: one that is lost stays so.
var losable = 8

// A run whose ranks have rows together ends with one error if anything happens to one of them while the
// others wait for it: it says what is wrong, and where.
func TestSharedRowsEndWithOneRank(t *testing.T) {
	losable++
	lost := fmt.Sprintf("cuda:%d: ", losable)
	planted := exectest.NewColumns(160, 16)
	planted.All.Dense[16*3+9] = float32(math.NaN()) // the third sample of rank 2 in step 3
	for want, change := range map[string]func(*job.Job){
		"has 10 rows of at most 10, and the batch has more; raise rows.capacity": func(j *job.Job) {
			j.Rows.Capacity = 10
		},
		"nn-worker 2, step 3":              func(*job.Job) {},
		"4 ranks would share 2; set roles": func(j *job.Job) { j.Model.Device.Ordinals = []int{0, 1} },
		lost: func(j *job.Job) {
			j.Model.Device.Ordinals = []int{0, 1, 2, losable}
			softgpu.Set(t, "TANDEM_SOFTGPU_LOST_AFTER", fmt.Sprint(losable, ":500"))
		},
	} {
		j, data := shared(exectest.Job(4, 2), 4), exectest.NewColumns(160, 16)
		if want == "nn-worker 2, step 3" {
			data = planted
		}
		j.Model.Device.Ordinals = []int{0, 1, 2, 3}
		change(&j)
		_, err := train.Run(t.Context(), j, data, data.All, train.Options{
			Backend: backend.Backend{Trainer: open(t, losable+1, j).Trainer}})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v; want %q", err, want)
		}
	}
}

// A model goes on with the bits of a training without a pause, for any number of GPUs, or PSs, that its rows
// were on, and are on then. A training that saves its model on the way has them, too.
func TestSharedRowsMove(t *testing.T) {
	data := exectest.NewColumns(160, 16)
	on := func(gpus int) job.Job {
		if gpus == 0 {
			return onGPU(false)
		}
		return shared(exectest.Job(1, 2), gpus)
	}
	want := trained(t, on(0), 1)
	for from, all := range map[int][]int{0: {2, 4}, 1: {4}, 2: {0, 1, 4}, 4: {0, 2}} {
		folder := filepath.Join(t.TempDir(), "model")
		if _, err := trainedOn(t, on(from), data, savedAt(t, on(from), folder, 5)); err != nil {
			t.Fatal(err)
		}
		for _, to := range all {
			o := beginningWith(t, folder)
			others := t.TempDir()
			o.SaveEvery, o.Save = 2, func(step int, s exec.State) error {
				return savedAt(t, on(to), filepath.Join(others, fmt.Sprint(step)), step).Trained(s)
			}
			got, err := trainedOn(t, on(to), data, o)
			if err != nil {
				t.Fatal(err)
			}
			if got.DenseDigest != want.DenseDigest || got.RowsDigest != want.RowsDigest ||
				!slices.Equal(got.Probabilities, want.Probabilities) {
				t.Errorf("from %d GPUs to %d: rows %x, network %x, want %x, %x", from, to, got.RowsDigest,
					got.DenseDigest, want.RowsDigest, want.DenseDigest)
			}
		}
	}
}

// sameOnGPUs compares trainings of a job with their rows on 1, 2 and 4 GPUs.
func sameOnGPUs(t *testing.T, data *exectest.Columns) {
	t.Helper()
	var want *train.Result
	for _, ranks := range []int{1, 2, 4} {
		j := shared(exectest.Job(1, 2), ranks)
		j.Training.GlobalBatch, j.Rows.Capacity = data.Size, 1000
		got, err := trainedOn(t, j, data, train.Options{})
		if err != nil {
			t.Fatalf("%d GPUs: %v", ranks, err)
		}
		if want == nil {
			want = got
		}
		if got.RowsDigest != want.RowsDigest || got.DenseDigest != want.DenseDigest || got.Rows != want.Rows {
			t.Errorf("%d GPUs: %d rows %x, network %x; want %d, %x, %x", ranks, got.Rows, got.RowsDigest,
				got.DenseDigest, want.Rows, want.RowsDigest, want.DenseDigest)
		}
	}
}

// Some ranks have no samples in the last step: they own rows of it all the same.
func TestSharedRowsWithFewerSamplesThanRanks(t *testing.T) {
	sameOnGPUs(t, exectest.NewColumns(49, 16))
}

// A batch of four samples names hundreds of rows, for which neither the ranks nor the owners had room.
func TestSharedRowsGrow(t *testing.T) {
	data := exectest.NewColumns(12, 4)
	for s := range data.All.Slots {
		slot := &data.All.Slots[s]
		*slot = batch.Jagged{Offsets: []int32{0}}
		for n := range uint64(data.All.Samples) {
			for i := range 10 * n {
				slot.IDs = append(slot.IDs, n/2*50+i)
			}
			slot.Offsets = append(slot.Offsets, int32(len(slot.IDs)))
		}
	}
	sameOnGPUs(t, data)
}

// A run whose ranks wait for each other ends when it is cancelled.
func TestSharedRowsAreCancelled(t *testing.T) {
	j, data := shared(exectest.Job(4, 2), 4), exectest.NewColumns(160, 16)
	j.Training.Epochs = 10_000
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var reported atomic.Int32
	_, err := train.Run(ctx, j, data, data.All, train.Options{Backend: backend.Backend{
		Trainer: open(t, 4, j).Trainer, Trained: func(float64, int) {
			if reported.Add(1) == 10 {
				cancel()
			}
		}}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// Costs are not measured where ranks wait for each other.
func TestSharedRowsHaveNoCosts(t *testing.T) {
	j, data := shared(exectest.Job(2, 2), 2), exectest.NewColumns(16, 16)
	_, err := train.MeasureCosts(t.Context(), j, data, backend.Backend{Trainer: open(t, 2, j).Trainer})
	const want = "their costs are measured one at a time: set roles.ranks to 1"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
}

// Of several GPUs, what fits beside NCCL is said for each and for all.
func TestRoomForSharedRows(t *testing.T) {
	softgpu.Set(t, "TANDEM_SOFTGPU_MEMORY", "600000000")
	j, data := shared(exectest.Job(2, 2), 2), exectest.NewColumns(16, 16)
	j.Model.Device.Ordinals, j.Rows.Capacity = []int{5, 6}, 10_000_000
	_, err := train.Run(t.Context(), j, data, data.All, train.Options{
		Backend: backend.Backend{Trainer: open(t, 7, j).Trainer}})
	var fit, all, on int
	const before = "free beside the network and 0.5GiB for NCCL; rows.capacity = "
	_, hint, _ := strings.Cut(fmt.Sprint(err), before)
	_, scanned := fmt.Sscanf(hint, "%d would fit, %d rows on %d GPUs", &fit, &all, &on)
	if most := (600_000_000 - 512<<20) / 60; scanned != nil || fit < most/2 || fit > most || all != 2*fit ||
		on != 2 {
		t.Errorf("error %v (%v)", err, scanned)
	}
}
