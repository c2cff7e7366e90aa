package main

import (
	"errors"
	"io/fs"

	"tandem/algo/job"
	"tandem/internal/cli"
	"tandem/sim/cost"
	"tandem/sim/preset"
)

// advise adds a hint to an error that has none.
func advise(err error) error {
	var known *cli.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	for _, a := range []struct {
		of   error
		hint string
	}{
		{preset.ErrUnknown, "name one of the known profiles, in the job file or by --accelerator"},
		{cost.ErrMemory, "smaller: --batch-per-gpu; larger: --cluster gcp, or a job file with " +
			"other hosts"},
		{job.ErrUnknownKey, "examples of job files are in cmd/train/jobs"},
		{job.ErrValue, "examples of job files are in cmd/train/jobs"},
		{job.ErrSyntax, "examples of job files are in cmd/train/jobs"},
		{fs.ErrNotExist, "check --file, and TANDEM_DATA for the data that it names"},
	} {
		if errors.Is(err, a.of) {
			return &cli.Error{Err: err, Hint: a.hint}
		}
	}
	return &cli.Error{Err: err, Hint: "see --help, and the job file"}
}
