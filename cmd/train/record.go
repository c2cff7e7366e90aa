package main

import (
	"context"
	"fmt"
	"path/filepath"

	"go.yaml.in/yaml/v3"

	"tandem/algo/batch"
	"tandem/algo/job"
	"tandem/cmd/internal/jobfile"
	"tandem/runtime/record"
	"tandem/runtime/train"
)

// recordings is the folder of a results folder that --record writes, with a
// folder for each mode and seed.
const recordings = "recording"

// recorded trains as train.Run does, and records it. The recording holds the
// job as it is trained here: in one mode, with one seed.
func recorded(ctx context.Context, j jobfile.Job, t job.Training, source batch.Source, test *batch.Batch, o train.Options, results string) (*train.Result, error) {
	j.Training = t
	text, err := yaml.Marshal(j)
	if err != nil {
		return nil, err
	}
	folder, err := record.Create(filepath.Join(results, recordings, fmt.Sprintf("%s-seed-%d", t.Mode, t.Seed)), text)
	if err != nil {
		return nil, err
	}
	o.Recorder = folder
	result, err := train.Run(ctx, t, source, test, o)
	if closed := folder.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return nil, err
	}
	return result, folder.Measured(result.Staleness)
}
