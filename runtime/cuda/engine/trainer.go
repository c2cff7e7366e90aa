package engine

import (
	"cmp"
	"errors"
	"fmt"
	"sync"

	"tandem/algo/exec/backend"
	"tandem/algo/exec/dense"
	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/runtime/cuda"
	"tandem/runtime/cuda/kernels"
)

// GPUs are the devices that the ranks of this process use.
type GPUs struct {
	driver   *cuda.Driver
	devices  []*device
	operands cuda.Type // of matrix products
	sums     string    // how gradients are summed: job.HostSums or another
	ranks    int       // of the job
	// Note, if not nil, is called with what a user should know of the GPUs, once for each of them.
	Note func(line string)
}

// Attach makes the ranks of a process compute on the GPUs that a job names, and returns these in the order in
// which ranks take them: none if the job names the processors. It returns an error if a GPU does not exist.
func Attach(b *backend.Backend, j *job.Job) (gpus []cuda.Info, err error) {
	if !j.KernelsOnGPU() {
		return nil, nil
	}
	g, err := Open(cuda.Libraries{}, j)
	if err != nil {
		return nil, err
	}
	b.Trainer, g.Note = g.Trainer, b.Note
	for _, d := range g.devices {
		gpus = append(gpus, d.Info())
	}
	return gpus, nil
}

// Open opens the GPUs that a job names, or all there are, with libraries of given names.
func Open(libraries cuda.Libraries, j *job.Job) (*GPUs, error) {
	driver, err := cuda.Open(libraries)
	if err != nil {
		return nil, err
	}
	ordinals := j.Model.Device.Ordinals
	if len(ordinals) == 0 {
		all, err := driver.Devices()
		if err != nil {
			return nil, err
		}
		for _, found := range all {
			ordinals = append(ordinals, found.Ordinal)
		}
	}
	g := &GPUs{driver: driver, operands: operandsOf(j.Model.Precision),
		sums: cmp.Or(j.Wire.AllReduce, job.HostSums), ranks: j.Roles.Ranks}
	for _, ordinal := range ordinals {
		opened, err := openDevice(driver, ordinal)
		if err != nil {
			return nil, err
		}
		var once sync.Once
		opened.note = func(line string) {
			if g.Note != nil {
				once.Do(func() { g.Note(line) })
			}
		}
		g.devices = append(g.devices, opened)
	}
	return g, nil
}

func operandsOf(precision string) cuda.Type {
	switch precision {
	case job.TF32:
		return cuda.TF32
	case job.BF16:
		return cuda.BF16
	}
	return cuda.F32
}

// Trainer returns what makes the replicas of a built-in network, rank by rank on the next device.
func (g *GPUs) Trainer(e model.Engine) (model.Trainer, error) {
	program, ok := model.NewProgram(e)
	if !ok {
		return nil, errors.New("engine: a GPU computes the networks that a job file describes; train " +
			"another one on the processors")
	}
	return &trainer{GPUs: g, engine: e, program: program, replicas: map[int]*replica{}}, nil
}

// trainer is a dense.Summer and a model.RowsTrainer.
type trainer struct {
	*GPUs
	engine   model.Engine
	program  *model.Program
	replicas map[int]*replica // by rank, those that sum on their devices or have rows there
	members  []*member        // in rank order, once the ranks have met
	met      dense.Collective // over which they have
	meeting  *meeting         // of ranks that have rows together
}

// NewReplica implements model.Trainer.
func (t *trainer) NewReplica(c model.ReplicaConfig) (model.Replica, error) {
	if c.Rows != nil && c.Ranks > len(t.devices) {
		return nil, fmt.Errorf("rows on GPUs need a GPU for each rank: %d ranks would share %d; set "+
			"roles.ranks to %d", c.Ranks, len(t.devices), len(t.devices))
	}
	r, err := newReplica(t.devices[c.Rank%len(t.devices)], t, c)
	if err == nil && (c.Summed || c.Rows != nil) {
		t.replicas[c.Rank] = r
	}
	return r, err
}

// device is an open GPU with what all replicas on it share.
type device struct {
	*cuda.Device
	functions map[string]*cuda.Function
	note      func(line string) // says something to the user, once
}

func openDevice(driver *cuda.Driver, ordinal int) (*device, error) {
	opened, err := driver.Open(ordinal)
	if err != nil {
		return nil, err
	}
	d := &device{Device: opened, functions: map[string]*cuda.Function{}}
	module, err := opened.Compile("kernels.cu", kernels.Source(), kernels.Options()...)
	if err != nil {
		return nil, err
	}
	for _, name := range kernels.Names() {
		if d.functions[name], err = module.Function(name); err != nil {
			return nil, err
		}
	}
	return d, nil
}
