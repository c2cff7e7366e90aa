package main

import (
	"fmt"

	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/algo/protocol/delay"
	"tandem/internal/cli"
)

// variant is a model that is trained for the report.
type variant struct {
	name     string
	job      job.Job
	baseline bool
}

// variants returns what is trained, in the order of the report: the job in every mode, the job
// with each delay, and the baseline if there is one.
func variants(j job.Job, f flags) ([]variant, error) {
	var all []variant
	for _, one := range inModes(j, f.modes) {
		all = append(all, variant{name: nameOf(one), job: one})
	}
	seen := map[string]bool{}
	for _, text := range f.delays {
		spec, err := delay.Parse(text)
		if err == nil {
			err = spec.Load(job.ReadTrace)
		}
		if err != nil {
			return nil, cli.UsageError("see --help", "--delay: %v", err)
		}
		if spec.IsZero() {
			return nil, cli.UsageError("--mode sequential trains without delay", "--delay: %q delays nothing",
				text)
		}
		one := j.InMode(job.Sequential)
		one.Training.ClearDelays()
		one.Training.Delay, one.Training.HotRows = spec, f.hot
		if f.delayDense {
			one.Training.DelayDense = spec
		}
		name := nameOf(one)
		if seen[name] {
			return nil, cli.UsageError("name each delay once", "--delay: %q is named twice", text)
		}
		seen[name] = true
		all = append(all, variant{name: name, job: one})
	}
	if baseline := f.chosen.baseline; baseline != nil {
		all = append(all, variant{name: model.LogisticRegression, job: *baseline, baseline: true})
	}
	return all, nil
}

// nameOf returns the name of a training in the report.
func nameOf(j job.Job) string {
	if !j.Delayed() {
		return j.Training.Mode
	}
	name := "delay " + j.Training.Delay.String()
	if hot := j.Training.HotRows; hot != nil {
		name += fmt.Sprintf(", hot rows %v", *hot)
	}
	switch {
	case j.Training.DelayDense.IsZero():
		return name
	case j.Training.Delay.String() == j.Training.DelayDense.String():
		return name + ", dense too"
	}
	return name + ", dense " + j.Training.DelayDense.String()
}
