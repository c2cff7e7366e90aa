package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tandem/algo/job"
	"tandem/algo/unit"
	"tandem/internal/cli"
	"tandem/sim/fit"
	"tandem/sim/predict"
	"tandem/sim/preset"
)

// fitting is what the flags of calibrate ask for if they give measured steps.
type fitting struct {
	flags
	steps, from []string
	sigma       float64
	points      int
}

// priorPerPoint is the number of points at the start for each of the result.
const priorPerPoint = 4

// pending is a measured step whose job is not read yet.
type pending struct {
	name, file    string   // the file is that of several steps
	source        string   // the flag that gives it
	args          []string // of "sim run", for the job
	without       []string // flags of the command line that the job does not take
	seconds, rate float64  // of a step, or samples a second
	collective    string   // measured alone, of bytes; empty: a step
	bytes         unit.Bytes
	wider         float64 // times --sigma; 0: 1
}

// wrap adds to an error of the job what it is about.
func (s *pending) wrap(err error) error {
	if s.source == "--from" && errors.Is(err, job.ErrUnknownKey) {
		return &cli.Error{Err: fmt.Errorf("%s: %s: the job is of another version: %w", s.source, s.name, err),
			Hint: trainAgain}
	}
	return fmt.Errorf("%s: %s: %w", s.source, s.name, err)
}

// pending returns the steps of --step and --from.
func (t *fitting) pending(given func(string) bool) (all []pending, err error) {
	for _, text := range t.from {
		steps, err := t.results(text, given)
		if err != nil {
			return nil, err
		}
		all = append(all, steps...)
	}
	for _, text := range t.steps {
		s, err := parseStep(text)
		if err != nil {
			return nil, err
		}
		args, err := s.flagsOf(&t.flags, given)
		if err != nil {
			return nil, err
		}
		name, _, _ := strings.Cut(text, ":")
		all = append(all, pending{name: name, source: "--step", args: args, seconds: s.seconds, rate: s.rate})
	}
	return all, nil
}

// sharedFlags are the flags of "sim run" that calibrate passes on to the prediction of every step.
var sharedFlags = []string{"preset", "model", "system", "accelerator", "inside", "network", "precision",
	"row-precision", "set"}

// register declares the flags about measured steps.
func (t *fitting) register(fs *pflag.FlagSet) {
	fs.StringArrayVar(&t.steps, "step", nil, "calibrate system software to this measured `STEP`, as in "+
		`"8 A100, batch 65536: 6.1 ms"; may be repeated`)
	fs.StringArrayVar(&t.from, "from", nil, "calibrate system software to these `RESULTS`: a folder of "+
		"cmd/train, or what cmd/train --json, cmd/node host or nccl-tests have printed; may be repeated")
	fs.StringVarP(&t.file, "file", "f", "", "read the job of --from from this YAML `FILE` (default: the "+
		"job.yaml of the folder)")
	fs.Float64Var(&t.sigma, "sigma", 0.1, "allow the logarithm of predicted ÷ measured this standard "+
		"`DEVIATION`")
	fs.IntVar(&t.points, "points", 64, "write this many points, at least 8; fewer are faster and coarser")
	fs.StringVar(&t.preset, "preset", "", "simulate the steps on the `CLUSTER` of this profile (default: "+
		"the first with the accelerators of the step)")
	fs.StringVar(&t.model, "model", "", "simulate steps of this `MODEL` (default: that of the cluster's "+
		"profile)")
	fs.StringVar(&t.system, "system", "", "calibrate this system `SOFTWARE` (default: that of the cluster's "+
		"profile)")
	t.kind = single
	t.registerDevices(fs)
}

// gpuFlags are the flags of calibrate that only the measurement of a GPU has.
var gpuFlags = []string{"device", "host-link", "like", "seconds", "memory"}

// checkFlags refuses flags that do not go together.
func (t *fitting) checkFlags(k *calibration, given func(string) bool) error {
	for _, flag := range gpuFlags {
		if given(flag) {
			return cli.UsageError("call calibrate twice: for the GPU, and for the software",
				"--%s measures a GPU, and --step and --from calibrate system software", flag)
		}
	}
	switch {
	case k.name != "" && preset.IsFile(t.system):
		return cli.UsageError("leave --name out", "--name %s: the profile keeps the name in %s", k.name,
			t.system)
	case !(t.sigma > 0 && t.sigma <= 2):
		return cli.UsageError("0.1 is about 10 %", "--sigma: %v; want more than 0 and at most 2", t.sigma)
	case t.points < 8 || t.points > 4096:
		return cli.UsageError("64 are enough for an interval", "--points: %d; want 8 to 4096", t.points)
	}
	return free("--out", k.out)
}

// fit calibrates system software to measured steps.
func (p *program) fit(c *cobra.Command, t *fitting, k *calibration) error {
	given := c.Flags().Changed
	if err := t.checkFlags(k, given); err != nil {
		return err
	}
	steps, err := t.pending(given)
	if err != nil {
		return err
	}
	var measured []fit.Measurement
	var notes []string
	asked := "--system" // the flags that predict the first step, up to the profile
	o := fit.Options{Sigma: t.sigma, Points: t.points, Prior: priorPerPoint * t.points, Seed: 1}
	for _, s := range steps {
		args := append(passedOn(c.Flags(), append(s.without, s.args...)), s.args...)
		q, err := p.parsed(args)
		if err != nil {
			return s.wrap(err)
		}
		if len(measured) == 0 && s.source == "--step" {
			args = slices.DeleteFunc(args, func(a string) bool { return strings.HasPrefix(a, "--system=") })
			asked = strings.Join(append(args, asked), " ")
		}
		j := q.question(q.modes[0], q.gpus[0])
		if err := j.Hardware.Uncalibrate(); err != nil {
			return err
		}
		seconds := s.seconds
		if s.rate > 0 {
			seconds = float64(j.Training.GlobalBatch) / s.rate
		}
		measured = append(measured, fit.Measurement{Name: s.name, Job: j, Seconds: seconds,
			Collective: s.collective, Bytes: s.bytes, Sigma: s.wider * t.sigma})
		if j.Cluster.Preset != "" && !given("preset") {
			notes = append(notes, fmt.Sprintf("%s: on the cluster %s", cmp.Or(s.file, s.name),
				j.Cluster.Preset))
		}
		notes = append(notes, q.notes...)
		o.Predict = predict.Options{Seed: q.seed, Cluster: q.options()}
	}
	slices.Sort(notes)
	cli.PrintNotes(p.stderr, "sim", slices.Compact(notes))
	bar := cli.NewProgress(p.stderr, p.terminal)
	defer bar.Close()
	all := expected * len(measured)
	o.Progress = func(n int) { bar.Show(min(n, all), all, "simulations") }
	posterior, err := fit.Fit(context.Background(), measured, o)
	bar.Close()
	if err != nil {
		return err
	}
	return p.writeFit(k, asked, measured, posterior)
}

// expected is about the number of simulations of each step, for the progress.
const expected = 2000

// parsed reads flags as "sim run" does. Notes are in the request.
func (p *program) parsed(args []string) (*request, error) {
	quiet := *p
	quiet.stderr = io.Discard
	f := &flags{kind: single}
	run := &cobra.Command{Use: "run"}
	f.register(run.Flags())
	if err := run.ParseFlags(args); err != nil {
		return nil, err
	}
	return quiet.request(run, f)
}

// passedOn returns the flags of the command line that predictions take, without those that a step has itself.
func passedOn(fs *pflag.FlagSet, own []string) (args []string) {
	for _, name := range sharedFlags {
		f := fs.Lookup(name)
		if !f.Changed || slices.Contains(own, "--"+name) {
			continue
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, value := range values {
			args = append(args, "--"+name+"="+value)
		}
	}
	return args
}

// writeFit writes the calibrated profile and the tables about it. The flags asked, with the file of the
// profile, predict a step.
func (p *program) writeFit(k *calibration, asked string, measured []fit.Measurement,
	r *fit.Posterior,
) error {
	if r.Calibration == nil {
		return &cli.Error{Err: errors.New("the steps depend on no quantity of the system that has a range"),
			Hint: "calibrate from another step, or leave --set out"}
	}
	profile := &calibratedProfile{system: &measured[0].Job.Hardware.System, posterior: r, name: k.name}
	profile.asked = measured[0].Job.Cluster.System
	if profile.name == "" && k.out != "" {
		profile.name = strings.TrimSuffix(filepath.Base(k.out), ".yaml")
	}
	setOrigin(r, time.Now())
	text, err := profile.text()
	if err != nil {
		return err
	}
	if err := writeFitTables(p.stderr, profile.system.Name, r); err != nil {
		return err
	}
	return p.writeProfile(k, asked, text, r)
}
