package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"tandem/algo/exec/backend"
	"tandem/algo/job"
	"tandem/algo/protocol/event"
	"tandem/datasets"
	"tandem/internal/workload"
	"tandem/runtime/cuda/engine"
	"tandem/runtime/cuda/softgpu"
	"tandem/runtime/train"
	"tandem/sim/cluster"
	"tandem/sim/cost"
)

// gpuJob is a job whose rows are on GPUs: at most eight parts, in their order, are all that ranks train on.
const gpuJob = `
data: {kind: synthetic, synthetic: {train-rows: %d, test-rows: 20, numeric: 2, columns: [
  {name: user, cardinality: 50}, {name: item, cardinality: 90},
  {name: tags, cardinality: 40, ids-per-row: 3}]}}
model: {kind: feed-forward, embedding-dim: 5, top: [8], device: cuda}
training: {mode: %s, global-batch: %d, groups: 4, shuffle: false}
roles: {ranks: %d, embedding-workers: 1, embedding-ps: 2}
rows: {placement: gpu, capacity: %d, optimizer: {kind: rowwise-adagrad}}
`

// trainedOnGPUs trains a job on GPUs of the software. The observer may be nil.
func trainedOnGPUs(t *testing.T, j *job.Job, data *datasets.Dataset, o event.Observer) (*train.Result,
	error) {
	t.Helper()
	softgpu.Open(t, j.Roles.Ranks)
	gpus, err := engine.Open(softgpu.Libraries(t), j)
	if err != nil {
		t.Fatal(err)
	}
	source, err := datasets.TrainingSource(data, j)
	if err != nil {
		t.Fatal(err)
	}
	return train.Run(t.Context(), *j, source, data.Test, train.Options{Observer: o, Backend: backend.Backend{
		Trainer: gpus.Trainer}})
}

// simulatedOnGPUs predicts the job on accelerators.
func simulatedOnGPUs(t *testing.T, j *job.Job, data *datasets.Dataset) (cluster.Result, cost.Memory, error) {
	t.Helper()
	w, layout, err := workload.Counted(data, j)
	if err != nil {
		t.Fatal(err)
	}
	section := job.PersiaCluster()
	h, _, err := cost.Load(&section, "")
	if err != nil {
		t.Fatal(err)
	}
	r, err := cluster.Run(h, *j, layout, w, cluster.Options{})
	return r, cost.MemoryUse(h.Resolve(), j, layout, &w), err
}

// rowKernels are the kernels of rows.cu that a step has.
var rowKernels = []string{"clear_index", "pool_group", "count_new_rows", "number_new_rows", "create_rows",
	"key_owners", "count_digits", "sum_digits", "place_digits", "deal_rows", "answer_rows",
	"sum_row_gradients", "send_sums", "update_rows", "spread_columns", "gather_columns"}

// ranKernels returns how often these have run.
func ranKernels(t *testing.T) (n int) {
	t.Helper()
	for _, kernel := range rowKernels {
		n += int(softgpu.Ran(t, kernel))
	}
	return n
}

// wantedKernels returns how often the prices of a job let them run in a training of some steps. Every index
// is emptied at the start. Several ranks rehearse, without samples, all that they do apart from the network.
func wantedKernels(t *testing.T, j *job.Job, data *datasets.Dataset, steps int) int {
	t.Helper()
	w, layout, err := workload.Counted(data, j)
	if err != nil {
		t.Fatal(err)
	}
	section, ranks := job.PersiaCluster(), j.Roles.Ranks
	h, _, err := cost.Load(&section, "")
	if err != nil {
		t.Fatal(err)
	}
	b := cost.NewPrices(h.Resolve(), j, layout, &w, true).Batch(int32(j.Training.GlobalBatch / ranks)).Rows
	other := b.Answer.Launches + b.Sum.Launches + b.Update.Launches
	all := ranks * (steps*(b.Find.Launches+b.Pool.Launches+b.Columns.Launches+other) + 1)
	if ranks > 1 {
		all += ranks * (b.Find.Launches - j.GroupsPerRank() + other)
	}
	return all
}

// The bytes on the simulated exchange are those that NCCL has counted in a training of the same job, and the
// memory of the rows is that which the ranks have taken, also where PSs have the rows of a slot. Kernels have
// run as often as their price says.
func TestBytesBetweenGPUsAreThoseOfATraining(t *testing.T) {
	for _, c := range []struct {
		mode         string
		ranks, batch int
		onPSs        []string
	}{{job.Sync, 2, 32, nil}, {job.Hybrid, 4, 64, nil}, {job.Sync, 1, 16, nil}, {job.Sync, 2, 256, nil},
		{job.Sync, 1, 32, []string{"user", "tags"}}, {job.Hybrid, 2, 64, []string{"item"}}} {
		text := fmt.Sprintf(gpuJob, max(128, c.batch), c.mode, c.batch, c.ranks, 200)
		j, err := job.Load(ownFile(t, "job.yaml", text))
		if err != nil {
			t.Fatal(err)
		}
		j = j.WithSlotsOnPSs(c.onPSs)
		data, err := datasets.Open(j.Data, "")
		if err != nil {
			t.Fatal(err)
		}
		before, ranBefore := softgpu.Sent(t), ranKernels(t)
		trained, err := trainedOnGPUs(t, &j, data, nil)
		if err != nil {
			t.Fatal(err)
		}
		sent := softgpu.Sent(t) - before
		if c.ranks > 1 {
			sent -= 4 * int64(c.ranks*c.ranks) // of the rehearsal
		}
		simulated, memory, err := simulatedOnGPUs(t, &j, data)
		if err != nil {
			t.Fatal(err)
		}
		all := int64(simulated.RowBytes) * int64(trained.Steps)
		if all != sent || (sent == 0) != (c.ranks == 1) {
			t.Errorf("%d ranks, %d steps: %d B are predicted, NCCL has sent %d", c.ranks, trained.Steps, all,
				sent)
		}
		if ran, want := ranKernels(t)-ranBefore, wantedKernels(t, &j, data, trained.Steps); ran != want {
			t.Errorf("%d ranks: %d kernels of rows have run, prices have %d", c.ranks, ran, want)
		}
		for _, gpu := range trained.GPURows {
			if gpu.Memory != memory.GPURows {
				t.Errorf("%d ranks: %v of rows are predicted, %v are taken", c.ranks, memory.GPURows,
					gpu.Memory)
			}
		}
	}
}

// With rows by slot, every role does in the simulator what it does in a training on GPUs: see
// TestSyncHasTheSameEventsInBothDrivers.
func TestSyncBySlotHasTheSameEventsInBothDrivers(t *testing.T) {
	const steps, batch = 12, 32
	for _, ranks := range []int{1, 2} {
		text := fmt.Sprintf(gpuJob, steps*batch, job.Sync, batch, ranks, 200)
		j, err := job.Load(ownFile(t, "job.yaml", text))
		if err != nil {
			t.Fatal(err)
		}
		j = j.WithSlotsOnPSs([]string{"user"})
		data, err := datasets.Open(j.Data, "")
		if err != nil {
			t.Fatal(err)
		}
		real, simulated := sequences{}, sequences{}
		if _, err := trainedOnGPUs(t, &j, data, real); err != nil {
			t.Fatal(err)
		}
		w, layout, err := workload.Counted(data, &j)
		if err != nil {
			t.Fatal(err)
		}
		section := job.PersiaCluster()
		section.Unfold, section.EmbeddingWorkers.Count, section.EmbeddingPSs.Count = true, 1, 2
		h, _, err := cost.Load(&section, "")
		if err != nil {
			t.Fatal(err)
		}
		o := cluster.Options{WarmUp: 4, Measured: steps - 4 - j.Depth(), Observer: simulated}
		if _, err := cluster.Run(h, j, layout, w, o); err != nil {
			t.Fatal(err)
		}
		compareEvents(t, real, simulated, 1+1+2+ranks)
	}
}

// The simulator refuses rows that do not fit by the arithmetic of the runtime, and says what would fit to
// within half a per cent: it knows less of the memory of the network.
func TestRowsThatDoNotFitAreRefusedAlike(t *testing.T) {
	softgpu.Set(t, "TANDEM_SOFTGPU_MEMORY", "32000000000") // as of the accelerators of the cluster
	for _, ranks := range []int{1, 2} {
		text := fmt.Sprintf(gpuJob, 128, job.Sync, 16*ranks, ranks, 1_000_000_000)
		j, err := job.Load(ownFile(t, "job.yaml", text))
		if err != nil {
			t.Fatal(err)
		}
		data, err := datasets.Open(j.Data, "")
		if err != nil {
			t.Fatal(err)
		}
		arithmetic := func(err error) (text string, fit int) {
			_, text, _ = strings.Cut(fmt.Sprint(err), "1000000000 rows")
			text, rest, _ := strings.Cut(text, ", and ")
			_, rest, _ = strings.Cut(rest, "rows.capacity = ")
			if _, err := fmt.Sscanf(rest, "%d would fit", &fit); err != nil {
				t.Errorf("%d ranks: %q: %v", ranks, rest, err)
			}
			return text, fit
		}
		_, measured := trainedOnGPUs(t, &j, data, nil)
		_, _, predicted := simulatedOnGPUs(t, &j, data)
		a, fit := arithmetic(measured)
		b, fits := arithmetic(predicted)
		if a != b || !strings.Contains(a, " take 60GB") || math.Abs(float64(fit)/float64(fits)-1) > 0.005 {
			t.Errorf("%v; the simulator says %v", measured, predicted)
		}
		for _, err := range []error{measured, predicted} {
			if text := fmt.Sprint(err); strings.Contains(text, "0.5GiB for NCCL") != (ranks > 1) {
				t.Errorf("%d ranks: %v", ranks, err)
			}
		}
	}
}

// plannedJob has rows on GPUs that are few enough for any, but for the slots of data.slots.
const plannedJob = `
data: {kind: synthetic, %s synthetic: {train-rows: 100000, test-rows: 100, numeric: 2, columns: [
  {name: user, cardinality: 9000}, {name: item, cardinality: 5000}, {name: tags, cardinality: 400}]}}
model: {kind: feed-forward, embedding-dim: 8, top: [512, 256], device: cuda, precision: tf32}
training: {mode: sync, global-batch: 8192}
roles: {ranks: 4}
rows: {placement: gpu, capacity: %d}
`

// The clusters of a plan have rates and prices of "sim run" there, by the command that the plan names, also
// where the rows of some slots are on PSs: as the job says or, where its rows fit no GPUs, as the plan says.
func TestPlanAndRunAgreeOnRowsOnGPUs(t *testing.T) {
	onPSs := func(slots ...string) (text string) {
		for _, slot := range slots {
			text += fmt.Sprintf("{slot: %s, placement: ps}, ", slot)
		}
		return "slots: [" + text + "],"
	}
	for _, c := range []struct {
		mode, slots string
		capacity    int
		leaves      int // slots to PSs
	}{{job.Sync, onPSs("user", "tags"), 100_000, 2}, {job.Hybrid, onPSs("user", "tags"), 100_000, 2},
		{job.Hybrid, "", 100_000, 0}, {job.Sync, "", 1700, 1}, {job.Hybrid, onPSs("item"), 1000, 2}} {
		file, out := ownFile(t, "job.yaml", fmt.Sprintf(plannedJob, c.slots, c.capacity)), t.TempDir()
		args := fmt.Sprintf("--file %s --throughput 1e5 --presets persia-gcp --accelerators H100-SXM5 "+
			"--most-gpus 8 --most-hosts 1 --samples 2 --staleness 2 --modes %s --out %s/", file, c.mode, out)
		plan := planOf(t, args+"json.yaml").Front[0]
		text, _, _ := planText(args + "text.yaml")
		_, command, _ := strings.Cut(text, ": go run ./cmd/sim run ")
		command, _, _ = strings.Cut(command, "\n")
		changed := ownFile(t, "job.yaml", fmt.Sprintf(plannedJob, onPSs(plan.SlotsOnPSs...), c.capacity))
		command = "run " + strings.Replace(command, file, changed, 1)
		var stdout, stderr bytes.Buffer
		run(append(strings.Fields(command), "--seeds", "1", "--json"), &stdout, &stderr)
		var d singleDocument
		if err := json.Unmarshal(stdout.Bytes(), &d); err != nil {
			t.Fatal(err, stderr.String())
		}
		if *d.Throughput != plan.Throughput || *d.Interval != *plan.Interval ||
			*d.DollarsPerHour != plan.DollarsPerHour || (d.GPURows.OnPSs != nil) != (c.leaves > 0) {
			t.Errorf("%+v: %+v is planned, %+v predicted", c, plan, d)
		}
		if len(plan.SlotsOnPSs) != c.leaves {
			t.Errorf("%+v: slots %v are on PSs", c, plan.SlotsOnPSs)
		}
	}
}

// A job file is predicted in the precision that it trains in, as if --precision named it.
func TestPrecisionOfAPredictionIsThatOfTheJob(t *testing.T) {
	const preset = " --preset persia-gcp --accelerator H100-SXM5 --samples 1 --seeds 1"
	whole := fmt.Sprintf(plannedJob, "", 100_000)
	rate := func(from string) float64 {
		file := ownFile(t, "job.yaml", strings.Replace(whole, ", precision: tf32", from, 1))
		return throughputOf(t, "run --file "+file+preset)
	}
	full := rate("")
	for from, flag := range map[string]string{", precision: tf32": "tf32", ", precision: bf16": "half"} {
		file := ownFile(t, "job.yaml", strings.Replace(whole, ", precision: tf32", "", 1))
		want := throughputOf(t, "run --precision "+flag+" --file "+file+preset)
		if got := rate(from); got != want || got <= full {
			t.Errorf("%s: %v samples/s, with --precision %s %v, in fp32 %v", from, got, flag, want, full)
		}
	}
}
