package job

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"tandem/algo/numeric/model"
	"tandem/algo/numeric/opt"
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
		"capacity": {func(j *Job) { j.Rows.Capacity = 9 }, ""},
		"memory":   {func(j *Job) { j.Rows.Memory = 1 << 30 }, ""},
		"eviction": {func(j *Job) { j.Rows.Capacity, j.Rows.Eviction = 9, SecondChance }, ""},
		"hot rows": {func(j *Job) { j.Rows.Hot.Share = 0.5 },
			"data.slots: slot user has rows of 64 values, and rows.hot needs rows of the 16 values of " +
				"the model: leave it out, or leave out the dim of the slot"},
		"GPU": {func(j *Job) { j.Model.Device.CUDA = true }, "model.device needs"},
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

// Slots have the settings of section rows where they have none of their own, also within an optimizer, in
// whichever order the file has them. Slots with equal settings are one class, and those with the settings of
// section rows are class 0.
func TestSettingsOfRowsBySlot(t *testing.T) {
	const text = `
data:
  kind: adult-income
  slots:
    - {slot: workclass, optimizer: {rate: 0.5, schedule: {warm-up: 9}}}
    - {slot: education, optimizer: {kind: adam}, init: 0}
    - {slot: occupation, precision: bf16}
    - {slot: race, optimizer: {rate: 0.5, schedule: {warm-up: 9}}, init: 0.03}
    - {slot: sex, optimizer: {rate: 0.25}, init: 0.03, precision: fp32}
    - {slot: relationship, dim: 4}
rows: {init: 0.03, optimizer: {kind: rowwise-adagrad, rate: 0.25, epsilon: 1e-6}}
`
	j, err := Parse([]byte(text), "job.yaml")
	if err != nil {
		t.Fatal(err)
	}
	base := defaultRowsOf(opt.RowwiseAdagrad, 0.25, 1e-6)
	faster, adam := base, base
	faster.Rate, faster.Schedule.WarmUp, adam.Kind = 0.5, 9, opt.Adam
	want := []RowSettings{{base, 0.03, "fp32", 0, 0}, {faster, 0.03, "fp32", 0, 0},
		{adam, 0, "fp32", 0, 0}, {base, 0.03, "bf16", 0, 0}}
	if got := j.RowSettings(); !slices.Equal(got, want) {
		t.Errorf("settings %+v, want %+v", got, want)
	}
	got := map[string][2]int{}
	for _, s := range j.SlotRows() {
		got[s.Name] = [2]int{s.Dim, s.Class}
	}
	if want := (map[string][2]int{"workclass": {16, 1}, "education": {16, 2}, "occupation": {16, 3},
		"race": {16, 1}, "relationship": {4, 0}}); !maps.Equal(got, want) {
		t.Errorf("slots %v, want %v", got, want)
	}
	written, err := yaml.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := Parse(written, "job.yaml"); err != nil || !reflect.DeepEqual(again.Data, j.Data) {
		t.Errorf("read again: %+v, error %v", again.Data.Slots, err)
	}
}

// defaultRowsOf returns the default optimizer of rows with another kind, rate and epsilon.
func defaultRowsOf(kind string, rate, epsilon float64) opt.RowSpec {
	s := opt.DefaultRow()
	s.Kind, s.Rate, s.Epsilon = kind, rate, epsilon
	return s
}

// Settings of rows that are out of range, that slots of a group do not share, or that something else in the
// job does not go with, are refused in one line.
func TestSettingsOfRowsBySlotAreRefusedByName(t *testing.T) {
	own := func(change func(*opt.RowSpec)) *opt.RowSpec {
		s := opt.DefaultRow()
		change(&s)
		return &s
	}
	sgd := own(func(s *opt.RowSpec) { s.Kind = opt.SGD })
	for name, c := range map[string]struct {
		slot   SlotSetting
		change func(*Job)
		want   string
	}{
		"fits": {SlotSetting{Optimizer: sgd}, func(*Job) {}, ""},
		"dlrm": {SlotSetting{Optimizer: sgd}, func(j *Job) { j.Model.Kind = model.DLRM }, ""},
		"the settings of all": {SlotSetting{Optimizer: new(opt.DefaultRow())},
			func(j *Job) { j.Rows.Hot.Share = 0.5 }, ""},
		"without effect": {SlotSetting{Optimizer: own(func(s *opt.RowSpec) { s.Beta1, s.L1 = 0.5, 3 })},
			func(j *Job) { j.Rows.Hot.Share = 0.5 }, ""},
		"capacity":  {SlotSetting{Optimizer: sgd}, func(j *Job) { j.Rows.Capacity = 9 }, ""},
		"init":      {SlotSetting{Init: new(-1.)}, nil, "data.slots[0].init = -1; want 0 to"},
		"fp16":      {SlotSetting{Init: new(7e4), Precision: "fp16"}, nil, "init = 70000 of rows in fp16"},
		"precision": {SlotSetting{Precision: "fp8"}, nil, `data.slots[0].precision = "fp8"`},
		"rate": {SlotSetting{Optimizer: own(func(s *opt.RowSpec) { s.Rate = 0 })}, nil,
			"data.slots[0].optimizer.rate = 0, want a finite number above 0"},
		"group, kind": {SlotSetting{Group: "both", Optimizer: sgd}, nil, "data.slots: slots user and hour " +
			"of group both share rows, and have optimizer.kind sgd and adagrad: give them one"},
		"group, rate": {SlotSetting{Group: "both", Optimizer: own(func(s *opt.RowSpec) { s.Rate = 3 })}, nil,
			"have optimizer.rate 3 and 0.01"},
		"group, epsilon": {SlotSetting{Group: "both", Optimizer: own(func(s *opt.RowSpec) { s.Epsilon = 3 })},
			nil, "have optimizers with other settings"},
		"group, init": {SlotSetting{Group: "both", Init: new(0.5)}, nil, "have init 0.5 and 0.01"},
		"group, precision": {SlotSetting{Group: "both", Precision: "bf16"}, nil,
			"have precision bf16 and fp32"},
		"group, expiry": {SlotSetting{Group: "both", Expiry: new(5)}, nil, "have expiry 5 and 0"},
		"group, count": {SlotSetting{Group: "both", AdmissionCount: new(2)}, nil,
			"have admission-count 2 and 0"},
		"expiry": {SlotSetting{Expiry: new(-1)}, nil, "data.slots[0].expiry = -1; want 0 to"},
		"count": {SlotSetting{AdmissionCount: new(256)}, nil,
			"data.slots[0].admission-count = 256; want 0 to 255"},
		"ages":           {SlotSetting{Expiry: new(5), AdmissionCount: new(3)}, nil, ""},
		"expiry of rows": {SlotSetting{}, func(j *Job) { j.Rows.Expiry = -1 }, "rows.expiry = -1; want 0"},
		"count of rows": {SlotSetting{}, func(j *Job) { j.Rows.AdmissionCount = 256 },
			"rows.admission-count = 256; want 0 to 255"},
		"candidates": {SlotSetting{}, func(j *Job) { j.Rows.AdmissionCandidates = -1 },
			"rows.admission-candidates = -1; want 0"},
		"expiry, evicting": {SlotSetting{Expiry: new(5)}, func(j *Job) {
			j.Rows.Eviction, j.Rows.Capacity = SecondChance, 9
		}, "rows: expiry = 5 does not go with eviction: second-chance"},
		"count, evicting": {SlotSetting{AdmissionCount: new(5)}, func(j *Job) {
			j.Rows.Eviction, j.Rows.Capacity = SecondChance, 9
		}, ""},
		"count, lottery": {SlotSetting{AdmissionCount: new(3)}, func(j *Job) { j.Rows.Admission = 0.5 },
			"rows: admission-count = 3 does not go with admission = 0.5"},
		"expiry, lottery": {SlotSetting{Expiry: new(3)}, func(j *Job) { j.Rows.Admission = 0.5 }, ""},
		"expiry, hot": {SlotSetting{}, func(j *Job) { j.Rows.Expiry, j.Rows.Hot.Share = 7, 0.5 },
			"rows: expiry = 7 does not go with hot rows"},
		"count, GPU": {SlotSetting{}, func(j *Job) {
			j.Rows.AdmissionCount, j.Rows.Placement, j.Rows.Capacity = 2, RowsOnGPU, 9
			j.Model.Device.CUDA = true
		}, "rows: admission-count = 2 does not go with rows.placement = gpu"},
		"hot rows": {SlotSetting{Init: new(0.)}, func(j *Job) { j.Rows.Hot.Share = 0.5 },
			"data.slots: slot user has settings of its own for its rows, and rows.hot needs those of " +
				"section rows: leave it out, or leave out what the slot has of its own"},
		"GPU": {SlotSetting{Precision: "fp16"}, func(j *Job) { j.Model.Device.CUDA = true },
			"model.device needs those"},
	} {
		j := Default()
		c.slot.Slot = "user"
		j.Name, j.Cluster = "job", PersiaCluster()
		j.Data = Data{Kind: KindAdultIncome,
			Slots: []SlotSetting{c.slot, {Slot: "hour", Group: c.slot.Group}}}
		if c.change != nil {
			c.change(&j)
		}
		err := j.validateFile()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
	_, err := Parse([]byte("data: {kind: adult-income, slots: [{slot: sex, dimension: 4}]}"), "job.yaml")
	if err == nil || !strings.Contains(err.Error(), `unknown key "dimension": did you mean "dim"?`) {
		t.Error(err)
	}
	const text = "data: {kind: adult-income, slots: [{slot: sex, optimizer: {rat: 1}}]}"
	_, err = Parse([]byte(text), "job.yaml")
	if err == nil || !strings.Contains(err.Error(), `data.slots[0].optimizer: unknown key "rat"`) {
		t.Error(err)
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
