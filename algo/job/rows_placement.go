package job

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/opt"
	"tandem/algo/numeric/table"
	"tandem/algo/protocol/pace"
	"tandem/algo/unit"
)

// Where embedding rows are.
const (
	RowsOnPSs = "ps"  // on embedding PSs, in the memory of hosts; the default
	RowsOnGPU = "gpu" // in the memory of the GPUs of the ranks
)

// RowPlacements lists the places of embedding rows.
func RowPlacements() []string { return []string{RowsOnPSs, RowsOnGPU} }

// HasRowsOnGPU reports whether the ranks hold rows on their GPUs, of all slots or of some. Sequential
// training has no ranks.
func (j *Job) HasRowsOnGPU() bool { return j.WantsRowsOnGPU() && j.Training.Mode != Sequential }

// WantsRowsOnGPU reports whether rows are on GPUs in the modes that have ranks.
func (j *Job) WantsRowsOnGPU() bool {
	return j.Rows.Placement == RowsOnGPU ||
		slices.ContainsFunc(j.Data.Slots, func(s SlotSetting) bool { return s.Placement == RowsOnGPU })
}

// HasTiers reports whether the GPUs of the ranks hold the hot rows, and PSs the others.
func (j *Job) HasTiers() bool { return j.HasRowsOnGPU() && j.Rows.Hot.Any() }

// GPUSetting names the setting by which rows are on GPUs, where some are.
func (j *Job) GPUSetting() string {
	if j.Rows.Placement == RowsOnGPU {
		return "rows.placement = " + RowsOnGPU
	}
	return "data.slots: placement = " + RowsOnGPU
}

// gpuSettingOf names the setting by which the rows of a slot, given by its name, are on GPUs.
func (j *Job) gpuSettingOf(slot string) string {
	if j.ownSetting(slot).Placement == RowsOnGPU {
		return "its placement = " + RowsOnGPU
	}
	return "rows.placement = " + RowsOnGPU
}

// PSLimits returns rows.capacity and rows.memory as far as they are those of a PS: 0, which is no limit,
// where they are those of a GPU, also for rows that a mode without ranks or another model has on the host.
func (j *Job) PSLimits() (capacity int, memory unit.Bytes) {
	if j.WantsRowsOnGPU() {
		return 0, 0
	}
	return j.Rows.Capacity, j.Rows.Memory
}

// WithRowsOnPSs returns the job without where rows are, without which of them GPUs have, and without the
// limits that GPUs have: PSs have all rows.
func (j Job) WithRowsOnPSs() Job {
	if j.WantsRowsOnGPU() {
		j.Rows.Capacity, j.Rows.Memory, j.Rows.Hot = 0, 0, Hot{}
	}
	j.Rows.Placement = ""
	slots := slices.Clone(j.Data.Slots)
	for i := range slots {
		slots[i].Placement = ""
	}
	j.Data.Slots = slices.DeleteFunc(slots, func(s SlotSetting) bool {
		return reflect.DeepEqual(s, SlotSetting{Slot: s.Slot})
	})
	return j
}

// WithSlotsOnPSs returns the job with the rows of some slots, given by their names, on PSs. Those of others
// stay where they are.
func (j Job) WithSlotsOnPSs(names []string) Job {
	slots := slices.Clone(j.Data.Slots)
	for _, name := range names {
		i := slices.IndexFunc(slots, func(s SlotSetting) bool { return s.Slot == name })
		if i < 0 {
			i, slots = len(slots), append(slots, SlotSetting{Slot: name})
		}
		slots[i].Placement = RowsOnPSs
	}
	j.Data.Slots = slots
	return j
}

// MixesPlacements reports whether the ranks hold the rows of some slots on their GPUs, and PSs those of the
// others.
func (j *Job) MixesPlacements() bool {
	return j.HasRowsOnGPU() && slices.ContainsFunc(j.Data.Slots, func(s SlotSetting) bool {
		return j.placementOf(&s) != j.placementOf(&SlotSetting{})
	})
}

// placementOf returns where the rows of a slot with some settings are.
func (j *Job) placementOf(s *SlotSetting) string {
	return cmp.Or(s.Placement, j.Rows.Placement, RowsOnPSs)
}

// SlotOnGPU reports whether the ranks hold all rows of a slot, given by its name, on their GPUs.
func (j *Job) SlotOnGPU(name string) bool {
	return j.placementOf(j.ownSetting(name)) == RowsOnGPU && j.Training.Mode != Sequential && !j.HasTiers()
}

// ownSetting returns the settings of a slot, given by its name.
func (j *Job) ownSetting(name string) *SlotSetting {
	own := &SlotSetting{}
	for i := range j.Data.Slots {
		if j.Data.Slots[i].Slot == name {
			own = &j.Data.Slots[i]
		}
	}
	return own
}

// SlotsOnGPU returns the numbers of the slots all of whose rows the ranks hold on their GPUs, in ascending
// order.
func (j *Job) SlotsOnGPU(slots []batch.Slot) (numbers []int) {
	for i := range slots {
		if j.SlotOnGPU(slots[i].Name) {
			numbers = append(numbers, i)
		}
	}
	return numbers
}

// CheckPlacements returns an error if a job that places rows by slot leaves none of the slots of its data to
// GPUs, or none to PSs, or if slots of one group have different places, or if no slot can have hot rows on
// GPUs and the job wants some.
func (j *Job) CheckPlacements(slots []batch.Slot) error {
	if j.HasTiers() && !slices.ContainsFunc(slots, batch.Slot.AddsRows) {
		return errors.New("rows.hot: no slot of these data can have hot rows on GPUs, which add rows as " +
			"they are: each takes maxima, is raw or scaled, or has a hash-stack or weights; leave out " +
			"rows.placement")
	}
	if !j.MixesPlacements() {
		return nil
	}
	first := map[string]string{}
	for _, s := range slots {
		if s.Group == "" {
			continue
		}
		if name, known := first[s.Group]; !known {
			first[s.Group] = s.Name
		} else if j.SlotOnGPU(name) != j.SlotOnGPU(s.Name) {
			return fmt.Errorf("data.slots: %s and %s share the rows of group %s: give both one placement",
				name, s.Name, s.Group)
		}
	}
	at, on := "", len(j.SlotsOnGPU(slots))
	switch on {
	case 0:
		at = RowsOnPSs
	case len(slots):
		at = RowsOnGPU
	default:
		return nil
	}
	return fmt.Errorf("data.slots: all slots of the data have placement %s: leave out the placement of "+
		"slots, and set rows.placement to %s", at, at)
}

// SharesRowsOnGPUs reports whether several ranks hold the rows together, each on its GPU.
func (j *Job) SharesRowsOnGPUs() bool { return j.HasRowsOnGPU() && j.Roles.Ranks > 1 }

// RowsConfig describes the rows that each rank has on its GPU, without the slots of the data.
func (j *Job) RowsConfig() *model.RowsConfig {
	return &model.RowsConfig{Dim: j.Model.Dim(), Optimizer: j.Rows.Optimizer, Seed: j.Training.Seed,
		InitBound: float32(j.Rows.Init), Capacity: j.Rows.Capacity, Memory: j.Rows.Memory}
}

// validateRowsOnGPU returns an error if a setting does not suit rows on a GPU, where they are there.
func (j *Job) validateRowsOnGPU() error {
	if !j.HasRowsOnGPU() {
		return nil
	}
	rule, err := j.Rule()
	if err != nil {
		return err
	}
	gpu := j.GPUSetting()
	switch rows := &j.Rows; {
	case rule.Dense().Strategy != pace.Reduced:
		return fmt.Errorf(gpu+" needs a mode whose rank updates rows and network in every step: use sync or "+
			"hybrid instead of %s", j.Training.Mode)
	case !j.Model.Device.CUDA:
		return errors.New(gpu + " needs a GPU that trains: set model.device to cuda")
	case !j.KernelsOnGPU():
		return errors.New(gpu + " needs a built-in network: the rows of a module of PyTorch are on PSs")
	case j.Roles.RankRecovery:
		return errors.New(gpu + " loses rows with a rank: leave out roles.rank-recovery, and save the " +
			"model on the way")
	case j.Faults.CrashesRanks():
		return errors.New(gpu + " loses rows with a rank: leave nn-worker out of faults.crashes")
	case rows.Capacity == 0 && rows.Memory == 0:
		return errors.New(gpu + " takes its memory before training: set rows.capacity to the number of " +
			"rows, or rows.memory")
	case rows.Precision != table.FP32.String():
		return fmt.Errorf(gpu+" keeps rows in fp32: set rows.precision = %s to fp32", rows.Precision)
	case rows.Admission != 0 && rows.Admission != 1:
		return fmt.Errorf(gpu+" admits every id: leave out rows.admission = %v", rows.Admission)
	case rows.Eviction != RefuseRows:
		return fmt.Errorf(gpu+" evicts no row: set rows.eviction = %s to %s", rows.Eviction, RefuseRows)
	case rows.Optimizer.Kind == opt.FTRL:
		return fmt.Errorf(gpu+" has no optimizer %s: choose %s, %s, %s or %s", opt.FTRL, opt.SGD,
			opt.Adagrad, opt.RowwiseAdagrad, opt.Adam)
	case j.Training.Merge == MergeRank:
		return errors.New(gpu + " updates a row once a step: leave out training.merge = rank")
	case j.Training.Scale == ScaleRank:
		return errors.New(gpu + " scales gradients by the global batch: leave out training.scale = rank")
	case rows.Hot.Every > 0:
		return fmt.Errorf("rows.hot.every = %d: hot rows on GPUs are chosen once, before training: leave it "+
			"out, or leave out rows.placement", rows.Hot.Every)
	case j.HasTiers() && slices.ContainsFunc(j.Data.Slots, func(s SlotSetting) bool {
		return s.Placement != ""
	}):
		return errors.New("rows.hot chooses rows of every slot for the GPUs: leave out the placement of " +
			"slots (data.slots) and set rows.placement to gpu, or leave out rows.hot")
	}
	return nil
}
