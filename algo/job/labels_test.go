package job_test

import (
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/model"
)

// Labels, weights and loss must suit each other, and the device.
func TestLabelsMustSuitTheNetwork(t *testing.T) {
	gpu, err := job.ParseDevice("cuda")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		values, loss string
		head         model.Head
		device       job.Device
		weight       string
		want         string
	}{
		{values: job.ClassLabels, head: model.Head{PositiveWeight: 3}},
		{values: job.ShareLabels, head: model.Head{PositiveWeight: 1}, device: gpu},
		{values: job.ShareLabels, head: model.Head{PositiveWeight: 3},
			want: "model.heads[0].positive-weight = 3 needs labels 0 and 1, and these are shares"},
		{values: job.ClassLabels, loss: model.SquaredLoss},
		{values: job.NumberLabels, loss: model.SquaredLoss, head: model.Head{Center: 2, Scale: 3}},
		{values: job.NumberLabels, want: `model.loss = "" is for labels from 0 to 1, and these are numbers`},
		{loss: model.SquaredLoss, device: gpu, want: "model.device = cuda has no squared loss"},
		{weight: "w", device: gpu, want: "model.device = cuda has no weights of rows (w)"},
		{weight: "w"},
		{loss: "absolute", want: `model.loss = "absolute", want squared`},
		{head: model.Head{Center: 1}, want: "model.heads[0].center, scale: need loss: squared"},
		{loss: model.SquaredLoss, head: model.Head{Scale: -1}, want: "model.heads[0].scale = -1"},
		{loss: model.SquaredLoss, head: model.Head{PositiveWeight: 2},
			want: "model.heads[0].positive-weight = 2: labels that are numbers have no positive samples"},
	} {
		j := job.Default()
		j.Data = job.Data{Kind: job.KindCSV, Path: "a.csv", CSV: &job.Table{Label: "y",
			LabelValues: c.values, Weight: c.weight, Slots: []job.IDColumn{{Column: "user"}}}}
		j.Model.Heads, j.Model.Loss, j.Model.Device = []model.Head{c.head}, c.loss, c.device
		if err := j.Validate(); (err == nil) != (c.want == "") ||
			err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v", c, err)
		}
	}
}
