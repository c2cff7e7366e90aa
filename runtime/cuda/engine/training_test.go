package engine_test

import (
	"flag"
	"fmt"
	"math"
	"strings"
	"testing"

	"tandem/algo/exec/backend"
	"tandem/algo/exec/dense"
	"tandem/algo/exec/exectest"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/datasets"
	"tandem/runtime/train"
)

var long = flag.Bool("long", false, "train every mode on adult-income")

// trained trains a job on GPUs of the software, or on the processors if there are none.
func trained(t *testing.T, j job.Job, devices int) *train.Result {
	t.Helper()
	return trainedFrom(t, j, devices, exectest.NewColumns(160, 16))
}

// trainedFrom is trained on some data.
func trainedFrom(t *testing.T, j job.Job, devices int, data *exectest.Columns) *train.Result {
	t.Helper()
	var b backend.Backend
	if devices > 0 {
		b.Trainer = open(t, devices, j).Trainer
	}
	result, err := train.Run(t.Context(), j, data, data.All, train.Options{Backend: b})
	if err != nil {
		t.Fatalf("%s on %d ranks and %d devices: %v", j.Training.Mode, j.Roles.Ranks, devices, err)
	}
	return result
}

// With the sums of the tree, sync has the same bits on any number of ranks and devices, and if rows become
// hot on the way. They are not those of the host, but near.
func TestSyncHasTheSameBitsOnAnyNumberOfDevices(t *testing.T) {
	var want *train.Result
	for _, on := range []struct {
		ranks, devices int
		sums           string
		hot            float64
	}{{1, 1, "", 0}, {2, 2, "", 0}, {4, 4, "", 0}, {4, 2, "", 0.05}, {8, 1, "", 0}, {1, 1, "", 0.05},
		{2, 2, job.NCCLTreeSums, 0}, {4, 4, job.NCCLTreeSums, 0.05}} {
		j := exectest.Job(on.ranks, 2)
		if j.Rows.Hot.Share = on.hot; on.hot > 0 {
			j.Rows.Hot.Every = 2
		}
		j.Wire.AllReduce, j.Model.Device.CUDA = on.sums, true
		got := trained(t, j, on.devices)
		if want == nil {
			want = got
		}
		if got.DenseDigest != want.DenseDigest || got.RowsDigest != want.RowsDigest {
			t.Errorf("%d ranks on %d devices, sums %q, rows hot from %v, have other bits than one on one",
				on.ranks, on.devices, on.sums, on.hot)
		}
		if (got.HotRows > 0) != (on.hot > 0) || (len(got.HotChoices) > 0) != (on.hot > 0) {
			t.Errorf("%d rows are hot from a share of %v, choices %+v", got.HotRows, on.hot, got.HotChoices)
		}
	}
	host := trained(t, exectest.Job(4, 2), 0)
	if host.DenseDigest == want.DenseDigest {
		t.Error("the devices have the bits of the host: they were not used")
	}
	for i, p := range want.Probabilities {
		if math.Abs(float64(p-host.Probabilities[i])) > 1e-4 {
			t.Fatalf("test row %d: %v on devices, %v on the host", i, p, host.Probabilities[i])
		}
	}
}

// GPUs train beside EWs that form maxima: the same bits on any number of ranks and devices, with rows of the
// other slot hot, too. GPUs that have the rows themselves form sums alone, and refuse.
func TestMaximaBesideDevices(t *testing.T) {
	data := exectest.NewColumns(160, 16)
	data.Fields.Slots[1] = batch.Slot{Name: "history", Dim: 3, Pooling: batch.Max}
	var want *train.Result
	for _, ranks := range []int{1, 4} {
		j := exectest.Job(ranks, 2)
		if j.Model.Device.CUDA = true; ranks > 1 {
			j.Rows.Hot.Share = 0.05
		}
		got := trainedFrom(t, j, ranks, data)
		if want == nil {
			want = got
		}
		if got.DenseDigest != want.DenseDigest || got.RowsDigest != want.RowsDigest ||
			(got.HotRows > 0) != (ranks > 1) {
			t.Errorf("%d ranks, %d hot rows: other bits than one rank", ranks, got.HotRows)
		}
	}
	j := exectest.Job(1, 2)
	j.Model.Device.CUDA, j.Rows.Placement, j.Rows.Capacity = true, job.RowsOnGPU, 100
	_, err := train.Run(t.Context(), j, data, data.All, train.Options{Backend: backend.Backend{
		Trainer: open(t, 1, j).Trainer}})
	if err == nil || !strings.Contains(err.Error(), "takes a maximum, and rows.placement = gpu") {
		t.Errorf("error %v", err)
	}
}

// The gradients of the only rank stay on its device.
func TestGradientsOfOneRankStay(t *testing.T) {
	for ranks, want := range map[int]bool{1: true, 2: false} {
		j := exectest.Job(ranks, 2)
		e, err := model.New(j.Model.Spec, exectest.NewColumns(160, 16).Schema(), nil)
		if err != nil {
			t.Fatal(err)
		}
		trainer, err := open(t, ranks, j).Trainer(e)
		if err != nil {
			t.Fatal(err)
		}
		if got := trainer.(dense.Summer).Sums(); got != want {
			t.Errorf("%d ranks: gradients stay: %v, want %v", ranks, got, want)
		}
	}
}

// NCCL adds in an order of its own: near the bits of the tree. It needs a GPU for each rank.
func TestNCCLSumsNearTheTree(t *testing.T) {
	want := trained(t, exectest.Job(1, 2), 1)
	for _, mode := range []string{job.Sync, job.Hybrid} {
		j := exectest.Job(4, 2)
		j.Training.Mode, j.Training.Merge = mode, ""
		j.Wire.AllReduce, j.Model.Device.CUDA = job.NCCLSums, true
		got := trained(t, j, 4)
		for i, p := range got.Probabilities {
			if mode == job.Sync && math.Abs(float64(p-want.Probabilities[i])) > 1e-4 {
				t.Fatalf("test row %d: %v by NCCL, %v by the tree", i, p, want.Probabilities[i])
			}
		}
	}
	j := exectest.Job(4, 2)
	j.Wire.AllReduce, j.Model.Device.CUDA = job.NCCLSums, true
	data := exectest.NewColumns(160, 16)
	_, err := train.Run(t.Context(), j, data, data.All, train.Options{
		Backend: backend.Backend{Trainer: open(t, 2, j).Trainer}})
	if err == nil || !strings.Contains(err.Error(), "4 ranks of this process share 2; use host") {
		t.Errorf("4 ranks on 2 devices: %v", err)
	}
}

// However gradients are summed, the error of what is not finite names the rank, the step and the tensor: the
// input of the rank that has it, or the parameters that a huge learning rate has made.
func TestRunsNameWhatIsNotFinite(t *testing.T) {
	for _, sums := range []string{job.HostSums, job.NCCLTreeSums, job.NCCLSums} {
		features := []string{"nn-worker 1, step 3", "the numeric features, 1 of 8 values"}
		for _, c := range []struct {
			planted float32 // 0: nothing
			rate    float64
			want    []string
		}{
			{float32(math.NaN()), 0.05, features},
			{float32(math.Inf(1)), 0.05, features},
			{0, 1e38, []string{", step 1", "the parameters top.0.weight, 60 of 60 values"}},
		} {
			j := exectest.Job(2, 2)
			j.Wire.AllReduce, j.Model.Device.CUDA, j.Model.Optimizer.Rate = sums, true, c.rate
			data := exectest.NewColumns(160, 16)
			if c.planted != 0 {
				data.All.Dense[16*3+9] = c.planted // the second sample of rank 1 in step 3
			}
			_, err := train.Run(t.Context(), j, data, data.All, train.Options{
				Backend: backend.Backend{Trainer: open(t, 2, j).Trainer}})
			for _, want := range c.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("sums %q, %v, rate %v: error %v; want %q", sums, c.planted, c.rate, err, want)
				}
			}
		}
	}
}

// Every mode trains on devices, within its bounds, which a run checks. A rank alone computes what it computes
// on the host.
func TestEveryModeTrainsOnDevices(t *testing.T) {
	for _, mode := range job.Modes() {
		if mode == job.Sequential {
			continue // it has no ranks
		}
		j := exectest.Job(2, 2)
		j.Training.Mode, j.Training.Merge = mode, ""
		trained(t, j, 2)

		staleness := 0
		j.Roles.Ranks, j.Training.Staleness = 1, &staleness
		j.Model.Optimizer.ClipNorm = 0.5
		got, want := trained(t, j, 1), trained(t, j, 0)
		for i, p := range got.Probabilities {
			if math.Abs(float64(p-want.Probabilities[i])) > 1e-3 {
				t.Errorf("%s: test row %d: %v on a device, %v on the host", mode, i, p, want.Probabilities[i])
				break
			}
		}
	}
}

// Narrow operands of products train a network that predicts about the same.
func TestPrecisionsTrainOnDevices(t *testing.T) {
	exact := trained(t, exectest.Job(1, 1), 1)
	for _, precision := range []string{job.TF32, job.BF16} {
		j := exectest.Job(1, 1)
		j.Model.Precision, j.Model.Device = precision, job.Device{CUDA: true}
		got := trained(t, j, 1)
		if got.DenseDigest == exact.DenseDigest {
			t.Errorf("%s has the bits of fp32", precision)
		}
		for i, p := range got.Probabilities {
			if math.Abs(float64(p-exact.Probabilities[i])) > 0.05 {
				t.Errorf("%s: test row %d: %v, %v in fp32", precision, i, p, exact.Probabilities[i])
				break
			}
		}
	}
}

// On adult-income every mode reaches the AUC that it has on the host, within four standard deviations of that
// over seeds.
func TestAUCOfEveryModeIsThatOfTheHost(t *testing.T) {
	if !*long {
		t.Skip("takes minutes: -long")
	}
	for _, mode := range job.Modes() {
		if mode == job.Sequential {
			continue
		}
		j := job.AdultIncome()
		j.Training.Mode = mode
		auc := func(devices int, seed uint64) float64 {
			j.Training.Seed = seed
			data, err := datasets.Open(j.Data, "")
			if err != nil {
				t.Fatal(err)
			}
			source, err := datasets.TrainingSource(data, &j)
			if err != nil {
				t.Fatal(err)
			}
			var b backend.Backend
			if devices > 0 {
				b.Trainer = open(t, devices, j).Trainer
			}
			result, err := train.Run(t.Context(), j, source, data.Test, train.Options{Backend: b})
			if err != nil {
				t.Fatal(err)
			}
			return result.AUC
		}
		const seeds = 5
		var sum, squares float64
		for seed := range uint64(seeds) {
			a := auc(0, seed+1)
			sum, squares = sum+a, squares+a*a
		}
		mean := sum / seeds
		deviation := math.Sqrt((squares - sum*mean) / (seeds - 1))
		got := auc(2, 1)
		line := fmt.Sprintf("%s: AUC %.4f on devices, %.4f ± %.4f on the host", mode, got, mean, deviation)
		t.Log(line)
		if math.Abs(got-mean) > 4*deviation {
			t.Error(line)
		}
	}
}
