package main

import (
	"io"

	"tandem/algo/job"
	"tandem/datasets"
)

// guess is what the simulator says of the job on another cluster.
type guess struct {
	Mode string `json:"mode"`
}

func (r *report) simulate(t job.Training, modes []string, data *datasets.Dataset) error { return nil }

func (r *report) writeSimulated(w io.Writer) error { return nil }
