package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/datasets"
	"tandem/internal/cli"
	"tandem/runtime/identity"
	"tandem/runtime/member"
	"tandem/runtime/process"
	"tandem/runtime/train"
)

// processFlags declares the flags of runs in processes.
func (f *flags) processFlags(fs *pflag.FlagSet) {
	fs.Var(&inProcessesFlag{f: f}, "processes",
		"run the roles in processes of their own, or as their placement says; a name, as in "+
			"--processes=colocated, is that of the `PLACEMENT`")
	fs.Lookup("processes").NoOptDefVal = "true"
	fs.StringVar(&f.placement, "placement", job.Apart,
		"with --processes, let roles share processes by this `PLACEMENT`: "+
			job.PlacementSyntax+" (default: apart, or the job file's)")
	fs.DurationVar(&f.limits.Hang, "hang-limit", member.DefaultHangLimit,
		"with --processes, drop a process that is silent for this long")
	fs.DurationVar(&f.limits.Return, "return-limit", member.DefaultReturnLimit,
		"with --processes, give a process that is restarted this long to be ready")
	fs.IntVar(&f.limits.Deaths, "deaths", member.DefaultDeathsMax,
		"with --processes, end the run when a process that can restart dies more often than this")
	f.recoveryFlags(fs)
}

// inProcessesFlag is the flag for runs in processes: a switch, or with a value the name of the placement too.
type inProcessesFlag struct {
	f     *flags
	named string // the placement that it names
}

// String returns what the flag was set to.
func (p *inProcessesFlag) String() string {
	if p.f == nil || !p.f.processes {
		return "false"
	}
	return cmp.Or(p.named, "true")
}

// Type is the name of the flag's type.
func (p *inProcessesFlag) Type() string { return "bool" }

// Set reads a truth value or the name of a placement.
func (p *inProcessesFlag) Set(text string) (err error) {
	p.named = ""
	if p.f.processes, err = strconv.ParseBool(text); err == nil {
		return nil
	}
	if !slices.Contains(job.Placements(), text) {
		return errors.New(job.Unknown(text, job.Placements()))
	}
	p.f.processes, p.named = true, text
	return nil
}

// checkProcesses refuses invalid limits, and flags that have no effect.
func (f *flags) checkProcesses(fs *pflag.FlagSet) error {
	for _, name := range []string{"placement", "hang-limit", "return-limit", "deaths", "restarts",
		"fewer", "redo-log"} {
		if fs.Changed(name) && !f.processes {
			return cli.UsageError("add --processes", "--%s: the roles have no processes of their own", name)
		}
	}
	if err := f.limits.Validate(); err != nil {
		return cli.UsageError("see --help", "%v", err)
	}
	if err := f.checkRecovery(fs); err != nil {
		return err
	}
	own, ok := fs.Lookup("processes").Value.(*inProcessesFlag)
	switch {
	case !ok || own.named == "":
		return nil
	case fs.Changed("placement"):
		return cli.UsageError("leave one of them out", "--processes=%s and --placement both place the roles",
			own.named)
	case fs.Changed("resume"):
		return cli.UsageError("a training is resumed with its own placement: leave the name out",
			"--processes=%s cannot be combined with --resume", own.named)
	}
	return fs.Set("placement", own.named)
}

// checkPlacement refuses a placement that does not suit every mode, and what processes do not have.
func (f *flags) checkPlacement(j *job.Job) error {
	if err := j.CheckProcesses(); err != nil && f.processes {
		return cli.UsageError("train without --processes", "%v", err)
	}
	if j.Roles.Placement.Named() || !f.processes {
		return nil
	}
	for _, one := range inModes(*j, f.modes) {
		one.Roles.Placement = j.Roles.Placement
		if _, err := one.Processes(); err != nil {
			return cli.UsageError("see --help for what a placement is; modes that have other roles need "+
				"one of their own",
				"%s: %v", one.Training.Mode, err)
		}
	}
	return nil
}

// inProcesses returns a runner that starts processes for the roles on this machine, as the job's
// placement says. All processes read the resolved job from one file. If the run is recorded,
// each process records its roles.
func (p *program) inProcesses(dataDir string, f flags) runner {
	return func(ctx context.Context, j job.Job, source batch.Source, test *batch.Batch, o train.Options,
		results string) (*train.Result, error) {
		program, err := process.FindNode(ctx)
		if err != nil {
			return nil, err
		}
		// Within the results, so that a training that is killed leaves it nowhere else.
		files, err := os.MkdirTemp(results, ".job-")
		if err == nil {
			files, err = filepath.Abs(files)
		}
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(files)
		if !f.record {
			options, err := p.processOptions(program, files, dataDir, j, f)
			if err != nil {
				return nil, err
			}
			return launched(ctx, options, source, test, o)
		}
		options, err := p.processOptions(program, files, dataDir, j, f, "--record", recordingOf(j, results))
		if err != nil {
			return nil, err
		}
		options.Recorded = true
		folder, err := p.newRecording(j, f, results)
		if err != nil {
			return nil, err
		}
		result, err := launched(ctx, options, source, test, o)
		if err != nil {
			return nil, err
		}
		return result, folder.Measured(result.Staleness)
	}
}

// processOptions describes the processes of a job, whose files it writes to a folder that only this user can
// read. Further flags are those of every process.
func (p *program) processOptions(program, files, dataDir string, j job.Job, f flags,
	further ...string) (o process.Options, err error) {
	text, err := p.written(j, f)
	if err != nil {
		return o, err
	}
	file, fingerprint, err := resolve(files, text)
	if err != nil {
		return o, err
	}
	where, err := filepath.Abs(dataDir)
	if err != nil {
		return o, err
	}
	data, err := datasets.Fingerprint(j.Data, where)
	if err != nil {
		return o, err
	}
	buffer, err := f.checkpoints.behind.size.MarshalText()
	if err != nil {
		return o, err
	}
	own, err := certify(files, j)
	if err != nil {
		return o, err
	}
	flags := append([]string{"--file", file, "--wait", "10s", "--host-return", "0s",
		"--checkpoint-buffer", string(buffer), "--tls", files}, further...)
	o = process.Options{
		Listen: "127.0.0.1:0", Job: j, Fingerprint: fingerprint, Data: data, Identity: own,
		Environment: []string{"TANDEM_DATA=" + where},
		Command: func(s process.Start) []string {
			return slices.Concat([]string{program}, s.Arguments(), flags)
		},
		Stderr: p.stderr, Prefix: "train: ", Limits: f.limits, Drains: f.savesOnTheWay(),
		Fewer: f.fewer && f.restarts > 0 && f.checkpoints.every.Any(),
	}
	o.Redo, err = f.redoFolder(j.Training.Mode)
	return o, err
}

// certificateValid is longer than any training.
const certificateValid = 10 * 365 * 24 * time.Hour

// certify makes a certificate for each kind of process of a job, in a folder that only this user can read,
// and returns that of the host. The key of the authority is never written: no further certificate can be
// made.
func certify(folder string, j job.Job) (*identity.Identity, error) {
	authority, err := identity.NewAuthority("train")
	if err != nil {
		return nil, err
	}
	processes, err := j.Processes()
	if err != nil {
		return nil, err
	}
	if _, err := authority.Write(folder, processes, certificateValid); err != nil {
		return nil, err
	}
	return identity.Open(folder, nil, nil)
}

// redoFolder makes the folder of the redo logs of a mode, and returns it; "" if there are none.
func (f *flags) redoFolder(mode string) (folder string, err error) {
	if f.redoLog == "" {
		return "", nil
	}
	if folder, err = filepath.Abs(filepath.Join(f.redoLog, fileName(mode))); err != nil {
		return "", err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", &cli.Error{Err: fmt.Errorf("--redo-log: %w", err),
			Hint: "give it a folder that can be written"}
	}
	return folder, nil
}

// launched trains in processes, and waits for their end.
func launched(ctx context.Context, options process.Options, source batch.Source, test *batch.Batch,
	o train.Options) (*train.Result, error) {
	cluster := process.New(options)
	o.Cluster = cluster
	result, err := train.Run(ctx, options.Job, source, test, o)
	cluster.Close(err)
	return result, err
}

// resolve writes the text of a job with all its settings to a file, and returns the file and the fingerprint
// of the job in it.
func resolve(folder string, text []byte) (file string, fingerprint []byte, err error) {
	file = filepath.Join(folder, "job.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return "", nil, err
	}
	back, err := job.Load(file)
	if err != nil {
		return "", nil, fmt.Errorf("the resolved job: %w", err)
	}
	fingerprint, err = back.Fingerprint()
	return file, fingerprint, err
}
