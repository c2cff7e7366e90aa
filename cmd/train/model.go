package main

import (
	"path/filepath"

	"tandem/algo/exec"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/datasets"
	"tandem/internal/cli"
	"tandem/runtime/checkpoint"
	"tandem/runtime/train"
)

// modelFolder returns the folder, within the results, of the model that a training of a name in the report
// writes.
func modelFolder(name string) string { return filepath.Join(fileName(name), "model") }

// saveModel makes a training write its model to a folder.
func (p *program) saveModel(o *train.Options, folder string, j job.Job, f flags, data *datasets.Dataset,
	source batch.Source) {
	o.Trained = func(state exec.State) error {
		_ = f.checkpoints.behind.Wait() // why the last checkpoint could not be written has been said
		m, err := p.manifest(j, f, data, source, source.Steps())
		if err != nil {
			return err
		}
		return checkpoint.Save(folder, m, state)
	}
	o.TrainedApart = func(model exec.State, export func(string) ([]string, error)) error {
		m, err := p.manifest(j, f, data, source, source.Steps())
		if err != nil {
			return err
		}
		return checkpoint.SaveApart(folder, m, model, export)
	}
}

// manifest describes the model of a training after a number of steps.
func (p *program) manifest(j job.Job, f flags, data *datasets.Dataset, source batch.Source, steps int,
) (*checkpoint.Manifest, error) {
	text, err := p.written(j, f)
	if err != nil {
		return nil, err
	}
	m := checkpoint.Describe(&j, text, data.Scaling, source, steps)
	m.Graph = f.graph
	m.Commit, m.Written = cli.Commit(), p.now().UTC()
	return m, nil
}
