package job_test

import (
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/model"
)

// Weights of positive samples need positive samples.
func TestLabelsMustSuitTheNetwork(t *testing.T) {
	for _, c := range []struct {
		values string
		head   model.Head
		want   string
	}{
		{job.ClassLabels, model.Head{PositiveWeight: 3}, ""},
		{job.ShareLabels, model.Head{PositiveWeight: 1}, ""},
		{job.ShareLabels, model.Head{PositiveWeight: 3},
			"model.heads[0].positive-weight = 3 needs labels 0 and 1, and these are shares"},
	} {
		j := job.Default()
		j.Data = job.Data{Kind: job.KindCSV, Path: "a.csv", CSV: &job.Table{Label: "y",
			LabelValues: c.values, Slots: []job.IDColumn{{Column: "user"}}}}
		j.Model.Heads = []model.Head{c.head}
		if err := j.Validate(); (err == nil) != (c.want == "") ||
			err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v", c, err)
		}
	}
}
