package job

import (
	"strings"
	"testing"

	"tandem/algo/numeric/model"
)

// A dimension by slot is refused, by the name of the slot and with what to do, where something needs rows of
// one length.
func TestDimensionsBySlotAreRefusedByName(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Job)
		want   string
	}{
		"fits":              {func(*Job) {}, ""},
		"dcn-v2":            {func(j *Job) { j.Model.Kind = model.DCNv2 }, ""},
		"that of the model": {func(j *Job) { j.Model.Kind, j.Model.EmbeddingDim = model.DLRM, 64 }, ""},
		"hot rows without roles": {func(j *Job) {
			j.Training.Mode, j.Rows.Hot.Share = Sequential, 0.5
		}, ""},
		"dlrm": {func(j *Job) { j.Model.Kind = model.DLRM },
			"data.slots: slot user has rows of 64 values, and a dlrm needs rows of 16 values in every " +
				"slot: leave out its dim, or use feed-forward or dcn-v2"},
		"deepfm": {func(j *Job) { j.Model.Kind = model.DeepFM }, "a deepfm needs rows of 17 values"},
		"fm":     {func(j *Job) { j.Model.Kind = model.FactorizationMachine }, "a fm needs rows of 9 values"},
		"logistic-regression": {func(j *Job) { j.Model.Kind = model.LogisticRegression },
			"a logistic-regression needs rows of 1 values"},
		"capacity": {func(j *Job) { j.Rows.Capacity = 9 },
			"data.slots: slot user has rows of 64 values, and rows.capacity needs rows of the 16 values of " +
				"the model: leave it out, or leave out the dim of the slot"},
		"memory": {func(j *Job) { j.Rows.Memory = 1 << 30 }, "rows.memory needs"},
		"eviction": {func(j *Job) { j.Rows.Capacity, j.Rows.Eviction = 9, SecondChance },
			"rows.eviction needs"},
		"hot rows": {func(j *Job) { j.Rows.Hot.Share = 0.5 }, "rows.hot needs"},
		"GPU":      {func(j *Job) { j.Model.Device.CUDA = true }, "model.device needs"},
		"group": {func(j *Job) { j.Data.Slots[0].Group, j.Data.Slots[1].Group = "both", "both" },
			"data.slots: slots user and hour of group both have rows of 64 and 16 values: give them one dim"},
		"group of one dimension": {func(j *Job) {
			j.Data.Slots[0].Group, j.Data.Slots[1].Group, j.Model.EmbeddingDim = "both", "both", 64
		}, ""},
	} {
		j := Default()
		j.Data = Data{Kind: KindAdultIncome, Slots: []SlotSetting{{Slot: "user", Dim: 64}, {Slot: "hour"}}}
		c.change(&j)
		err := j.Validate()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

func TestDimensionsBySlotHaveARange(t *testing.T) {
	for _, dim := range []int{-1, 1<<16 + 1} {
		err := validateSlots([]SlotSetting{{Slot: "user", Dim: dim}})
		if err == nil || !strings.Contains(err.Error(), "slots[0].dim") ||
			!strings.Contains(err.Error(), "must be 1 to 65536, or 0 for that of the model") {
			t.Errorf("%d: %v", dim, err)
		}
	}
}
