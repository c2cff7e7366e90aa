package job

import "testing"

// The first setting in which jobs differ is named, with both values. Roles and names are none of them.
func TestDifferenceIsNamed(t *testing.T) {
	for want, change := range map[string]func(*Job){
		"": func(j *Job) { j.Roles.Ranks, j.Name = 2, "other" },
		"training.global-batch is 1024, and 64 there":  func(j *Job) { j.Training.GlobalBatch = 64 },
		"model.optimizer.rate is 0.001, and 0.5 there": func(j *Job) { j.Model.Optimizer.Rate = 0.5 },
		"wire.all-reduce is none, and nccl there":      func(j *Job) { j.Wire.AllReduce = NCCLSums },
		"model.top is [32], and [32 16] there":         func(j *Job) { j.Model.Top = []int{32, 16} },
		"rows.init is 0.01, and 0.5 there":             func(j *Job) { j.Rows.Init = 0.5 },
		"training.seed is 1, and 9 there":              func(j *Job) { j.Training.Seed = 9 },
	} {
		here := Default()
		here.Model.Optimizer.Rate, here.Model.Top = 0.001, []int{32}
		there := here
		change(&there)
		d, err := here.DifferenceButRoles(there)
		got := ""
		if d != nil {
			got = d.String()
		}
		if err != nil || got != want {
			t.Errorf("%q, error %v; want %q", got, err, want)
		}
	}
}
