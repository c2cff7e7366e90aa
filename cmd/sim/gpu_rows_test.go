package main

import (
	"fmt"
	"strings"
	"testing"

	"tandem/algo/exec/backend"
	"tandem/algo/job"
	"tandem/datasets"
	"tandem/internal/workload"
	"tandem/runtime/cuda/engine"
	"tandem/runtime/cuda/softgpu"
	"tandem/runtime/train"
	"tandem/sim/cluster"
	"tandem/sim/cost"
)

// gpuJob is a job whose rows are on GPUs: eight parts of 16 samples, in their order, are all that ranks
// train.
const gpuJob = `
data: {kind: synthetic, synthetic: {train-rows: 128, test-rows: 20, numeric: 2, columns: [
  {name: user, cardinality: 50}, {name: item, cardinality: 90},
  {name: tags, cardinality: 40, ids-per-row: 3}]}}
model: {kind: feed-forward, embedding-dim: 5, top: [8], device: cuda}
training: {mode: %s, global-batch: %d, groups: 4, shuffle: false}
roles: {ranks: %d, embedding-workers: 1, embedding-ps: 2}
rows: {placement: gpu, capacity: %d, optimizer: {kind: rowwise-adagrad}}
`

// trainedOnGPUs trains a job on GPUs of the software.
func trainedOnGPUs(t *testing.T, j *job.Job, data *datasets.Dataset) (*train.Result, error) {
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
	return train.Run(t.Context(), *j, source, data.Test, train.Options{Backend: backend.Backend{
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

// The bytes on the simulated exchange are those that NCCL has counted in a training of the same job, and the
// memory of the rows is that which the ranks have taken.
func TestBytesBetweenGPUsAreThoseOfATraining(t *testing.T) {
	for _, c := range []struct {
		mode         string
		ranks, batch int
	}{{job.Sync, 2, 32}, {job.Hybrid, 4, 64}, {job.Sync, 1, 16}} {
		j, err := job.Load(ownFile(t, "job.yaml", fmt.Sprintf(gpuJob, c.mode, c.batch, c.ranks, 200)))
		if err != nil {
			t.Fatal(err)
		}
		data, err := datasets.Open(j.Data, "")
		if err != nil {
			t.Fatal(err)
		}
		before := softgpu.Sent(t)
		trained, err := trainedOnGPUs(t, &j, data)
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
		for _, gpu := range trained.GPURows {
			if gpu.Memory != memory.GPURows {
				t.Errorf("%d ranks: %v of rows are predicted, %v are taken", c.ranks, memory.GPURows,
					gpu.Memory)
			}
		}
	}
}

// The simulator refuses rows that do not fit by the arithmetic of the runtime.
func TestRowsThatDoNotFitAreRefusedAlike(t *testing.T) {
	for _, ranks := range []int{1, 2} {
		text := fmt.Sprintf(gpuJob, job.Sync, 16*ranks, ranks, 1_000_000_000)
		j, err := job.Load(ownFile(t, "job.yaml", text))
		if err != nil {
			t.Fatal(err)
		}
		data, err := datasets.Open(j.Data, "")
		if err != nil {
			t.Fatal(err)
		}
		arithmetic := func(err error) string {
			_, text, _ := strings.Cut(fmt.Sprint(err), "1000000000 rows")
			text, _, _ = strings.Cut(text, ", and ")
			return text
		}
		_, measured := trainedOnGPUs(t, &j, data)
		_, _, predicted := simulatedOnGPUs(t, &j, data)
		if a, b := arithmetic(measured), arithmetic(predicted); a != b || !strings.Contains(a, " take 60GB") {
			t.Errorf("%v; the simulator says %v", measured, predicted)
		}
		for _, err := range []error{measured, predicted} {
			text := fmt.Sprint(err)
			if !strings.Contains(text, "would fit") ||
				strings.Contains(text, "0.5GiB for NCCL") != (ranks > 1) {
				t.Errorf("%d ranks: %v", ranks, err)
			}
		}
	}
}
