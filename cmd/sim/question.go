package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tandem/algo/exec/backend"
	"tandem/algo/job"
	"tandem/algo/numeric/kernel/gemm"
	"tandem/algo/numeric/model"
	"tandem/algo/unit"
	"tandem/datasets"
	"tandem/internal/cli"
	"tandem/internal/workload"
	"tandem/runtime/blas"
	"tandem/sim/cluster"
	"tandem/sim/device"
)

// question is what the command line asks.
type question struct {
	flags
	job      job.Job
	hardware *cluster.Hardware // of the job's cluster, or of this machine
	workload cluster.Workload
	layout   *model.Layout
	data     *datasets.Dataset // to train on; nil without numerics
	machine  backend.Backend   // to train on
	persia   bool              // Persia's experiment as published: its figures stand beside ours
	command  string            // that reproduces the answer
}

// criteo is Persia's evaluation on Criteo as far as it is published: its net
// and the shape of the data; 80 of 100 rows are for training.
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

// stalenessMax bounds the batches that may be outstanding: all must be before
// anything is measured, which takes minutes at the bound.
const stalenessMax = 1000

// gpusMax bounds the numbers of GPUs: the data loader's work grows with their
// square, and a run on so many takes some ten seconds.
const gpusMax = 1024

// denseServersDefault is one for every server of 64 GPUs. More would serve them
// faster, until the cards of their servers are full at some 16.
// denseServersMax bounds them: every rank talks to all of them four times a step,
// and a run takes longer by more than the square of their number.
const (
	denseServersDefault = 8
	denseServersMax     = 32
)

// question reads the command line.
func (p *program) question(c *cobra.Command, f *flags) (*question, error) {
	q := &question{flags: *f, job: criteo(), command: commandLine(c)}
	given := c.Flags().Changed
	if q.numerics && f.file == "" {
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
	if err := q.setDepth(given); err != nil {
		return nil, err
	}
	if err := q.setModeSettings(); err != nil {
		return nil, err
	}
	chosen := given("modes") || f.file != "" && q.job.Training.Mode != job.Sequential
	if err := q.suitModes(chosen, p.stderr); err != nil {
		return nil, err
	}
	if err := q.checkNumerics(given); err != nil {
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
		q.job.Roles.DensePSs = min(denseServersDefault, q.hardware.ParameterServerHosts())
	}
	if q.cluster == "this-machine" && !given("gpus") && !given("file") && !q.numerics {
		q.gpus = []int{1, 2, 4}
	}
	if err := q.load(job.DataFolder(p.dataDir, f.file), p.stderr); err != nil {
		return nil, err
	}
	q.persia = !q.numerics && !given("file") && !given("cluster") && !given("network") && !given("accelerator") && !given("inside") && q.batch == 512 && q.jitter == 0 &&
		!q.job.Faults.Any()
	return q, nil
}

// multiplier is what multiplies the matrices of a training.
func (q *question) multiplier() gemm.Products { return q.machine.Multiplier(&q.job) }

// load finds out what the simulator needs to know of the data, and reads them if
// they are trained on.
func (q *question) load(folder string, say io.Writer) (err error) {
	if q.numerics {
		if q.machine.Products, err = blas.FromEnvironment(say); err != nil {
			return err
		}
		// Not in the report, which is the same on any machine.
		fmt.Fprintf(say, "sim: numbers by %s: %.0f GFLOP/s here\n", q.multiplier().Name(), blas.GFLOPS(q.multiplier()))
		if q.data, err = datasets.Open(q.job.Data, folder); err == nil {
			cli.PrintNotes(say, "sim", q.data.Notes)
			q.workload, q.layout, err = workload.Counted(q.data, &q.job)
		}
		return err
	}
	q.workload, q.layout, err = workload.Simulated(&q.job.Data, &q.job, folder)
	return err
}

// ofFile lets the job file speak where the command line is silent.
func (q *question) ofFile(given func(string) bool) {
	t := &q.job
	if !given("modes") && t.Training.Mode != job.Sequential {
		q.modes = []string{t.Training.Mode}
	}
	if !given("gpus") {
		q.gpus = []int{t.Roles.Ranks}
	}
	if !given("batch-per-gpu") {
		q.batch = max(1, t.Training.GlobalBatch/t.Roles.Ranks)
	}
}

// check refuses values that no run can have.
func (q *question) check(given func(string) bool) error {
	known := job.Modes()[1:] // sequential has no roles
	for i, mode := range q.modes {
		if !slices.Contains(known, mode) {
			return unknown("modes", mode, known)
		}
		if slices.Contains(q.modes[:i], mode) {
			return cli.UsageError("name each mode once", "--modes: %q is named twice", mode)
		}
	}
	if !slices.Contains(clusters(), q.cluster) {
		return unknown("cluster", q.cluster, clusters())
	}
	for _, n := range q.gpus {
		if n < 1 || n > gpusMax {
			return cli.UsageError("the data loader's work grows with the square of their number", "--gpus: %d; want 1 to %d", n, gpusMax)
		}
	}
	if q.accelerator != "" && !slices.Contains(device.AcceleratorNames(), q.accelerator) {
		return unknown("accelerator", q.accelerator, device.AcceleratorNames())
	}
	if q.inside != "" && !slices.Contains(device.WireNames(), q.inside) {
		return unknown("inside", q.inside, device.WireNames())
	}
	switch {
	case len(q.modes) == 0 || len(q.gpus) == 0:
		return cli.UsageError("see --help", "--modes and --gpus need at least one value")
	case q.batch < 1:
		return cli.UsageError("see --help", "--batch-per-gpu: %d; want at least 1", q.batch)
	case given("dense-ps") && (q.dense < 1 || q.dense > denseServersMax):
		return cli.UsageError("every rank talks to all of them in every step", "--dense-ps: %d; want 1 to %d", q.dense, denseServersMax)
	case !(q.jitter >= 0 && q.jitter <= 2):
		return cli.UsageError("0.1 is a spread of about 10 %", "--jitter: %v; want 0 to 2", q.jitter)
	case !(q.dollars >= 0):
		return cli.UsageError("see --help", "--dollars-per-gpu-hour: %v; want 0 or more", q.dollars)
	case q.cluster == "this-machine" && (q.network != "" || q.accelerator != "" || q.inside != ""):
		return cli.UsageError("choose --cluster persia or gcp for what-ifs", "--cluster this-machine has neither network nor accelerator nor wire")
	}
	slices.Sort(q.gpus)
	q.gpus = slices.Compact(q.gpus)
	return nil
}

// setDepth gives the training what the command line says of the batches that a rank
// may have outstanding, and refuses what no mode can have or what takes too long.
func (q *question) setDepth(given func(string) bool) error {
	t, name := &q.job, "training.staleness of the job file"
	if given("staleness") {
		t.Training.Staleness, name = &q.staleness, "--staleness"
	}
	if given("prefetch") {
		t.Training.Prefetch = q.prefetch
	}
	if err := t.ValidateShared(); err != nil {
		return cli.UsageError("see --staleness and --prefetch in --help", "job %s: %w", q.job.Name, err)
	}
	for _, mode := range q.modes {
		one := t.InMode(mode)
		if depth := one.Depth(); depth > stalenessMax+1 {
			const hint = "the pipeline must fill before anything is measured: a rank trains more batches than this first"
			return cli.UsageError(hint, "%s: %d; want at most %d", name, depth-1, stalenessMax)
		}
	}
	return nil
}

// setModeSettings gives the training the mode settings of the command line, and refuses
// those that no mode has or that are out of range on some number of GPUs.
func (q *question) setModeSettings() error {
	const hint = "see --help for the settings of each mode, and choose modes with --modes"
	var settings map[string]int
	for _, n := range q.gpus {
		t := q.job
		t.Roles.Ranks = n
		if err := t.AddModeSettings(q.modeSet, q.modes); err != nil {
			return cli.UsageError(hint, "--mode-set: %v", err)
		}
		if err := t.ValidateModeSettings(q.modes); err != nil {
			return cli.UsageError(hint, "job %s: %w", q.job.Name, err)
		}
		settings = t.Training.ModeSettings
	}
	q.job.Training.ModeSettings = settings
	return nil
}

// suitModes refuses modes that were chosen and cannot train on some number of GPUs.
// Of the default modes, it leaves them out with a note: modes are compared on the
// same numbers of GPUs.
func (q *question) suitModes(chosen bool, say io.Writer) error {
	var suited, notes []string
	for _, mode := range q.modes {
		err := q.suits(mode)
		switch {
		case err == nil:
			suited = append(suited, mode)
		case chosen:
			return cli.UsageError("leave "+mode+" out of --modes, or choose other --gpus", "--modes %s: %v", mode, err)
		default:
			notes = append(notes, fmt.Sprintf("%s is left out: %v", mode, err))
		}
	}
	q.modes = suited
	cli.PrintNotes(say, "sim", notes)
	return nil
}

// suits reports the first number of GPUs that a mode cannot train on.
func (q *question) suits(mode string) error {
	for _, n := range q.gpus {
		t := q.training(mode, n)
		var unsuited *job.RanksError
		if errors.As(t.Validate(), &unsuited) {
			return unsuited
		}
	}
	return nil
}

// unknown refuses a word and names the nearest known one.
func unknown(flag, word string, known []string) error {
	text := fmt.Sprintf("--%s: %q is unknown", flag, word)
	near := job.Nearest(word, known)
	if i := slices.IndexFunc(known, func(k string) bool { return strings.HasPrefix(k, word) }); near == "" && i >= 0 {
		near = known[i] // the long names of profiles
	}
	if near != "" {
		text += fmt.Sprintf("; the nearest is %q", near)
	}
	return cli.UsageError("known are "+strings.Join(known, ", "), "%s", text)
}

// place puts the job on its cluster.
func (p *program) place(q *question, given bool) error {
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
		q.hardware = cluster.ThisMachine(cluster.MeasuredMachine{
			Cores: r.Cores, Memory: r.Memory, Multiply: r.Multiply, CopySpeed: r.Copy,
			// One time for both; an update is a look-up and more.
			RowTime: (r.Lookup + r.Update) / 2, MessageTime: r.Message, Date: r.Date,
		})
		return nil // it has no profiles
	}
	if q.accelerator != "" {
		s.Accelerator = q.accelerator
	}
	if q.inside != "" {
		s.Inside = q.inside
	}
	if q.network != "" {
		rate, err := unit.ParseBytesPerSec(q.network)
		if err != nil || rate <= 0 {
			return cli.UsageError("a rate has a unit, as 25Gbps or 3GB/s", "--network: %q is not a rate above 0", q.network)
		}
		s.NetworkRate = rate
	}
	var err error
	q.hardware, err = cluster.Load(s)
	return err
}

// commandLine is the command with the flags that were given, in the order of
// the help.
func commandLine(c *cobra.Command) string {
	words := []string{"go run ./cmd/sim"}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Changed {
			return
		}
		value := strings.Trim(f.Value.String(), "[]")
		if f.Value.Type() == "bool" && value == "true" {
			words = append(words, "--"+f.Name)
			return
		}
		if strings.Contains(value, " ") {
			value = "'" + value + "'"
		}
		words = append(words, "--"+f.Name+" "+value)
	})
	return strings.Join(words, " ")
}
