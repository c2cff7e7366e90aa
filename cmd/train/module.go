package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tandem/algo/exec/backend"
	"tandem/algo/exec/dense"
	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/datasets"
	"tandem/internal/cli"
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

// beginsWithState sets the state_dict to begin with, if --init-from names a file.
func (f *flags) beginsWithState(j *job.Job) error {
	info, err := os.Stat(f.checkpoints.initFrom)
	if err != nil || info.IsDir() { // a model, or nothing
		return nil
	}
	if j.Model.Kind != model.Torch {
		return &cli.Error{Err: fmt.Errorf("--init-from: %s is a file, and only a module of PyTorch begins "+
			"with a state_dict", f.checkpoints.initFrom), Hint: "name a folder such as RESULTS/sync/model"}
	}
	f.state, err = filepath.Abs(f.checkpoints.initFrom) // a module may change its working directory
	return err
}

// trace writes to the job of a module what its network costs, for the simulator. It refuses a module that one
// of the modes cannot train, before the first begins.
func (f *flags) trace(j *job.Job) error {
	if j.Model.Kind != model.Torch {
		return nil
	}
	schema := datasets.WithDims(f.opened.Schema, j)
	engine, err := f.modules.Engine(j, &schema)
	if err != nil {
		return err
	}
	for _, one := range inModes(*j, f.modes) {
		if err := dense.CheckOptimizer(engine, &one); err != nil {
			return &cli.Error{Err: err, Hint: "choose modes with --mode"}
		}
	}
	j.Model.Traced = model.NewTraced(engine.Layout())
	return nil
}

// backend returns what computes in this process.
func (f *flags) backend() backend.Backend {
	return backend.Backend{Products: f.products, Torch: f.modules.Engine}
}
