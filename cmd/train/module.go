package main

import (
	"errors"
	"strings"

	"tandem/algo/exec/backend"
	"tandem/algo/job"
	"tandem/algo/numeric/model"
)

// setModule makes the dense network of a job the class that --model names.
func (f *flags) setModule(j *job.Job) error {
	colon := strings.LastIndexByte(f.module, ':')
	if colon < 1 || colon == len(f.module)-1 {
		return errors.New("want FILE:CLASS, as in net.py:Net")
	}
	spec := &j.Model.Spec
	spec.EmbeddingDim = spec.Dim() // rows keep their length
	spec.Kind, spec.Class, spec.Arguments = model.Torch, f.module[colon+1:], nil
	spec.File, spec.Source = f.module[:colon], ""
	return job.ReadModule(spec)
}

// backend returns what computes in this process.
func (f *flags) backend() backend.Backend {
	return backend.Backend{Products: f.products, Torch: f.modules.Engine}
}
