package main

import (
	"errors"
	"io/fs"

	"tandem/algo/job"
	"tandem/internal/cli"
	"tandem/sim/cost"
	"tandem/sim/fit"
	"tandem/sim/graph"
	"tandem/sim/param"
	"tandem/sim/plan"
	"tandem/sim/predict"
	"tandem/sim/preset"
)

// profileHint is the hint about a name that no built-in profile has.
const profileHint = "sim presets list has the names; a name with a slash, or in .yaml, is a file, whose " +
	"path starts at the working directory"

// Hints about parameters, of --set and of a job file.
const (
	namesHint = "sim presets show CLUSTER and sim run --parameters list the names"
	valueHint = "write the number with its unit, as 25Gbps, 10us or 480GB; counts and shares have none"
)

// adviseSet turns the error about a parameter that --set names into one about the command line.
func adviseSet(err error, settings map[string]string) error {
	var bad *cost.SetError
	if !errors.As(err, &bad) {
		return err
	}
	if _, given := settings[bad.Name]; !given {
		return err // the job file has it
	}
	hint := valueHint
	if errors.Is(err, param.ErrUnknown) {
		hint = namesHint
	}
	return cli.UsageError(hint, "--set: %w", bad.Err)
}

// advise adds a hint to an error that has none.
func advise(err error) error {
	var known *cli.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	for _, a := range []struct {
		of    error
		hint  string
		usage bool
	}{
		{preset.ErrUnknown, profileHint, false},
		{fit.ErrUnexplained, "check the step, its model and its cluster; a profile of your own can have a " +
			"wider range (sim presets export)", false},
		{fit.ErrContradiction, "leave one of them out, or allow more by --sigma", false},
		{fit.ErrInput, "see go run ./cmd/sim calibrate --help", false},
		{param.ErrUnknown, namesHint, true},
		{param.ErrValue, valueHint, true},
		{predict.ErrChoice, "see --help", true},
		{plan.ErrEmpty, "see go run ./cmd/sim presets list, and --presets, --modes and --most-gpus", true},
		{cost.ErrIncompatible, "sim presets show NAME shows what goes with a profile", true},
		{cost.ErrGPUMemory, "more --gpus have room for more rows, and an --accelerator with more memory " +
			"for a larger rows.capacity", false},
		{cost.ErrMemory, "smaller: --row-precision fp16 or a smaller batch; larger: another --preset, or " +
			"more " +
			"hosts by --set embedding-ps.count=N", false},
		{graph.ErrMemory, "smaller: --row-precision fp16 or a smaller batch; larger: more --gpus, or an " +
			"--accelerator with more memory", false},
		{graph.ErrPlacement, "a placement file holds tables: [{table: C1, layout: table-wise, " +
			"ranks: [0]}]; see docs/cluster.md", false},
		{job.ErrUnknownKey, "examples of job files are in cmd/train/jobs", false},
		{job.ErrValue, "examples of job files are in cmd/train/jobs", false},
		{job.ErrSyntax, "examples of job files are in cmd/train/jobs", false},
		{fs.ErrNotExist, "check --file, profiles that are files (paths in them start at the working " +
			"directory), and TANDEM_DATA for the data of a job", false},
	} {
		if errors.Is(err, a.of) {
			return &cli.Error{Err: err, Hint: a.hint, Usage: a.usage}
		}
	}
	return &cli.Error{Err: err, Hint: "see --help, and the job file"}
}
