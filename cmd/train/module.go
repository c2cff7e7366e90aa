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

// trace writes to the job of a module what its network costs, for the simulator. Before the first mode begins
// it refuses a chosen one that cannot train the module. If all modes are trained, it leaves such a mode out
// and returns a note.
func (f *flags) trace(j *job.Job) (notes []string, err error) {
	if j.Model.Kind != model.Torch {
		return nil, nil
	}
	schema := datasets.WithDims(f.opened.Schema, j)
	engine, err := f.modules.Engine(j, &schema)
	if err != nil {
		return nil, err
	}
	var suited []string
	for _, one := range inModes(*j, f.modes) {
		switch err := dense.CheckOptimizer(engine, &one); {
		case err == nil:
			suited = append(suited, one.Training.Mode)
		case f.modesChosen:
			return nil, &cli.Error{Err: err, Hint: "choose modes with --mode"}
		default:
			notes = append(notes, fmt.Sprintf("%s is left out: the file has an optimizer, which takes steps "+
				"of the whole network, and dense PSs have parts of it", one.Training.Mode))
		}
	}
	if suited == nil {
		return nil, cli.UsageError("leave the optimizer out of the file", "--mode: none of the modes can run")
	}
	f.keepModes(j, suited)
	j.Model.Traced = model.NewTraced(engine.Layout())
	return notes, nil
}

// makeGraph makes the graph of a module, with which its models are served without Python. If there can be
// none, a line says why.
func (p *program) makeGraph(j *job.Job, f *flags) {
	schema := datasets.WithDims(f.opened.Schema, j)
	graph, err := f.modules.Graph(j, &schema)
	if err != nil {
		fmt.Fprintf(p.stderr, "train: %v\n", err)
	}
	f.graph = graph
}

// backend returns what computes in this process, which has ranks unless they are in processes of their own.
func (f *flags) backend() backend.Backend {
	m := backend.Backend{Products: f.products, Torch: f.modules.Engine}
	if f.processes {
		m.Torch = f.modules.HostEngine
	}
	return m
}

// backend is that of the flags, whose notes the user reads.
func (p *program) backend(f *flags) backend.Backend {
	m := f.backend()
	m.Note = func(line string) { fmt.Fprintf(p.stderr, "train: %s\n", line) }
	return m
}
