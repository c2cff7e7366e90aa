package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"tandem/algo/job"
	"tandem/internal/cli"
)

// trainedRun is one run of a result: of cmd/train, which has several, or of cmd/node.
type trainedRun struct {
	Mode             string  `json:"mode"`
	SamplesPerSecond float64 `json:"samples_per_s"`
	Steps            int     `json:"steps"`
	Ranks            int     `json:"ranks"`
}

// resultDocument is what calibrate reads of a result, and the keys by which it knows predictions.
type resultDocument struct {
	trainedRun
	Runs        []trainedRun    `json:"runs"`
	Reproduce   json.RawMessage `json:"reproduce"`
	Assumptions json.RawMessage `json:"assumptions"`
}

// stepsLeast is the number of steps from which on a rate says how long a step takes.
const stepsLeast = 10

// results returns what a --from has measured: the steps of a folder of cmd/train, those of the JSON that
// cmd/train or cmd/node prints for the job of --file, or the collectives of nccl-tests.
func (t *fitting) results(path string, given func(string) bool) ([]pending, error) {
	file, jobFile := path, t.file
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("--from: %w", err)
	}
	if info.IsDir() {
		file, jobFile = filepath.Join(path, "result.json"), filepath.Join(path, "job.yaml")
		for _, name := range []string{jobFile, file} {
			if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
				return nil, &cli.Error{Err: fmt.Errorf("--from: %s has no %s", path, filepath.Base(name)),
					Hint: "give the folder that cmd/train wrote, when the training has ended"}
			}
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--from: %w", err)
	}
	if !info.IsDir() && !isObject(text) {
		return t.collectives(path, text, given)
	}
	runs, err := readResult(file, text)
	if err != nil {
		return nil, err
	}
	if jobFile == "" {
		return nil, cli.UsageError("a folder of cmd/train has its job.yaml",
			"--from %s: name the job of the results by --file", path)
	}
	var steps []pending
	for _, r := range runs {
		steps = append(steps, pending{
			name: fmt.Sprintf("%s, %s", filepath.Base(path), r.Mode), rate: r.SamplesPerSecond,
			source: "--from", without: []string{"--model"},
			args: []string{"--file", jobFile, "--mode", r.Mode, "--gpus", strconv.Itoa(r.Ranks)},
		})
	}
	return steps, nil
}

const trainAgain = "train again, and give the folder of results, or what cmd/train --json or cmd/node host " +
	"prints"

// readResult returns the runs of a result that have roles.
func readResult(file string, text []byte) ([]trainedRun, error) {
	bad := func(format string, args ...any) ([]trainedRun, error) {
		what := fmt.Sprintf(format, args...)
		return nil, &cli.Error{Err: fmt.Errorf("--from: %s %s", file, what), Hint: trainAgain}
	}
	var d resultDocument
	var syntax *json.SyntaxError
	switch err := json.NewDecoder(bytes.NewReader(text)).Decode(&d); {
	case errors.As(err, &syntax) || err != nil && len(bytes.TrimSpace(text)) == 0:
		return bad("is no JSON")
	case err != nil && !json.Valid(text) && !errors.As(err, new(*json.UnmarshalTypeError)):
		return bad("is cut short")
	case err != nil:
		return bad("is no result of this version: %v", err)
	}
	if d.Reproduce != nil || d.Assumptions != nil {
		return nil, &cli.Error{Err: fmt.Errorf("--from: %s is a prediction of cmd/sim, and no measurement",
			file), Hint: "a prediction cannot calibrate what it is made of; give a step that was measured"}
	}
	runs := d.Runs
	if runs == nil {
		runs = []trainedRun{d.trainedRun}
	}
	withRoles := job.Modes()[1:]
	runs = slices.DeleteFunc(runs, func(r trainedRun) bool { return r.Mode == job.Sequential })
	for _, r := range runs {
		switch {
		case r.Mode == "" || r.Ranks < 1 || !(r.SamplesPerSecond > 0):
			return bad("is no result of this version: a run has no mode, ranks or samples_per_s")
		case !slices.Contains(withRoles, r.Mode):
			return bad("has a run of mode %q, which this version does not have", r.Mode)
		case r.Steps < stepsLeast:
			return bad("has %d steps in %s; want at least %d, for a rate", r.Steps, r.Mode, stepsLeast)
		}
	}
	if len(runs) == 0 {
		return bad("has no run with roles")
	}
	return runs, nil
}
