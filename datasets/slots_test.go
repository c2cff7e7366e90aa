package datasets

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
)

func TestSlotSettingsReachTheSchema(t *testing.T) {
	stack := batch.HashStack{Rounds: 2, Rows: 7}
	spec := &job.Synthetic{TrainRows: 10, TestRows: 10,
		Columns: []job.SyntheticColumn{{Name: "a", Cardinality: 9}, {Name: "b", Cardinality: 9},
			{Name: "c", Cardinality: 9}}}
	open := func(slots ...job.SlotSetting) (*Dataset, error) {
		return Open(job.Data{Kind: job.KindSynthetic, Synthetic: spec, Slots: slots}, "")
	}
	data, err := open(job.SlotSetting{Slot: "c", Group: "g", HashStack: stack, SqrtScaling: true},
		job.SlotSetting{Slot: "a", Group: "g", HashStack: stack, Raw: 3, Pooling: job.PoolMean},
		job.SlotSetting{Slot: "b", Dim: 64, Pooling: job.PoolSqrt}) // a dimension is for WithDims
	if err != nil {
		t.Fatal(err)
	}
	want := []batch.Slot{
		{Name: "a", Group: "g", HashStack: stack, Pooling: batch.Raw, FixedSize: 3, Scale: batch.Mean},
		{Name: "b", Scale: batch.SqrtScaled},
		{Name: "c", Group: "g", HashStack: stack, Scale: batch.SqrtScaled},
	}
	for i, got := range data.Schema.Slots {
		if got != want[i] {
			t.Errorf("slot %+v, want %+v", got, want[i])
		}
	}
	for _, c := range []struct {
		want  string
		slots []job.SlotSetting
	}{
		{`slots[0].slot: no slot "d": the data have a, b, c`, []job.SlotSetting{{Slot: "d"}}},
		{"slots[0].slot: empty", []job.SlotSetting{{}}},
		{`slots[1].slot: "a" is there twice`, []job.SlotSetting{{Slot: "a"}, {Slot: "a"}}},
		{`slots[0].pooling = "most" is unknown`, []job.SlotSetting{{Slot: "a", Pooling: "most"}}},
		{"slots[0]: sqrt-scaling is pooling: sqrt, and there is pooling: mean: leave one out",
			[]job.SlotSetting{{Slot: "a", Pooling: job.PoolMean, SqrtScaling: true}}},
		{"slots[0]: raw keeps the ids of a sample apart, and pooling: max joins them: leave one out",
			[]job.SlotSetting{{Slot: "a", Pooling: job.PoolMax, Raw: 2}}},
		{"slots[0]: pooling: max is of ids with one row each, and a hash-stack gives them several: leave one",
			[]job.SlotSetting{{Slot: "a", Pooling: job.PoolMax, HashStack: stack}}},
		{"slots[0].raw: -1", []job.SlotSetting{{Slot: "a", Raw: -1}}},
		{"slots[0].hash-stack: 2 rounds of 0 rows",
			[]job.SlotSetting{{Slot: "a", HashStack: batch.HashStack{Rounds: 2}}}},
		{"slots a and b are of group g, but their rows differ",
			[]job.SlotSetting{{Slot: "a", Group: "g", HashStack: stack}, {Slot: "b", Group: "g"}}},
	} {
		if _, err := open(c.slots...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

func TestCSVReadsSeveralLabels(t *testing.T) {
	folder := t.TempDir()
	text := "user,click,buy\na,yes,no\nb,no,no\na,yes,yes\nb,yes,maybe\nc,no,no\n"
	if err := os.WriteFile(filepath.Join(folder, "t.csv"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	cfg := job.Data{Kind: job.KindCSV, Path: "t.csv", OnBadRow: job.OnBadRow{Skip: 1}, CSV: &job.Table{
		Slots: []job.IDColumn{{Column: "user"}}, Label: "click", FurtherLabels: []string{"buy"},
		Positive: []string{"yes"}, Negative: []string{"no"},
	}}
	data, err := Open(cfg, folder)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(data.Schema.Labels, " "); got != "click buy" {
		t.Errorf("labels %s", got)
	}
	got := append(data.Train.Labels, data.Test.Labels...)
	for i, want := range []float32{1, 0, 0, 0, 1, 1, 0, 0} {
		if got[i] != want {
			t.Fatalf("labels %v", got)
		}
	}
	if len(data.BadRows) != 1 || !strings.Contains(data.BadRows[0].Error(), `buy`) {
		t.Errorf("bad rows %v, want the one that may have been bought", data.BadRows)
	}
	cfg.CSV.FurtherLabels = []string{"click"}
	if err := cfg.Validate(); err == nil ||
		!strings.Contains(err.Error(), `csv.further-labels[0]: column "click" has another use`) {
		t.Error(err)
	}
}
