package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"tandem/algo/batch"
	"tandem/cmd/face"
	"tandem/cmd/internal/jobfile"
	"tandem/datasets"
	"tandem/runtime/coord"
	"tandem/runtime/launch"
	"tandem/runtime/train"
)

// limitFlags registers the flags of what a run in processes bears.
func (f *flags) limitFlags(fs *pflag.FlagSet) {
	fs.DurationVar(&f.limits.Hang, "hang-limit", coord.DefaultHangLimit, "with --processes: drop a process that is silent for this long")
	fs.DurationVar(&f.limits.Return, "return-limit", coord.DefaultReturnLimit, "with --processes: how long a role that is restarted may take")
	fs.IntVar(&f.limits.Deaths, "deaths", coord.DefaultDeathsMax, "with --processes: end the run when a role that can restart dies more often than this")
}

// checkLimits refuses invalid limits, and limits that have no effect.
func (f *flags) checkLimits(fs *pflag.FlagSet) error {
	for _, name := range []string{"hang-limit", "return-limit", "deaths"} {
		if fs.Changed(name) && !f.processes {
			return face.Misuse("add --processes", "--%s: the roles have no processes of their own", name)
		}
	}
	if err := f.limits.Validate(); err != nil {
		return face.Misuse("see --help", "%v", err)
	}
	return nil
}

// inProcesses returns a runner that has a process for every role, on this
// machine. All read the job, resolved, from one file. If they record, each
// records its role.
func (p *program) inProcesses(dataDir string, record bool, limits launch.Limits) runner {
	return func(ctx context.Context, j jobfile.Job, source batch.Source, test *batch.Batch, o train.Options, results string) (*train.Result, error) {
		program, err := launch.FindNode()
		if err != nil {
			return nil, err
		}
		files, err := os.MkdirTemp("", "tandem-job-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(files)
		file, fingerprint, err := resolve(files, j)
		if err != nil {
			return nil, err
		}
		where, err := filepath.Abs(dataDir)
		if err != nil {
			return nil, err
		}
		data, err := datasets.Fingerprint(j.Data, where)
		if err != nil {
			return nil, err
		}
		flags := []string{"--file", file, "--wait", "3s"}
		options := launch.Options{
			Listen: "127.0.0.1:0", Training: j.Training, Job: fingerprint, Data: data,
			Environment: []string{"TANDEM_DATA=" + where},
			Command: func(s launch.Start) []string {
				return append([]string{
					program, s.Role.Role.String(), "--index", strconv.Itoa(int(s.Role.Index)),
					"--host", s.Host, "--run", hex.EncodeToString(s.Run[:]),
				}, flags...)
			},
			Stderr: p.stderr, Prefix: "train: ", Limits: limits,
		}
		if !record {
			return launched(ctx, options, source, test, o)
		}
		folder, err := newRecording(j, results)
		if err != nil {
			return nil, err
		}
		options.Recorded, flags = true, append(flags, "--record", recordingOf(j.Training, results))
		result, err := launched(ctx, options, source, test, o)
		if err != nil {
			return nil, err
		}
		return result, folder.Measured(result.Staleness)
	}
}

// launched trains in processes, and waits for their end.
func launched(ctx context.Context, options launch.Options, source batch.Source, test *batch.Batch, o train.Options) (*train.Result, error) {
	cluster := launch.New(options)
	o.Cluster = cluster
	result, err := train.Run(ctx, options.Training, source, test, o)
	cluster.Close(err)
	return result, err
}

// resolve writes a job with all its settings, and returns the file and the
// fingerprint of what a process reads there.
func resolve(folder string, j jobfile.Job) (file string, fingerprint []byte, err error) {
	text, err := yaml.Marshal(j)
	if err != nil {
		return "", nil, err
	}
	file = filepath.Join(folder, "job.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return "", nil, err
	}
	back, err := jobfile.Load(file)
	if err != nil {
		return "", nil, fmt.Errorf("the resolved job: %w", err)
	}
	fingerprint, err = back.Fingerprint()
	return file, fingerprint, err
}
