package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
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
	"tandem/sim/graph"
	simmodel "tandem/sim/model"
	"tandem/sim/predict"
	"tandem/sim/preset"
	"tandem/sim/system"
)

// request is what the command line asks for.
type request struct {
	flags
	job      job.Job
	section  job.Cluster    // of the command line, or of the job file
	onGPUs   bool           // its system keeps tables on the accelerators
	rules    []graph.Rule   // of tables on the accelerators, of --placement
	hardware *cost.Hardware // of the job's cluster, or of this machine
	workload cost.Workload
	layout   *model.Layout
	net      *simmodel.Model   // the model; nil for the data and the network of a job file
	format   simmodel.Format   // of embedding rows, with a model
	notes    []string          // what a user might not expect of the choice
	data     *datasets.Dataset // to train on; nil for a prediction
	machine  backend.Backend   // to train on
	persia   bool              // Persia's experiment as published, so its figures are printed, too
	command  string            // that repeats the request

	// What is known at the end, for the page.
	shown []prediction
	cells []*cell // of trainings
}

// clusters are short names of clusters, with the profiles that they stand for; this-machine has none.
func clusters() map[string]string {
	return map[string]string{"persia": "persia-paper", "gcp": "persia-gcp", thisMachine: ""}
}

// clusterNames lists the names of clusters, the short ones first.
func clusterNames() []string {
	return append(slices.Sorted(maps.Keys(clusters())), cost.Clusters.Names()...)
}

// thisMachine is the cluster that is measured.
const thisMachine = "this-machine"

// ownSystem is the profile of the runtime.
const ownSystem = "tandem"

// stalenessMax bounds the batches that may be outstanding: the pipeline must be full before
// anything is measured, which takes minutes at the bound.
const stalenessMax = 1000

// stepsMax bounds the steps that are measured.
const stepsMax = 100_000

// densePSsMax bounds the dense PSs because every rank sends to and receives from all of them four
// times a step, so that the time of a run grows faster than the square of their number.
const densePSsMax = 32

// request reads the command line.
func (p *program) request(c *cobra.Command, f *flags) (*request, error) {
	given := c.Flags().Changed
	f.normalize(given)
	q := &request{flags: *f, job: job.Default(), command: commandLine(c)}
	if q.kind == single && q.samples == 1 && !given("seeds") {
		q.seeds = 1
	}
	switch {
	case f.file != "":
		if cluster, err := describesCluster(f.file); err != nil {
			return nil, err
		} else if cluster {
			return nil, cli.UsageError("give it as --cluster "+f.file+"; --model names what is trained on it",
				"--file: %s describes a cluster and no data", f.file)
		}
		var err error
		if q.job, err = job.Load(f.file); err != nil {
			return nil, err
		}
		q.ofFile(given)
	case q.kind == trained:
		q.job = job.AdultIncome()
		q.ofFile(given)
		q.modes = f.modes
	}
	if err := q.check(given); err != nil {
		return nil, err
	}
	if err := q.loadSection(given); err != nil {
		return nil, err
	}
	// The simulator needs a model of a job file whose tables are to be on the accelerators.
	if q.kind != trained && (f.file == "" || f.model != "" || q.onGPUs) {
		if err := q.choose(given, job.DataFolder(p.dataDir, q.file)); err != nil {
			return nil, err
		}
	}
	if err := p.settle(q, given); err != nil {
		return nil, err
	}
	changed := slices.ContainsFunc([]string{"file", "preset", "cluster", "model", "system", "set", "network",
		"accelerator", "inside", "precision", "row-precision", "global-batch", "batch-per-gpu"}, given)
	q.persia = q.kind != trained && !changed && q.jitter == 0 && !q.job.Faults.Any() && len(q.job.Slow) == 0
	return q, nil
}

// settle sets and checks what is left after job and cluster were chosen.
func (p *program) settle(q *request, given func(string) bool) error {
	if err := q.setFaults(given); err != nil {
		return err
	}
	if err := q.setDepth(given, p.stderr); err != nil {
		return err
	}
	if err := q.setModeSettings(given("gpus") || given("file"), p.stderr); err != nil {
		return err
	}
	if q.kind == trained {
		chosen := given("modes") || given("file") && q.job.Training.Mode != job.Sequential
		if err := q.suitModes(chosen, p.stderr); err != nil {
			return err
		}
	}
	if err := q.checkTraining(given); err != nil {
		return err
	}
	if err := q.checkTrace(); err != nil {
		return err
	}
	if err := p.place(q, given); err != nil {
		return err
	}
	if err := q.checkHotModes(); err != nil {
		return err
	}
	if err := q.checkFaults(given); err != nil {
		return err
	}
	if err := q.checkSlow(given); err != nil {
		return err
	}
	if err := q.loadPlacement(); err != nil {
		return err
	}
	if err := q.checkFailures(given); err != nil {
		return err
	}
	switch {
	case given("dense-ps"):
		q.job.Roles.DensePSs = q.dense
	case !given("file"):
		q.job.Roles.DensePSs = predict.DensePSs(q.hardware)
	}
	if q.cluster == thisMachine && !given("gpus") && !given("file") && q.kind != trained {
		q.gpus = []int{1, 2, 4}[:min(3, len(q.gpus))]
	}
	q.notes = slices.Concat(q.notes, q.withoutEffect(given), q.noteOfBatch(given),
		q.notesOfPSs(given), q.noteOfPart())
	if cards := q.hardware.Server.NetworkCards.Mid; q.network != "" && cards > 1 {
		q.notes = append(q.notes, fmt.Sprintf("--network is the rate of one network card: a server has %d, "+
			"with %v together", cards, q.hardware.Server.Network.Mid))
	}
	if q.kind.one() {
		cli.PrintNotes(p.stderr, "sim", q.notes)
	}
	if q.net != nil {
		return nil
	}
	if q.rowPrecision != "" {
		q.job.Rows.Precision = q.rowPrecision
	}
	return q.load(job.DataFolder(p.dataDir, q.file), p.stderr)
}

// loadPlacement reads the file of --placement.
func (q *request) loadPlacement() (err error) {
	switch {
	case q.placement == "":
		return nil
	case !q.graph():
		return cli.UsageError("leave it out, or choose --system hugectr",
			"--placement: system %s keeps no tables on the accelerators", q.hardware.System.Name)
	}
	q.rules, err = graph.LoadRules(q.placement)
	return err
}

// loadSection sets the cluster to that of the command line or of the job file. A system that cannot be read
// is reported where it is used.
func (q *request) loadSection(given func(string) bool) (err error) {
	name := q.preset
	if q.cluster != "" {
		name = q.cluster
		if profile, alias := clusters()[name]; alias {
			name = profile
		}
	}
	switch {
	case name != "":
		q.section, err = job.LoadCluster(name)
	case given("file"):
		q.section = q.job.Cluster
	default:
		q.section = job.PersiaCluster()
	}
	if err != nil {
		return err
	}
	if q.network != "" {
		card, err := unit.ParseBytesPerSec(q.network)
		if err != nil || !(card > 0) || card > job.RateMax {
			return cli.UsageError("a rate has a unit, as 25Gbps or 3GB/s",
				"--network: %q; want a rate above 0 and at most %v", q.network, job.RateMax)
		}
		q.section.SetNetworkRate(card)
	}
	if q.cluster != thisMachine {
		p, err := system.Load(cmp.Or(q.system, q.section.System))
		q.onGPUs = err == nil && p.Architecture == system.StepGraph
	}
	return nil
}

// settings reads --set.
func (q *request) settings() (map[string]string, error) {
	settings := map[string]string{}
	for _, text := range q.set {
		name, value, found := strings.Cut(text, "=")
		if !found || name == "" {
			return nil, cli.UsageError("write it as embedding-ps.count=10", "--set: %q: want NAME=VALUE",
				text)
		}
		if earlier, twice := settings[name]; twice {
			return nil, cli.UsageError("give each parameter one value", "--set: %s is both %s and %s", name,
				earlier, value)
		}
		settings[name] = value
	}
	return settings, nil
}

// choose makes the job from a model and a cluster. Of a job file it keeps cluster and training, and without
// --model also the model; folder is that of its data.
func (q *request) choose(given func(string) bool, folder string) (err error) {
	c := predict.Choice{Model: q.model, System: q.system, Accelerator: q.accelerator, Inside: q.inside,
		RowPrecision: q.rowPrecision, Precision: q.precision, GlobalBatch: q.globalBatch,
		BatchPerGPU: q.batch, Hot: q.job.Rows.Hot}
	if c.Set, err = q.settings(); err != nil {
		return err
	}
	if q.file != "" && q.model == "" {
		if c.Own, err = workload.Model(&q.job, folder); err != nil {
			return err
		}
	}
	note := q.suitModeOfJob(given)
	if len(q.modes) > 0 {
		c.Mode = q.modes[0]
	}
	if len(q.gpus) > 0 {
		c.GPUs = q.gpus[len(q.gpus)-1]
	}
	base, notes, err := c.On(q.section)
	if err != nil {
		return adviseSet(err, c.Set)
	}
	file := q.job
	q.job, q.hardware, q.workload, q.layout, q.net = base.Job, base.Hardware, base.Workload, base.Layout,
		base.Model
	q.format, q.notes = base.Rows, append(notes, note...)
	if given("file") {
		q.job.Training.Staleness, q.job.Training.Prefetch = file.Training.Staleness, file.Training.Prefetch
		q.job.Training.ModeSettings, q.job.Faults, q.job.Slow = file.Training.ModeSettings, file.Faults,
			file.Slow
		q.job.Roles = file.Roles
	}
	if q.hardware.System.Note != "" {
		q.notes = append(q.notes, q.hardware.System.Note)
	}
	if q.net.Note != "" {
		q.notes = append(q.notes, q.net.Name+": "+q.net.Note)
	}
	if len(q.gpus) == 0 {
		q.gpus = []int{base.Roles.Ranks}
	}
	if len(q.modes) == 0 {
		q.modes = []string{base.Training.Mode}
		if q.kind == table && !q.graph() {
			q.modes = modesWith(base.Job, commonModes())
			if !given("gpus") && q.cluster != thisMachine {
				q.gpus = slices.Clone(fewGPUs)
			}
		}
	}
	q.job.Roles.Ranks = 1 // jobFor sets it
	return nil
}

// suitModeOfJob leaves out the mode of a job file, with a note, where the tables are on the accelerators:
// such systems have none but sync.
func (q *request) suitModeOfJob(given func(string) bool) []string {
	if !given("file") || given("mode") || given("modes") || !q.onGPUs ||
		!slices.ContainsFunc(q.modes, func(mode string) bool { return mode != job.Sync }) {
		return nil
	}
	modes := q.modes
	q.modes = []string{job.Sync}
	return []string{fmt.Sprintf("predicted in sync, not in %s as the job file says: systems with the tables "+
		"on the accelerators have no other mode", strings.Join(modes, " and "))}
}

// commonModes are the modes of a table that names none: those that take few seconds on a small machine.
func commonModes() []string { return []string{job.Sync, job.Hybrid, job.AsyncPS, job.AsyncAverage} }

// fewGPUs are the numbers of GPUs of such a table.
var fewGPUs = []int{1, 2, 4, 8, 32}

// graph reports whether the system keeps the tables on the accelerators.
func (q *request) graph() bool { return q.hardware.System.Architecture == system.StepGraph }

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
	switch {
	case given("mode") || given("modes"):
	case j.Training.Mode != job.Sequential:
		q.modes = []string{j.Training.Mode}
	case q.kind.one():
		q.modes = []string{job.Hybrid}
	default:
		q.modes = []string{job.Sync, job.Hybrid}
	}
	if !given("gpus") {
		q.gpus = []int{j.Roles.Ranks}
	}
	if !given("batch-per-gpu") && !given("global-batch") {
		q.batch = max(1, j.Training.GlobalBatch/j.Roles.Ranks)
	}
}

// check refuses values that no run can have.
func (q *request) check(given func(string) bool) error {
	known := job.Modes()[1:] // sequential has no roles
	for i, mode := range q.modes {
		if mode == job.Sequential {
			return cli.UsageError("choose sync on one GPU, which gives the same bits",
				"%s: sequential training has no roles to simulate", q.modesFlag())
		}
		if !slices.Contains(known, mode) {
			return unknown(q.modesFlag(), mode, known)
		}
		if slices.Contains(q.modes[:i], mode) {
			return cli.UsageError("name each mode once", "--modes: %q is named twice", mode)
		}
	}
	for _, n := range q.gpus {
		if n < 1 || n > job.GPUsMax {
			return cli.UsageError("a prediction of larger clusters takes minutes",
				"--gpus: %d; want 1 to %d", n, job.GPUsMax)
		}
	}
	if err := q.checkProfiles(given); err != nil {
		return err
	}
	switch {
	case given("modes") && len(q.modes) == 0 || given("gpus") && len(q.gpus) == 0:
		return cli.UsageError("see --help", "--modes and --gpus need at least one value")
	case given("batch-per-gpu") && q.batch < 1:
		return cli.UsageError("see --help", "--batch-per-gpu: %d; want at least 1", q.batch)
	case given("global-batch") && q.globalBatch < 1:
		return cli.UsageError("see --help", "--global-batch: %d; want at least 1", q.globalBatch)
	case given("batch-per-gpu") && given("global-batch"):
		return cli.UsageError("a batch a GPU grows with the GPUs, a global batch does not",
			"--batch-per-gpu and --global-batch: want one of the two")
	case q.kind != trained && q.samples < 1 && (!q.kind.paired() || given("samples")):
		return cli.UsageError("--samples 1 is the middle alone, without an interval",
			"--samples: %d; want at least 1", q.samples)
	case q.kind == single && q.seeds < 1:
		return cli.UsageError("--seeds 1 has no confidence interval", "--seeds: %d; want at least 1", q.seeds)
	case q.kind != trained && (q.steps < 0 || q.steps > stepsMax || given("steps") && q.steps == 0):
		return cli.UsageError("see --help", "--steps: %d; want 1 to %d", q.steps, stepsMax)
	case given("dense-ps") && (q.dense < 1 || q.dense > densePSsMax):
		return cli.UsageError("choose fewer: every rank sends to all of them in every step",
			"--dense-ps: %d; want 1 to %d",
			q.dense, densePSsMax)
	case !(q.jitter >= 0 && q.jitter <= 2):
		return cli.UsageError("0.1 is a spread of about 10 %", "--jitter: %v; want 0 to 2", q.jitter)
	case !(q.dollars >= 0):
		return cli.UsageError("see --help", "--dollars-per-gpu-hour: %v; want 0 or more", q.dollars)
	case q.cluster == thisMachine && (q.network != "" || q.accelerator != "" || q.inside != "" ||
		q.system != ""):
		return cli.UsageError("choose a --preset, or leave --network, --accelerator, --inside and --system "+
			"out",
			"--cluster this-machine has neither network nor accelerator nor wire")
	case given("cluster") && given("preset"):
		return cli.UsageError("--cluster persia is --preset persia-paper, and gcp is persia-gcp",
			"--cluster and --preset: want one of the two")
	}
	slices.Sort(q.gpus)
	q.gpus = slices.Compact(q.gpus)
	return nil
}

// checkProfiles refuses names that no profile has.
func (q *request) checkProfiles(given func(string) bool) error {
	if known := clusterNames(); given("cluster") && !preset.IsFile(q.cluster) &&
		!slices.Contains(known, q.cluster) {
		return unknown("--cluster", q.cluster, known)
	}
	for _, x := range []struct {
		flag, name string
		library    *preset.Library
	}{
		{"preset", q.preset, cost.Clusters}, {"model", q.model, simmodel.Models},
		{"system", q.system, system.Systems}, {"accelerator", q.accelerator, device.Accelerators},
		{"inside", q.inside, device.Wires},
	} {
		if given(x.flag) && !preset.IsFile(x.name) && !slices.Contains(x.library.Names(), x.name) {
			return unknown("--"+x.flag, x.name, x.library.Names())
		}
	}
	for _, x := range []struct {
		flag, value string
		known       []string
	}{
		{"precision", q.precision, job.Precisions()},
		{"row-precision", q.rowPrecision,
			[]string{string(simmodel.Float32), string(simmodel.Float16), string(simmodel.BFloat16)}},
	} {
		if given(x.flag) && !slices.Contains(x.known, x.value) {
			return unknown("--"+x.flag, x.value, x.known)
		}
	}
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
		note := "--staleness has no effect in " + strings.Join(q.modes, " and ")
		if !q.onGPUs && !given("prefetch") {
			note += ", but for τ + 1 batches that are fetched ahead: --prefetch"
		}
		cli.PrintNotes(say, "sim", []string{note})
	}
	return nil
}

// withoutEffect returns a note about the flags that change nothing of what is predicted.
func (q *request) withoutEffect(given func(string) bool) []string {
	flags, where := []string{"dense-ps"}, "in "+strings.Join(q.modes, " and ")
	hasDensePSs := func(mode string) bool {
		j := q.job.InMode(mode)
		rule, err := j.Rule()
		return err == nil && rule.Dense().DensePSs
	}
	switch {
	case q.graph():
		flags = []string{"prefetch", "dense-ps", "jitter", "faults", "retry"}
		where = "with system " + q.hardware.System.Name + ", which has no roles"
	case slices.ContainsFunc(q.modes, hasDensePSs):
		return nil
	}
	flags = slices.DeleteFunc(flags, func(name string) bool { return !given(name) })
	if len(flags) == 0 {
		return nil
	}
	verb := "has"
	if len(flags) > 1 {
		verb = "have"
	}
	return []string{fmt.Sprintf("--%s %s no effect %s", strings.Join(flags, ", --"), verb, where)}
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
	if near := job.Nearest(word, known); near != "" {
		text += fmt.Sprintf("; the nearest is %q", near)
	}
	return cli.UsageError("known are "+strings.Join(known, ", "), "%s", text)
}

// place chooses the cluster of a job that is not made from a model, and loads its hardware.
func (p *program) place(q *request, given func(string) bool) error {
	settings, err := q.settings()
	if err != nil {
		return err
	}
	if settings, err = predict.SetHot(&q.job.Rows.Hot, settings); err != nil {
		return err
	}
	if q.cluster == thisMachine {
		r, err := p.probe()
		if err != nil {
			return err
		}
		q.hardware = cost.ThisMachine(cost.MeasuredMachine{
			Cores: r.Cores, Memory: r.Memory, Multiply: r.Multiply, CopySpeed: r.Copy,
			// The model has one time for a look-up and for an update.
			RowTime: (r.Lookup + r.Update) / 2, CreateTime: r.Create, MessageTime: r.Message,
			TimerLate: r.Timer, Date: r.Date,
		})
		q.notes = nil
		return nil // this machine has no profiles
	}
	if q.net != nil {
		return nil
	}
	s := q.section
	if q.accelerator != "" {
		s.SetAccelerator(q.accelerator)
	}
	s.Inside, s.System = cmp.Or(q.inside, s.Inside), cmp.Or(q.system, s.System)
	s.Precision = cmp.Or(q.precision, s.Precision)
	all := maps.Clone(settings)
	for name, value := range s.Set {
		if _, replaced := all[name]; !replaced {
			all[name] = value
		}
	}
	s.Set = all
	if q.hardware, q.notes, err = cost.Load(&s, q.job.Model.ClusterPrecision()); err != nil {
		return adviseSet(err, settings)
	}
	if q.hardware.System.Note != "" {
		q.notes = append(q.notes, q.hardware.System.Note)
	}
	q.notes = append(q.notes, q.notesOfGPURows()...)
	q.job.Cluster = q.hardware.Cluster
	return q.question(q.modes[0], q.gpus[0]).Check()
}
