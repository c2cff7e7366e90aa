package main

import (
	"context"
	"fmt"
	"path/filepath"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/runtime/record"
	"tandem/runtime/train"
)

// recordings is the folder within the results that --record writes. It has a folder for each
// mode and seed.
const recordings = "recording"

// recordingOf returns the folder for the recording of a training.
func recordingOf(j job.Job, results string) string {
	return filepath.Join(results, recordings, fmt.Sprintf("%s-seed-%d", j.Training.Mode, j.Training.Seed))
}

// newRecording creates the recording of a job in one mode, with one seed.
func (p *program) newRecording(j job.Job, f flags, results string) (*record.Folder, error) {
	text, err := p.written(j, f)
	if err != nil {
		return nil, err
	}
	return record.Create(recordingOf(j, results), text)
}

// recorded returns a runner that records.
func (p *program) recorded(f flags) runner {
	return func(ctx context.Context, j job.Job, source batch.Source, test *batch.Batch, o train.Options,
		results string) (*train.Result, error) {
		folder, err := p.newRecording(j, f, results)
		if err != nil {
			return nil, err
		}
		o.Recorder = folder
		result, err := train.Run(ctx, j, source, test, o)
		if closed := folder.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return nil, err
		}
		return result, folder.Measured(result.Staleness)
	}
}
