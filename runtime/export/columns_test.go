package export_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/runtime/export"
)

// exportedSlot is what another program reads of an id column.
type exportedSlot struct {
	Name, Separator string
	Dim             int
	Whole           bool
	FixedSize       int  `json:"fixed_size"`
	SqrtScaling     bool `json:"sqrt_scaling"`
	Mean, Max       bool
	HashStackRounds int `json:"hash_stack_rounds"`
	HashStackRows   int `json:"hash_stack_rows"`
}

// An export says how the rows of each id column become what the network takes, and how the column is read.
func TestColumnsOfAnExport(t *testing.T) {
	data := table(t)
	data.Derived, data.Means = nil, nil
	user := exportedSlot{Name: "user", Dim: 4, Whole: true}
	tags := exportedSlot{Name: "tags", Dim: 4, Separator: "|"}
	for _, c := range []struct {
		user, tags job.SlotSetting
		want       func(user, tags *exportedSlot)
	}{
		{job.SlotSetting{HashStack: batch.HashStack{Rounds: 2, Rows: 50}, SqrtScaling: true},
			job.SlotSetting{Raw: 3},
			func(user, tags *exportedSlot) {
				user.HashStackRounds, user.HashStackRows, user.SqrtScaling = 2, 50, true
				tags.FixedSize = 3
			}},
		{job.SlotSetting{Pooling: job.PoolMean}, job.SlotSetting{Pooling: job.PoolMax},
			func(user, tags *exportedSlot) { user.Mean, tags.Max = true, true }},
	} {
		c.user.Slot, c.tags.Slot = "user", "tags"
		data.Slots = []job.SlotSetting{c.user, c.tags}
		from := trained(t, data, func(j *job.Job) {
			j.Model.EmbeddingDim = 4
		})
		text, err := os.ReadFile(filepath.Join(exported(t, from, export.Safetensors), export.ColumnsFile))
		if err != nil {
			t.Fatal(err)
		}
		var got struct{ Slots []exportedSlot }
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		want := []exportedSlot{user, tags}
		c.want(&want[0], &want[1])
		if !reflect.DeepEqual(got.Slots, want) {
			t.Errorf("%+v\nwant %+v", got.Slots, want)
		}
	}
}
