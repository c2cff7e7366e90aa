// Package system is the price list of system software: what the programs of a training system cost on any
// hardware. The simulator prices work as hardware × system software × model.
//
// All core times are of one core of speed 1, which is a core of an AMD Zen 4 at about 3 GHz; a host's
// core-speed converts them. Waiting for memory is not part of them: rows have a number of dependent misses,
// which cost the latency of the host's memory for a table of its size.
package system

import (
	"embed"
	"errors"
	"fmt"

	"tandem/algo/quantity"
	"tandem/algo/unit"
	"tandem/sim/param"
	"tandem/sim/preset"
	"tandem/sim/topo"
)

// The architectures of systems.
const (
	Roles     = "roles"      // embedding workers, parameter servers: tandem/sim/cluster
	StepGraph = "step-graph" // tables on the accelerators, collectives: tandem/sim/graph
)

// Profile is the price list of one system.
type Profile struct {
	Name         string `yaml:"name"`
	Architecture string `yaml:"architecture"` // Roles or StepGraph
	// Base is the built-in profile of the same architecture that has what this one lacks; "" if it is
	// complete.
	Base string `yaml:"base"`
	// Note is printed with every prediction: what a user must know of the source of the prices.
	Note string `yaml:"note"`
	// Calibration narrows quantities; nil: none. A base does not pass it on.
	Calibration *Calibration `yaml:"calibration,omitempty"`
	// Accuracy is how good predictions with the profile were; nil: not known. A base does not pass it on.
	Accuracy *Accuracy `yaml:"accuracy,omitempty"`

	NNWorker        NNWorker        `yaml:"nn-worker"`
	Collectives     Collectives     `yaml:"collectives"`
	Messages        Messages        `yaml:"messages"`
	EmbeddingWorker EmbeddingWorker `yaml:"embedding-worker"`
	EmbeddingPS     EmbeddingPS     `yaml:"embedding-ps"`
	DensePS         Service         `yaml:"dense-ps" group:"dense PS threads"`
	Loader          Loader          `yaml:"loader"`
	// The rest is of StepGraph only.
	EmbeddingKernels EmbeddingKernel `yaml:"embedding-kernels"`
	DenseKernels     DenseKernel     `yaml:"dense-kernels"`
	Pipeline         Pipeline        `yaml:"pipeline"`
}

// Service is how an instance of a role serves requests.
type Service struct {
	// Threads is the number of pieces of work that an instance has in service at once. 0 means as many as
	// its share of the host's cores.
	Threads quantity.Value[int] `yaml:"threads"`
	// Width is the number of cores that one piece of work can use.
	Width quantity.Value[int] `yaml:"width" group:"-"`
	// Jitter is the σ of the lognormal factor, of mean 1, on every piece of work.
	Jitter quantity.Value[quantity.Burden] `yaml:"jitter" group:"-"`
}

// NNWorker is the cost of the program of a rank on the host of its accelerator. It runs in one thread: what
// the accelerator does not hide of it lengthens the step.
type NNWorker struct {
	StepTime quantity.Value[unit.Tick] `yaml:"step-time"` // for a step
	// … slot tensor, both ways
	SlotTime   quantity.Value[unit.Tick] `yaml:"slot-time"`
	LaunchTime quantity.Value[unit.Tick] `yaml:"launch-time"`
	// SignTime is that of one id, which becomes the sign of a row, where ranks have rows on their
	// accelerators.
	SignTime quantity.Value[unit.Nanos] `yaml:"sign-time" optional:"yes"`
	// Captured is the share of kernels that are launched as part of a captured graph, which costs no
	// LaunchTime each.
	Captured quantity.Value[float64] `yaml:"captured"`
	// Jitter is the σ of the lognormal factor on forward and backward.
	Jitter quantity.Value[quantity.Burden] `yaml:"jitter"`
	// Interference is the share of an accelerator's speed that a running collective takes from kernels.
	Interference quantity.Value[quantity.Burden] `yaml:"interference" group:"interference of collectives"`
}

// interferenceMax keeps some speed for kernels.
const interferenceMax = 0.9

// InterferenceShare returns Interference at its middle, at most 0.9.
func (n *NNWorker) InterferenceShare() float64 {
	return min(float64(n.Interference.Mid), interferenceMax)
}

// Collectives is the part of the rate of wires that collective operations reach.
type Collectives struct {
	Inside  CollectiveShares `yaml:"inside"`  // … of a server
	Network CollectiveShares `yaml:"network"` // … of servers
	// LaunchTime is the time of one collective operation besides latencies of wires and bytes.
	LaunchTime quantity.Value[unit.Tick] `yaml:"launch-time" group:"collective launches"`
}

// CollectiveShares are shares of a wire's achieved rate, for large messages.
type CollectiveShares struct {
	AllReduce quantity.Value[float64] `yaml:"all-reduce"`
	AllToAll  quantity.Value[float64] `yaml:"all-to-all"`
	// Half is the size of a message between two members that reaches half of the share.
	Half quantity.Value[unit.Bytes] `yaml:"half"`
	// PerDoubling is the part of the share that is lost each time the number of servers doubles.
	PerDoubling quantity.Value[quantity.Burden] `yaml:"per-doubling"`
}

// Wire returns the shares as those of a wire of which a collective reaches one for large messages: AllReduce
// or AllToAll.
func (s *CollectiveShares) Wire(large float64) topo.Share {
	return topo.Share{Large: large, Half: s.Half.Mid, PerDoubling: float64(s.PerDoubling.Mid)}
}

// Messages is the cost of a message between roles at each of its two ends.
type Messages struct {
	Time quantity.Value[unit.Tick] `yaml:"time"` // of a core
	// of a core, to (de)serialise; copies between memory and network have the host's copy-speed
	ByteTime quantity.Value[unit.Nanos] `yaml:"byte-time"`
	// Connections is the number of messages from one process to another that are on the wires at once, at
	// least 1; later ones wait in the order of their sending. Optional: without it all are, as in a pool of
	// connections that grows with the messages.
	Connections quantity.Value[int] `yaml:"connections" group:"-" optional:"yes"`
	// Window is the number of bytes of one connection that may be on their way. Optional: without it, or if
	// it is 0, any number.
	Window quantity.Value[unit.Bytes] `yaml:"window" group:"-" optional:"yes"`
}

// EmbeddingWorker is the cost of the work of an embedding worker.
type EmbeddingWorker struct {
	Service `yaml:",inline" group:"EW threads"`
	// IDTime is of one occurrence of an id: to prefix, route and number it.
	IDTime quantity.Value[unit.Nanos] `yaml:"id-time"`
	// HotIDTime is what an occurrence of an id takes longer where rows are hot: to find the hot rows, and to
	// list the bags that have them for the NN worker. Optional: without it, 0.
	HotIDTime quantity.Value[unit.Nanos] `yaml:"hot-id-time" optional:"yes"`
	// PoolIDTime and PoolValueTime are of adding one row to the sum of a sample: of the row, and of each
	// value.
	PoolIDTime    quantity.Value[unit.Nanos] `yaml:"pool-id-time"`
	PoolValueTime quantity.Value[unit.Nanos] `yaml:"pool-value-time"`
	// ConvertTime is of converting one pooled value to or from the wire's precision.
	ConvertTime quantity.Value[unit.Nanos] `yaml:"convert-time"`
	// MergeIDTime and MergeValueTime are of adding the gradient of one occurrence to that of its row.
	MergeIDTime    quantity.Value[unit.Nanos] `yaml:"merge-id-time"`
	MergeValueTime quantity.Value[unit.Nanos] `yaml:"merge-value-time"`
}

// EmbeddingPS is the cost of the rows of an embedding PS.
type EmbeddingPS struct {
	Service `yaml:",inline" group:"PS threads"`
	Read    RowWork `yaml:"read"`
	Update  RowWork `yaml:"update"`
	// Create is the extra cost of reading a row that does not exist yet.
	Create Creation `yaml:"create"`
	// Overhead is the memory of a row beyond its values and optimizer state.
	Overhead quantity.Value[unit.Bytes] `yaml:"overhead"`
}

// RowWork is the cost of one row: core time, plus dependent misses that each wait for memory.
type RowWork struct {
	RowTime   quantity.Value[unit.Nanos]      `yaml:"row-time"`
	ValueTime quantity.Value[unit.Nanos]      `yaml:"value-time"`
	Misses    quantity.Value[quantity.Burden] `yaml:"misses"` // after what prefetching hides
}

// Creation is the core time that a new row takes beyond its read: its place in the index, its memory, and its
// first values.
type Creation struct {
	RowTime   quantity.Value[unit.Nanos] `yaml:"row-time"`
	ValueTime quantity.Value[unit.Nanos] `yaml:"value-time"`
}

// Loader is the cost of the data loader.
type Loader struct {
	// of one occurrence
	IDTime quantity.Value[unit.Nanos] `yaml:"id-time"`
	// of a rank's batch
	BatchTime quantity.Value[unit.Tick]       `yaml:"batch-time"`
	Jitter    quantity.Value[quantity.Burden] `yaml:"jitter"`
}

// EmbeddingKernel is how a system's kernels use tables in an accelerator's memory.
type EmbeddingKernel struct {
	Forward  quantity.Value[float64] `yaml:"forward"`  // share of memory bandwidth that lookups reach
	Backward quantity.Value[float64] `yaml:"backward"` // … that backward, fused with the optimizer, reaches
	// Passes is how often the indices are read and written to sort them for an exact optimizer.
	Passes quantity.Value[quantity.Burden] `yaml:"passes"`
	// UpdatePasses is how often the gradients of all occurrences of rows are written to memory in fp32 and
	// read again: 0 if backward and optimizer are one kernel, more if one kernel gathers them, one adds
	// those of a row, and one updates it.
	UpdatePasses quantity.Value[quantity.Burden] `yaml:"update-passes"`
	// TableLaunches is the number of kernels of a step that each table has of its own, on top of those that
	// serve all tables at once.
	TableLaunches quantity.Value[quantity.Burden] `yaml:"table-launches"`
	// HostReserve is the share of a server's memory that is not for tables: it holds input data, page cache
	// and the libraries.
	HostReserve quantity.Value[quantity.Burden] `yaml:"host-reserve"`
}

// DenseKernel is how a system's kernels compute the dense network.
type DenseKernel struct {
	// Fused is the share of the elementwise kernels, such as activation functions, that are part of the
	// matrix product beside them.
	Fused quantity.Value[float64] `yaml:"fused"`
	// Products is the time of a matrix product as a multiple of that of the best kernel.
	Products quantity.Value[quantity.Burden] `yaml:"products"`
	// Passes is how many kernels read and write the output of every layer and its gradient, apart from bias
	// and activation function: copies, transpositions, sums for the bias.
	Passes quantity.Value[quantity.Burden] `yaml:"passes"`
	// Casts is how many times inputs, weights and their gradients are converted between fp32 and 16 bits,
	// where products are in 16 bits.
	Casts quantity.Value[quantity.Burden] `yaml:"casts"`
	// TensorLaunches is the number of kernels of the optimizer for every tensor of parameters.
	TensorLaunches quantity.Value[quantity.Burden] `yaml:"tensor-launches"`
}

// Pipeline is what a system's steps do at the same time.
type Pipeline struct {
	// IdleTime is the time of a step in which the accelerator waits for the program: for a number that the
	// host reads back, for the agreement of ranks on a collective, for a framework's scheduler.
	IdleTime quantity.Value[unit.Tick] `yaml:"idle-time"`
	// Inputs is the share of the input distribution that is done during the step before.
	Inputs quantity.Value[float64] `yaml:"inputs"`
	// Reductions is the share of the all-reduces of dense gradients that backward can hide.
	Reductions quantity.Value[float64] `yaml:"reductions"`
	// Relayed is the share of exchanges between accelerators of a server without a link that a third one
	// relays over its links; the rest goes through the host. Only cube meshes have such pairs.
	Relayed quantity.Value[float64] `yaml:"relayed"`
}

//go:embed profiles
var profiles embed.FS

// Systems are the built-in profiles.
var Systems = &preset.Library{Kind: "system", Files: profiles, Folder: "profiles"}

// Load returns the profile of a name or file.
func Load(name string) (*Profile, error) {
	p := new(Profile)
	return p, Systems.Load(name, p)
}

// LoadUncalibrated returns the profile of a name or file with the ranges that it has before its calibration.
func LoadUncalibrated(name string) (*Profile, error) {
	p := new(uncalibrated)
	err := Systems.Load(name, p)
	p.Calibration, p.Accuracy = nil, nil
	return (*Profile)(p), err
}

// uncalibrated is a profile that Load does not calibrate.
type uncalibrated Profile

// Complete implements preset.Completer.
func (p *uncalibrated) Complete() error { return (*Profile)(p).complete() }

// Validate implements preset.Profile.
func (p *uncalibrated) Validate() error { return (*Profile)(p).Validate() }

// Validate reports the first fault of the profile.
func (p *Profile) Validate() error {
	switch {
	case p.Name == "":
		return errors.New("no name; name it after its file")
	case p.Architecture != Roles && p.Architecture != StepGraph:
		return fmt.Errorf("architecture = %q; want %s or %s", p.Architecture, Roles, StepGraph)
	}
	if err := param.Validate(p); err != nil {
		return err
	}
	if missing := p.missing(); missing != "" {
		return fmt.Errorf("no %s; add it, or name a base that has it", missing)
	}
	if err := p.Accuracy.validate(); err != nil {
		return fmt.Errorf("accuracy.%w", err)
	}
	return p.validateShares()
}

// validateShares checks that no share is above 1.
func (p *Profile) validateShares() error {
	inside, network := &p.Collectives.Inside, &p.Collectives.Network
	kernels := &p.EmbeddingKernels
	for _, share := range []struct {
		name string
		of   *quantity.Value[float64]
	}{
		{"nn-worker.captured", &p.NNWorker.Captured},
		{"collectives.inside.all-reduce", &inside.AllReduce},
		{"collectives.inside.all-to-all", &inside.AllToAll},
		{"collectives.network.all-reduce", &network.AllReduce},
		{"collectives.network.all-to-all", &network.AllToAll},
		{"embedding-kernels.forward", &kernels.Forward},
		{"embedding-kernels.backward", &kernels.Backward},
		{"dense-kernels.fused", &p.DenseKernels.Fused},
		{"pipeline.inputs", &p.Pipeline.Inputs},
		{"pipeline.reductions", &p.Pipeline.Reductions},
		{"pipeline.relayed", &p.Pipeline.Relayed},
	} {
		if _, high := share.of.Range(); high > 1 {
			return fmt.Errorf("%s: high = %v; want a share of at most 1", share.name, high)
		}
	}
	if _, high := kernels.HostReserve.Range(); high > 1 {
		return fmt.Errorf("embedding-kernels.host-reserve: high = %v; want a share of at most 1", high)
	}
	if low, _ := p.DenseKernels.Products.Range(); p.DenseKernels.Products.Given() && low < 1 {
		return fmt.Errorf("dense-kernels.products: low = %v; want a multiple of at least 1", low)
	}
	return nil
}
