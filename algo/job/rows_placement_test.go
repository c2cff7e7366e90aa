package job_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/opt"
	"tandem/algo/numeric/shard"
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
		"the rows of a module of PyTorch are on PSs": func(j *job.Job) {
			j.Model.Spec = model.Spec{Kind: model.Torch, File: "net.py", Class: "Net", EmbeddingDim: 4}
		},
		"leave out roles.rank-recovery": func(j *job.Job) { j.Roles.Ranks, j.Roles.RankRecovery = 2, true },
		"leave nn-worker out of faults": func(j *job.Job) {
			j.Faults.Crashes = []fault.Crash{{Role: msg.NNWorker, Step: 3}}
		},
		"set rows.capacity to":          func(j *job.Job) { j.Rows.Capacity = 0 },
		"rows.precision = bf16":         func(j *job.Job) { j.Rows.Precision = "bf16" },
		"rows.admission = 0.5":          func(j *job.Job) { j.Rows.Admission = 0.5 },
		"leave out training.merge":      func(j *job.Job) { j.Training.Merge = job.MergeRank },
		"leave out training.scale":      func(j *job.Job) { j.Training.Scale = job.ScaleRank },
		"rows.eviction = second-chance": func(j *job.Job) { j.Rows.Eviction = job.SecondChance },
		"no optimizer ftrl":             func(j *job.Job) { j.Rows.Optimizer.Kind = opt.FTRL },
		"rows.hot.every = 5":            func(j *job.Job) { j.Rows.Hot.Share, j.Rows.Hot.Every = 0.1, 5 },
		"rows.hot.samples = 5":          func(j *job.Job) { j.Rows.Hot.Samples = 5 },
		"rows.hot chooses rows of every slot": func(j *job.Job) {
			j.Rows.Hot.Auto, j.Data.Slots = true, []job.SlotSetting{{Slot: "tags", Placement: job.RowsOnPSs}}
		},
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

// A training goes on with its rows elsewhere: where they are, and how many a GPU holds, is no difference. The
// limits of PSs are.
func TestWhereRowsAreIsNoDifference(t *testing.T) {
	placed := func(usual string, capacity int, slots ...job.SlotSetting) job.Job {
		j := job.Default()
		j.Rows.Placement, j.Rows.Capacity, j.Data.Slots = usual, capacity, slots
		return j
	}
	onPSs := placed("", 0)
	tiers := placed(job.RowsOnGPU, 40)
	tiers.Rows.Hot.Auto = true
	for _, other := range []job.Job{placed(job.RowsOnGPU, 100), tiers,
		placed(job.RowsOnGPU, 40, job.SlotSetting{Slot: "user", Placement: job.RowsOnPSs}),
		placed("", 40, job.SlotSetting{Slot: "user", Placement: job.RowsOnGPU})} {
		if d, err := onPSs.DifferenceButRoles(other); d != nil || err != nil {
			t.Errorf("%v, %v", d, err)
		}
		if capacity, memory := other.PSLimits(); capacity != 0 || memory != 0 {
			t.Errorf("PSs hold %d rows, %v", capacity, memory)
		}
	}
	for _, other := range []job.Job{placed("", 100),
		placed("", 0, job.SlotSetting{Slot: "user", Dim: 8, Placement: job.RowsOnGPU})} {
		if d, err := onPSs.DifferenceButRoles(other); d == nil || err != nil {
			t.Errorf("no difference, %v", err)
		}
	}
	onHosts, fewer := placed("", 0), placed("", 0)
	onHosts.Rows.Hot.Share, fewer.Rows.Hot.Share = 0.02, 0.1
	for _, sides := range [][2]job.Job{{onHosts, tiers}, {tiers, onHosts}} {
		if d, err := sides[0].DifferenceButRoles(sides[1]); d != nil || err != nil {
			t.Errorf("hot rows on hosts and on GPUs: %v, %v", d, err)
		}
	}
	if d, err := onHosts.DifferenceButRoles(fewer); d == nil || err != nil {
		t.Errorf("no difference of hot rows on hosts, %v", err)
	}
	limited := placed("", 100)
	if capacity, _ := limited.PSLimits(); capacity != 100 {
		t.Errorf("PSs hold %d rows, want 100", capacity)
	}
}

// Slots have the placement of section rows unless they have one of their own. Where they differ, the plan of
// a schema says which feature groups the ranks own, and what GPUs cannot pool may be on PSs.
func TestRowsAreOnGPUsBySlot(t *testing.T) {
	schema := &batch.Schema{PrefixBits: 8, Slots: []batch.Slot{{Name: "user", Dim: 16},
		{Name: "item", Dim: 16}, {Name: "tags", Dim: 16}}}
	on := func(usual string, slots ...job.SlotSetting) job.Job {
		j := job.Default()
		j.Rows.Placement, j.Rows.Capacity, j.Model.Device.CUDA, j.Roles.Ranks = usual, 100, true, 1
		j.Data.Slots = slots
		return j
	}
	const ps, gpu = job.RowsOnPSs, job.RowsOnGPU
	for _, c := range []struct {
		job  job.Job
		want []int
	}{
		{on(gpu, job.SlotSetting{Slot: "item", Placement: ps}), []int{0, 2}},
		{on("", job.SlotSetting{Slot: "item", Placement: gpu}), []int{1}},
		{on(gpu, job.SlotSetting{Slot: "item", Placement: gpu}), []int{0, 1, 2}},
		{on(ps, job.SlotSetting{Slot: "item", Placement: ps}), nil},
	} {
		mixed := 0 < len(c.want) && len(c.want) < 3
		j := c.job
		if err := errors.Join(j.Validate(), j.CheckPlacements(schema.Slots)); err != nil {
			t.Error(err)
		}
		if got := j.SlotsOnGPU(schema.Slots); !slices.Equal(got, c.want) || j.MixesPlacements() != mixed ||
			j.HasRowsOnGPU() != (len(c.want) > 0) {
			t.Errorf("slots %v, mixed %v, want %v", got, j.MixesPlacements(), c.want)
		}
		plan := j.PlanOf(schema)
		for s := range schema.Slots {
			onRanks := plan.Owner(schema.Signer(s).Sign(7, 0)) == plan.Servers()
			if onRanks != slices.Contains(c.want, s) {
				t.Errorf("slot %d is on ranks: %v, want %v", s, onRanks, c.want)
			}
		}
		sequential := j.InMode(job.Sequential)
		if sequential.MixesPlacements() || len(sequential.SlotsOnGPU(schema.Slots)) > 0 {
			t.Error("sequential training has rows on a GPU")
		}
	}
	grouped := slices.Clone(schema.Slots) // by a program's own schema
	grouped[0].Group, grouped[1].Group = "all", "all"
	apart := on(gpu, job.SlotSetting{Slot: "item", Placement: ps})
	if err := apart.CheckPlacements(grouped); err == nil || !strings.Contains(err.Error(),
		"user and item share the rows of group all: give both one placement") {
		t.Errorf("slots of one group in two places: %v", err)
	}
	for want, slots := range map[string][]job.SlotSetting{
		"": {{Slot: "tags", Pooling: job.PoolMax, Placement: ps}},
		"slot tags takes a maximum, and rows.placement = gpu": {{Slot: "tags", Pooling: job.PoolMax},
			{Slot: "item", Placement: ps}},
		"slot tags takes a maximum, and its placement = gpu forms": {{Slot: "tags", Pooling: job.PoolMax,
			Placement: gpu}, {Slot: "item", Placement: ps}},
		`slots[0].placement = "cloud" is`: {{Slot: "tags", Placement: "cloud"}},
		"slots user and item of group all share rows, and have placement ps and gpu: give them one": {
			{Slot: "user", Group: "all", Placement: ps}, {Slot: "item", Group: "all"}},
	} {
		j := on(gpu, slots...)
		j.Data.Kind, j.Data.Path = job.KindCSV, "clicks.csv"
		j.Data.CSV = &job.Table{Label: "click", Slots: []job.IDColumn{{Column: "user"}, {Column: "item"},
			{Column: "tags"}}}
		if err := errors.Join(j.Validate(), j.Data.Validate()); (err == nil) != (want == "") ||
			err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	for want, j := range map[string]job.Job{
		"all slots of the data have placement ps": on(gpu, job.SlotSetting{Slot: "user", Placement: ps},
			job.SlotSetting{Slot: "item", Placement: ps}, job.SlotSetting{Slot: "tags", Placement: ps}),
		"all slots of the data have placement gpu": on(ps, job.SlotSetting{Slot: "user", Placement: gpu},
			job.SlotSetting{Slot: "item", Placement: gpu}, job.SlotSetting{Slot: "tags", Placement: gpu}),
	} {
		if err := j.CheckPlacements(schema.Slots); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	checkTiers(t, on(gpu), schema)
	j := on(ps, job.SlotSetting{Slot: "user", Placement: gpu})
	j.Model.Device = job.Device{}
	const want = "data.slots: placement = gpu needs a GPU that trains: set model.device to cuda"
	if err := j.Validate(); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
}

// checkTiers checks a job with its rows on GPUs if hot rows alone are to be there: their owner, that EWs and
// GPUs may divide slots of every kind, and what is refused.
func checkTiers(t *testing.T, j job.Job, schema *batch.Schema) {
	t.Helper()
	j.Rows.Hot.Share = 0.1
	sign := schema.Signer(0).Sign(7, 0)
	j.Rows.Hot.SetRows(shard.NewHot([]uint64{sign}))
	if err := errors.Join(j.Validate(), j.CheckPlacements(schema.Slots)); err != nil {
		t.Error(err)
	}
	if !j.HasTiers() || j.HasHotRows() || j.MixesPlacements() || j.HotValues() > 0 || j.SlotOnGPU("user") {
		t.Error("hot rows are not those of GPUs alone")
	}
	if plan := j.PlanOf(schema); plan.Owner(sign) != plan.Servers() || plan.Owner(sign+1) == plan.Servers() {
		t.Error("the ranks do not have the hot row alone")
	}
	if err := j.CheckProcesses(); err == nil || !strings.Contains(err.Error(), "are in one process") {
		t.Errorf("in processes: error %v", err)
	}
	if sequential := j.InMode(job.Sequential); sequential.HasTiers() || sequential.ChoosesHotRows() {
		t.Error("sequential training has hot rows on GPUs")
	}
	for _, change := range []func(s *batch.Slot){
		func(s *batch.Slot) { s.Pooling = batch.Max }, func(s *batch.Slot) { s.Scale = batch.Mean },
		func(s *batch.Slot) { s.Weighted = true },
		func(s *batch.Slot) { s.HashStack = batch.HashStack{Rounds: 2, Rows: 9} },
		func(s *batch.Slot) { s.Pooling, s.FixedSize = batch.Raw, 2 },
	} {
		slots := slices.Clone(schema.Slots)
		for i := range slots[1:] {
			change(&slots[i+1])
		}
		if err := errors.Join(j.CheckDims(slots), j.CheckPlacements(slots)); err != nil {
			t.Errorf("one slot of sums beside %+v: %v", slots[1], err)
		}
		change(&slots[0])
		if err := j.CheckPlacements(slots); err == nil || !strings.Contains(err.Error(), "no slot of these") {
			t.Errorf("slots %+v: error %v", slots[0], err)
		}
	}
}
