package predict

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tandem/algo/job"
	"tandem/algo/numeric/compress"
	"tandem/algo/numeric/opt"
	"tandem/algo/protocol/fault"
	"tandem/sim/cost"
	"tandem/sim/model"
	"tandem/sim/system"
)

// ErrChoice is wrapped by the error about a choice that is out of range, or that does not go with another.
var ErrChoice = errors.New("bad choice")

// Choice is what a user chooses of a prediction. What is left out, the preset and the model supply.
type Choice struct {
	Preset string // cluster profile; empty: persia-paper
	Model  string // model profile
	// Own, unless it is nil, is a model without a profile, such as that of a job file. It replaces Model.
	Own         *model.Model `yaml:"-"`
	System      string       // profile of the system software
	Accelerator string       // profile; it brings its own wires
	Inside      string       // wire profile between the accelerators of a server
	Mode        string       // of the job; empty: hybrid. A step graph is always sync.
	GPUs        int
	// GlobalBatch is the number of samples of a step of all accelerators, and BatchPerGPU that of one. At
	// most one is given.
	GlobalBatch, BatchPerGPU int
	Staleness                *int   // τ; nil: 9
	RowPrecision             string // of rows in memory: fp32, fp16 or bf16
	Precision                string // of matrix products: fp32, tf32 or half
	// Hot says which rows every rank holds.
	Hot job.Hot `yaml:"hot,omitempty"`
	// File is a job with its workload and layout. Under a system of roles it is predicted as it is, apart
	// from what is chosen here, and no model is needed; a mode or τ that is left out is its own. nil: the
	// model says what is trained.
	File   *Job `yaml:"-"`
	Faults fault.Plan
	Slow   fault.Slows `yaml:",omitempty"` // roles
	// ModeSettings are settings of the mode, by their names, and Set parameters of the simulation. Set also
	// has hot.share, hot.most and hot.every, which replace those of Hot.
	ModeSettings map[string]int
	Set          map[string]string
	// Like is a job of the same model, row precision and hot rows, whose workload this one shares; nil
	// computes it.
	Like *Job `yaml:"-"`
}

// stalenessDefault is τ of a prediction: Persia's example has an embedding_staleness of 10.
const stalenessDefault = 9

// New returns the job of a choice, and notes about parts of it that a user might not expect.
func New(c Choice) (j *Job, notes []string, err error) {
	if c.Preset == "" {
		c.Preset = "persia-paper"
	}
	section, err := job.LoadCluster(c.Preset)
	if err != nil {
		return nil, nil, err
	}
	return c.On(section)
}

// On returns the job of a choice on a cluster. The preset of the choice is not used.
func (c Choice) On(section job.Cluster) (j *Job, notes []string, err error) {
	if c.Own != nil || c.File != nil {
		return c.With(section, c.Own)
	}
	if c.Model == "" {
		c.Model = section.Model
	}
	if c.Model == "" {
		return nil, nil, fmt.Errorf("%w: the cluster %s names no model; name one", ErrChoice, section.Preset)
	}
	m, err := model.Load(c.Model)
	if err != nil {
		return nil, nil, fmt.Errorf("model: %w", err)
	}
	return c.With(section, m)
}

// With returns the job of a choice on a cluster, with a model in place of the profile that the choice names;
// nil if the choice has a File.
func (c Choice) With(section job.Cluster, m *model.Model) (j *Job, notes []string, err error) {
	precision := ""
	switch {
	case c.File != nil:
		precision = c.File.Job.Model.ClusterPrecision()
	case m != nil:
		precision = string(m.Precisions.Compute)
	}
	j = &Job{Job: job.Default(), Model: m}
	if c.Accelerator != "" {
		section.SetAccelerator(c.Accelerator)
	}
	if c.Inside != "" {
		section.Inside = c.Inside
	}
	if c.System != "" {
		section.System = c.System
	}
	if c.Precision != "" {
		section.Precision = c.Precision
	}
	if c.Set, err = SetHot(&c.Hot, c.Set); err != nil {
		return nil, nil, err
	}
	if len(c.Set) > 0 {
		set := maps.Clone(section.Set)
		if set == nil {
			set = map[string]string{}
		}
		maps.Copy(set, c.Set)
		section.Set = set
	}
	if j.Hardware, notes, err = cost.Load(&section, precision); err != nil {
		return nil, nil, err
	}
	j.Cluster = j.Hardware.Cluster
	if c.File != nil && j.Hardware.System.Architecture == system.Roles {
		if err := j.setFile(&c); err != nil {
			return nil, nil, err
		}
		return j, notes, j.Check()
	}
	if m == nil {
		return nil, nil, j.Check() // a step graph needs a model
	}
	j.Name = m.Name
	if err := j.size(&c, m.GlobalBatch); err != nil {
		return nil, nil, err
	}
	if err := j.train(&c); err != nil {
		return nil, nil, err
	}
	if err := j.checkHotRows(); err != nil {
		return nil, nil, err
	}
	if c.Like != nil {
		j.Workload, j.Layout = c.Like.Workload, c.Like.Layout
	} else {
		j.describe()
	}
	return j, notes, j.Check()
}

// setFile makes the job that of the file of a choice, as far as the choice leaves it.
func (j *Job) setFile(c *Choice) error {
	own := c.File
	if rows := own.Job.Rows.Precision; c.RowPrecision != "" && c.RowPrecision != rows {
		return fmt.Errorf("%w: the job file has rows in %s, not in %s", ErrChoice, rows, c.RowPrecision)
	}
	each := max(1, own.Training.GlobalBatch/own.Roles.Ranks)
	if err := j.size(c, func(gpus int) int { return each * gpus }); err != nil {
		return err
	}
	sized := Sized(own.Job, cmp.Or(c.Mode, own.Training.Mode), j.Roles.Ranks, j.Training.GlobalBatch)
	sized.Cluster, sized.Faults, sized.Slow = j.Cluster, c.Faults, c.Slow
	if c.Staleness != nil {
		sized.Training.Staleness = c.Staleness
	}
	if c.Hot.Any() {
		sized.Rows.Hot = c.Hot
	}
	j.Job, j.Model, j.Workload, j.Layout = sized, nil, own.Workload, own.Layout
	return nil
}

// Sized returns a job in a mode, on a number of accelerators and with a global batch, with groups for all of
// them.
func Sized(j job.Job, mode string, gpus, batch int) job.Job {
	j = j.InMode(mode)
	j.Roles.Ranks, j.Training.GlobalBatch = gpus, batch
	for j.Training.Groups < gpus {
		j.Training.Groups *= 2
	}
	return j
}

// size sets the number of accelerators and the batch, which without a choice is that of a function.
func (j *Job) size(c *Choice, ofGPUs func(gpus int) int) error {
	gpus := c.GPUs
	if gpus == 0 {
		gpus = max(1, j.Cluster.GPUs)
	}
	most := job.RolesMax
	if j.Hardware.System.Architecture == system.StepGraph {
		most = job.GPUsMax
	}
	if gpus < 1 || gpus > most {
		return fmt.Errorf("%w: %d GPUs; want 1 to %d", ErrChoice, gpus, most)
	}
	batch := ofGPUs(gpus)
	switch {
	case c.GlobalBatch < 0 || c.BatchPerGPU < 0:
		return fmt.Errorf("%w: a batch of %d samples; want at least 1", ErrChoice,
			min(c.GlobalBatch, c.BatchPerGPU))
	case c.GlobalBatch > 0 && c.BatchPerGPU > 0:
		return fmt.Errorf("%w: a global batch of %d and one of %d a GPU; want one of the two", ErrChoice,
			c.GlobalBatch, c.BatchPerGPU)
	case c.GlobalBatch > 0:
		batch = c.GlobalBatch
	case c.BatchPerGPU > 0:
		batch = c.BatchPerGPU * gpus
	}
	if batch < gpus {
		return fmt.Errorf("%w: a global batch of %d samples on %d GPUs; want at least one each", ErrChoice,
			batch, gpus)
	}
	j.Roles.Ranks, j.Training.GlobalBatch = gpus, batch
	return nil
}

// train sets how the job trains.
func (j *Job) train(c *Choice) error {
	rows, err := rowFormat(c.RowPrecision, j.Model.Precisions.Rows)
	if err != nil {
		return err
	}
	j.Rows = rows
	j.Job.Rows.Precision = string(rows)
	j.Job.Rows.Optimizer.Kind = rowOptimizer(j.Model.Optimizers.Rows)
	j.Job.Model.Optimizer.Kind = denseOptimizer(j.Model.Optimizers.Dense)
	j.Wire.Precision = compress.FP32
	if j.Model.Precisions.Wire != model.Float32 {
		j.Wire.Precision = compress.FP16
	}
	j.Job.Rows.Hot = c.Hot
	j.Faults, j.Slow = c.Faults, c.Slow
	staleness := stalenessDefault
	if c.Staleness != nil {
		staleness = *c.Staleness
	}
	j.Training.Staleness = &staleness
	known := job.Modes()[1:] // sequential has no roles
	if j.Hardware.System.Architecture == system.StepGraph {
		known = slices.DeleteFunc(known, func(mode string) bool { return !isExact(mode) })
	}
	mode := c.Mode
	switch {
	case mode == "" && !slices.Contains(known, j.Training.Mode):
		mode = known[0]
	case mode == "":
		mode = j.Training.Mode
	case !slices.Contains(known, mode):
		return fmt.Errorf("%w: mode %q with system %s; want %s%s", ErrChoice, mode, j.Hardware.System.Name,
			strings.Join(known, ", "), near(job.Nearest(mode, known)))
	}
	j.Training.ModeSettings = c.ModeSettings
	j.Job = j.InMode(mode)
	j.Roles.DensePSs = DensePSs(j.Hardware)
	return nil
}

// isExact reports whether a mode gives the same result as sequential training, as do systems that keep the
// tables on the accelerators.
func isExact(mode string) bool {
	j := job.Default().InMode(mode)
	rule, err := j.Rule()
	return err == nil && rule.Exact()
}

// densePSsMost is one dense PS for every server of 64 GPUs. More are faster, until the network cards of their
// hosts are full at about 16.
const densePSsMost = 8

// DensePSs returns the number of dense PSs of a prediction, unless a user chooses it: 8, or the number of PS
// hosts if these are fewer.
func DensePSs(h *cost.Hardware) int { return max(1, min(densePSsMost, h.EmbeddingPSs.Count.Mid)) }

func near(name string) string {
	if name == "" {
		return ""
	}
	return fmt.Sprintf("; the nearest is %q", name)
}

// Check reports a cluster that cannot run the system, or a training that is out of range.
func (j *Job) Check() error {
	h := j.Hardware
	if err := j.checkHotRows(); err != nil {
		return err
	}
	if h.System.Architecture == system.StepGraph {
		if j.Model == nil {
			return fmt.Errorf("%w: system %s keeps tables on the accelerators, and the job names no model; "+
				"name one, or choose a system with embedding PSs", cost.ErrIncompatible, h.System.Name)
		}
		return nil
	}
	for _, x := range []struct {
		role  string
		group *cost.HostGroup
		key   string
	}{
		{"embedding workers", &h.EmbeddingWorkers, "embedding-workers"},
		{"embedding PSs", &h.EmbeddingPSs, "embedding-ps"}, {"the data loader", &h.Loaders, "loaders"},
	} {
		if x.group.Count.Mid < 1 {
			return fmt.Errorf("%w: cluster %s has no hosts for %s, which system %s needs; give %s in the "+
				"section cluster of a job file, or choose system %s", cost.ErrIncompatible, h.Cluster.Preset,
				x.role, h.System.Name, x.key, "hugectr")
		}
	}
	return j.ValidateTimed()
}

// rowFormat reads the precision of rows; empty is the model's.
func rowFormat(text string, own model.Format) (model.Format, error) {
	switch f := model.Format(text); f {
	case "":
		return own, nil
	case model.Float32, model.Float16, model.BFloat16:
		return f, nil
	}
	return "", fmt.Errorf("%w: rows in %q; want fp32, fp16 or bf16", ErrChoice, text)
}

// rowOptimizer and denseOptimizer name the optimizers of a job that hold the state of a model's.
func rowOptimizer(o model.Optimizer) string {
	if o == model.SGD {
		return opt.SGD
	}
	return opt.Adagrad
}

func denseOptimizer(o model.Optimizer) string {
	switch o {
	case model.SGD:
		return opt.SGD
	case model.Adam:
		return opt.Adam
	}
	return opt.Adagrad
}
