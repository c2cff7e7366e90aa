package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tandem/algo/exec/backend"
	"tandem/algo/job"
	"tandem/algo/numeric/kernel/gemm"
	"tandem/algo/numeric/model"
	"tandem/algo/unit"
	"tandem/datasets"
	"tandem/internal/cli"
	"tandem/internal/workload"
	"tandem/runtime/blas"
	"tandem/sim/cost"
	"tandem/sim/device"
)

// request is what the command line asks for.
type request struct {
	flags
	job      job.Job
	hardware *cost.Hardware // of the job's cluster, or of this machine
	workload cost.Workload
	layout   *model.Layout
	data     *datasets.Dataset // to train on; nil for a prediction
	machine  backend.Backend   // to train on
	persia   bool              // Persia's experiment as published, so its figures are printed, too
	command  string            // that repeats the request
}

// criteo returns Persia's evaluation on Criteo as far as it is published: its network and the
// shape of the data. Of 100 rows, 80 are for training.
func criteo() job.Job {
	j := job.Default()
	j.Name, j.Cluster = "criteo", job.PersiaCluster()
	j.Model.Spec = model.PersiaTower()
	j.Data = job.Data{Kind: job.KindSynthetic, Synthetic: &job.Synthetic{
		Preset: job.PresetCriteo, TrainRows: 36_672_493, TestRows: 9_168_124,
	}}
	return j
}

// clusters are the values of --cluster.
func clusters() []string { return []string{"persia", "gcp", "this-machine"} }

// stalenessMax bounds the batches that may be outstanding: the pipeline must be full before
// anything is measured, which takes minutes at the bound.
const stalenessMax = 1000

// gpusMax bounds the numbers of GPUs: the data loader's work grows with their square, and a
// run at the bound takes about ten seconds.
const gpusMax = 1024

// Numbers of dense PSs. The default is one for every server of 64 GPUs; more are faster, until
// the network cards of their hosts are full at about 16. The bound is there because every rank
// sends to and receives from all of them four times a step, so the time of a run grows faster
// than the square of their number.
const (
	densePSsDefault = 8
	densePSsMax     = 32
)

// request reads the command line.
func (p *program) request(c *cobra.Command, f *flags) (*request, error) {
	f.normalize()
	q := &request{flags: *f, job: criteo(), command: commandLine(c)}
	given := c.Flags().Changed
	if q.kind == trained && f.file == "" {
		q.job = job.AdultIncome()
		q.ofFile(given)
		q.modes = f.modes
	}
	if f.file != "" {
		var err error
		if q.job, err = job.Load(f.file); err != nil {
			return nil, err
		}
		q.ofFile(given)
	}
	if err := q.check(given); err != nil {
		return nil, err
	}
	if err := q.setFaults(given); err != nil {
		return nil, err
	}
	if err := q.setDepth(given, p.stderr); err != nil {
		return nil, err
	}
	if err := q.setModeSettings(given("gpus") || given("file"), p.stderr); err != nil {
		return nil, err
	}
	chosen := q.modesGiven(given) || f.file != "" && q.job.Training.Mode != job.Sequential
	if err := q.suitModes(chosen, p.stderr); err != nil {
		return nil, err
	}
	if err := q.checkTraining(given); err != nil {
		return nil, err
	}
	if err := q.checkTrace(); err != nil {
		return nil, err
	}
	if err := p.place(q, given("cluster")); err != nil {
		return nil, err
	}
	if err := q.checkFaults(given); err != nil {
		return nil, err
	}
	switch {
	case given("dense-ps"):
		q.job.Roles.DensePSs = q.dense
	case !given("file"):
		q.job.Roles.DensePSs = min(densePSsDefault, q.hardware.EmbeddingPSs.Count.Mid)
	}
	if q.cluster == "this-machine" && !given("gpus") && !given("file") && q.kind == table {
		q.gpus = []int{1, 2, 4}
	}
	if err := q.load(job.DataFolder(p.dataDir, f.file), p.stderr); err != nil {
		return nil, err
	}
	changed := slices.ContainsFunc([]string{"file", "cluster", "network", "accelerator", "inside"}, given)
	q.persia = q.kind != trained && !changed && q.batch == 512 && q.jitter == 0 && !q.job.Faults.Any()
	return q, nil
}

// multiplier returns what multiplies the matrices of a training.
func (q *request) multiplier() gemm.Products { return q.machine.Multiplier(&q.job) }

// load finds out what the simulator needs to know of the data, and reads the data for a
// training.
func (q *request) load(folder string, say io.Writer) (err error) {
	if q.kind == trained {
		if q.machine.Products, err = blas.FromEnvironment(say); err != nil {
			return err
		}
		// Not in the report, which is the same on any machine.
		fmt.Fprintf(say, "sim: matrix products by %s: %.0f GFLOP/s on this machine\n", q.multiplier().Name(),
			blas.GFLOPS(q.multiplier()))
		if q.data, err = datasets.Open(q.job.Data, folder); err == nil {
			cli.PrintNotes(say, "sim", q.data.Notes)
			q.workload, q.layout, err = workload.Counted(q.data, &q.job)
		}
		return err
	}
	q.workload, q.layout, err = workload.Simulated(&q.job.Data, &q.job, folder)
	return err
}

// ofFile takes from the job file what the command line leaves out.
func (q *request) ofFile(given func(string) bool) {
	j := &q.job
	if !q.modesGiven(given) && j.Training.Mode != job.Sequential {
		q.modes = []string{j.Training.Mode}
	}
	if !given("gpus") {
		q.gpus = []int{j.Roles.Ranks}
	}
	if !given("batch-per-gpu") {
		q.batch = max(1, j.Training.GlobalBatch/j.Roles.Ranks)
	}
}

// modesGiven reports whether the command line chooses modes.
func (q *request) modesGiven(given func(string) bool) bool { return given("modes") || given("mode") }

// check refuses values that no run can have.
func (q *request) check(given func(string) bool) error {
	known := job.Modes()[1:] // sequential has no roles
	for i, mode := range q.modes {
		if !slices.Contains(known, mode) {
			return unknown(q.modesFlag(), mode, known)
		}
		if slices.Contains(q.modes[:i], mode) {
			return cli.UsageError("name each mode once", "--modes: %q is named twice", mode)
		}
	}
	if !slices.Contains(clusters(), q.cluster) {
		return unknown("--cluster", q.cluster, clusters())
	}
	for _, n := range q.gpus {
		if n < 1 || n > gpusMax {
			return cli.UsageError("choose fewer: the data loader's work grows with the square of "+
				"their number",
				"--gpus: %d; want 1 to %d", n, gpusMax)
		}
	}
	if q.accelerator != "" && !slices.Contains(device.Accelerators.Names(), q.accelerator) {
		return unknown("--accelerator", q.accelerator, device.Accelerators.Names())
	}
	if q.inside != "" && !slices.Contains(device.Wires.Names(), q.inside) {
		return unknown("--inside", q.inside, device.Wires.Names())
	}
	switch {
	case len(q.modes) == 0 || len(q.gpus) == 0:
		return cli.UsageError("see --help", "--modes and --gpus need at least one value")
	case q.batch < 1:
		return cli.UsageError("see --help", "--batch-per-gpu: %d; want at least 1", q.batch)
	case given("dense-ps") && (q.dense < 1 || q.dense > densePSsMax):
		return cli.UsageError("choose fewer: every rank sends to all of them in every step",
			"--dense-ps: %d; want 1 to %d",
			q.dense, densePSsMax)
	case !(q.jitter >= 0 && q.jitter <= 2):
		return cli.UsageError("0.1 is a spread of about 10 %", "--jitter: %v; want 0 to 2", q.jitter)
	case !(q.dollars >= 0):
		return cli.UsageError("see --help", "--dollars-per-gpu-hour: %v; want 0 or more", q.dollars)
	case q.cluster == "this-machine" && (q.network != "" || q.accelerator != "" || q.inside != ""):
		return cli.UsageError("choose --cluster persia or gcp, or leave --network, --accelerator and "+
			"--inside out",
			"--cluster this-machine has neither network nor accelerator nor wire")
	}
	slices.Sort(q.gpus)
	q.gpus = slices.Compact(q.gpus)
	return nil
}

// setDepth sets how many batches a rank may have outstanding, and refuses what no mode can
// have or what takes too long.
func (q *request) setDepth(given func(string) bool, say io.Writer) error {
	j, name := &q.job, "training.staleness of the job file"
	if given("staleness") {
		j.Training.Staleness, name = &q.staleness, "--staleness"
	}
	if given("prefetch") {
		j.Training.Prefetch = q.prefetch
	}
	if err := j.ValidateShared(); err != nil {
		return cli.UsageError("see --staleness and --prefetch in --help", "job %s: %w", q.job.Name, err)
	}
	inStep := true
	for _, mode := range q.modes {
		one := j.InMode(mode)
		if rule, err := one.Rule(); err == nil && !rule.InStep() {
			inStep = false
		}
		if depth := one.Depth(); depth > stalenessMax+1 {
			const hint = "choose less: the pipeline must be full before anything is measured"
			return cli.UsageError(hint, "%s: %d; want at most %d", name, depth-1, stalenessMax)
		}
	}
	if given("staleness") && inStep {
		cli.PrintNotes(say, "sim", []string{"--staleness has no effect in " + strings.Join(q.modes, " and ")})
	}
	return nil
}

// setModeSettings gives the training the mode settings of the command line, and refuses
// those that no mode has or that are out of range on some number of GPUs. Numbers of GPUs
// from the default list are left out instead, with a note, as long as one is left.
func (q *request) setModeSettings(chosen bool, say io.Writer) error {
	hint := "see --help for the settings of each mode, and choose modes with " + q.modesFlag() +
		" and GPUs with --gpus"
	var suited []int
	var notes []string
	var settings map[string]int
	for i, n := range q.gpus {
		j := q.job
		j.Roles.Ranks = n
		err := j.AddModeSettings(q.modeSet, q.modes)
		if err != nil {
			err = cli.UsageError(hint, "--mode-set: %v", err)
		} else if err = j.ValidateModeSettings(q.modes); err != nil {
			err = cli.UsageError(hint, "job %s: %w", q.job.Name, err)
		}
		if err == nil {
			suited, settings = append(suited, n), j.Training.ModeSettings
			continue
		}
		if last := i == len(q.gpus)-1; chosen || last && len(suited) == 0 {
			return err
		}
		notes = append(notes, fmt.Sprintf("--gpus %d is left out: %v", n, err))
	}
	q.gpus, q.job.Training.ModeSettings = suited, settings
	cli.PrintNotes(say, "sim", notes)
	return nil
}

// suitModes refuses a chosen mode that cannot train on one of the numbers of GPUs. It leaves
// such a mode out, with a note, if modes are the default: modes are compared on the same
// numbers of GPUs.
func (q *request) suitModes(chosen bool, say io.Writer) error {
	var suited, notes []string
	for _, mode := range q.modes {
		err := q.suits(mode)
		switch {
		case err == nil:
			suited = append(suited, mode)
		case chosen:
			return cli.UsageError("choose another mode, or other --gpus", "%s %s: %v", q.modesFlag(), mode,
				err)
		default:
			notes = append(notes, fmt.Sprintf("%s is left out: %v", mode, err))
		}
	}
	q.modes = suited
	cli.PrintNotes(say, "sim", notes)
	return nil
}

// suits returns the error for the first number of GPUs that a mode cannot train on.
func (q *request) suits(mode string) error {
	for _, n := range q.gpus {
		j := q.jobFor(mode, n)
		var unsuited *job.RanksError
		if errors.As(j.Validate(), &unsuited) {
			return unsuited
		}
	}
	return nil
}

// unknown returns the error for a value that is not among the known ones, with the nearest.
func unknown(flag, word string, known []string) error {
	text := fmt.Sprintf("%s: %q is unknown", flag, word)
	near := job.Nearest(word, known)
	if i := slices.IndexFunc(known, func(k string) bool { return strings.HasPrefix(k, word) }); near == "" &&
		i >= 0 {
		near = known[i] // profiles have long names
	}
	if near != "" {
		text += fmt.Sprintf("; the nearest is %q", near)
	}
	return cli.UsageError("known are "+strings.Join(known, ", "), "%s", text)
}

// place chooses the cluster of the job and loads its hardware.
func (p *program) place(q *request, given bool) error {
	s := &q.job.Cluster
	switch {
	case given && q.cluster == "persia":
		*s = job.PersiaCluster()
	case q.cluster == "gcp":
		*s = job.GoogleCloudCluster()
	case q.cluster == "this-machine":
		r, err := p.probe()
		if err != nil {
			return err
		}
		q.hardware = cost.ThisMachine(cost.MeasuredMachine{
			Cores: r.Cores, Memory: r.Memory, Multiply: r.Multiply, CopySpeed: r.Copy,
			// The model has one time for a look-up and for an update.
			RowTime: (r.Lookup + r.Update) / 2, MessageTime: r.Message, Date: r.Date,
		})
		return nil // this machine has no profiles
	}
	if q.accelerator != "" {
		s.SetAccelerator(q.accelerator)
	}
	if q.inside != "" {
		s.Inside = q.inside
	}
	if q.network != "" {
		rate, err := unit.ParseBytesPerSec(q.network)
		if err != nil || rate <= 0 {
			return cli.UsageError("a rate has a unit, as 25Gbps or 3GB/s",
				"--network: %q is not a rate above 0", q.network)
		}
		s.NetworkRate = rate
	}
	var err error
	var notes []string
	if q.hardware, notes, err = cost.Load(s, ""); err != nil {
		return err
	}
	q.job.Cluster = q.hardware.Cluster
	cli.PrintNotes(p.stderr, "sim", notes)
	return nil
}
