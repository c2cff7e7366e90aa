package job_test

import (
	"errors"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/opt"
	"tandem/algo/protocol/fault"
	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
)

// Rows on a GPU refuse every setting that does not suit them with one line that names it, and sequential
// training, which has no ranks, ignores them.
func TestRowsOnAGPURefuseOtherSettings(t *testing.T) {
	for want, change := range map[string]func(j *job.Job){
		"":                              func(*job.Job) {},
		`rows.placement = "cloud" is`:   func(j *job.Job) { j.Rows.Placement = "cloud" },
		"use sync or hybrid instead of": func(j *job.Job) { j.Training.Mode = job.AsyncPS },
		"set model.device to cuda":      func(j *job.Job) { j.Model.Device = job.Device{} },
		"leave out roles.rank-recovery": func(j *job.Job) { j.Roles.Ranks, j.Roles.RankRecovery = 2, true },
		"leave nn-worker out of faults": func(j *job.Job) {
			j.Faults.Crashes = []fault.Crash{{Role: msg.NNWorker, Step: 3}}
		},
		"set rows.capacity to":          func(j *job.Job) { j.Rows.Capacity = 0 },
		"rows.precision = bf16":         func(j *job.Job) { j.Rows.Precision = "bf16" },
		"rows.admission = 0.5":          func(j *job.Job) { j.Rows.Admission = 0.5 },
		"rows.eviction = second-chance": func(j *job.Job) { j.Rows.Eviction = job.SecondChance },
		"no optimizer ftrl":             func(j *job.Job) { j.Rows.Optimizer.Kind = opt.FTRL },
		"leave out rows.hot":            func(j *job.Job) { j.Rows.Hot.Share = 0.1 },
		"slot tags takes a maximum": func(j *job.Job) {
			j.Data.Slots = []job.SlotSetting{{Slot: "tags", Pooling: job.PoolMax}}
		},
		"the ids of slot tags have weights, and rows.placement = gpu": func(j *job.Job) {
			j.Data = job.Data{Kind: job.KindCSV, Path: "p", CSV: &job.Table{Label: "y",
				Slots: []job.IDColumn{{Column: "tags", WeightSeparator: ":"}}}}
		},
	} {
		j := job.Default()
		j.Rows.Placement, j.Rows.Capacity, j.Model.Device.CUDA = job.RowsOnGPU, 100, true
		j.Roles.Ranks = 1
		change(&j)
		err := j.Validate()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
		sequential := j.InMode(job.Sequential)
		if sequential.HasRowsOnGPU() || sequential.ShardPlan().AllOnRanks() {
			t.Error("sequential training has rows on a GPU")
		}
	}
	j := job.Default()
	j.Rows.Placement, j.Rows.Memory = job.RowsOnGPU, unit.Bytes(1e6)
	j.Model.Device.CUDA, j.Roles.Ranks = true, 1
	if err := j.Validate(); err != nil || !j.ShardPlan().AllOnRanks() {
		t.Errorf("with rows.memory: %v", err)
	}
	const together = "4 ranks exchange their rows only where all are in one process"
	for ranks, want := range map[int]string{1: "", 4: together} {
		j.Roles.Ranks = ranks
		err := errors.Join(j.Validate(), j.CheckProcesses())
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%d ranks in processes: %v, want %q", ranks, err, want)
		}
	}
}
