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

	NNWorker         NNWorker        `yaml:"nn-worker"`
	Collectives      Collectives     `yaml:"collectives"`
	Messages         Messages        `yaml:"messages"`
	EmbeddingWorker  EmbeddingWorker `yaml:"embedding-worker"`
	EmbeddingPS      EmbeddingPS     `yaml:"embedding-ps"`
	DensePS          Service         `yaml:"dense-ps" group:"dense PS threads"`
	Loader           Loader          `yaml:"loader"`
	EmbeddingKernels EmbeddingKernel `yaml:"embedding-kernels"` // StepGraph only
	DenseKernels     DenseKernel     `yaml:"dense-kernels"`     // StepGraph only
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
	// Captured is the share of kernels that are launched as part of a captured graph, which costs no
	// LaunchTime each.
	Captured quantity.Value[float64] `yaml:"captured"`
	// Jitter is the σ of the lognormal factor on forward and backward.
	Jitter quantity.Value[quantity.Burden] `yaml:"jitter"`
	// Interference is the share of an accelerator's speed that a running collective takes from kernels.
	Interference quantity.Value[quantity.Burden] `yaml:"interference" group:"interference of collectives"`
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

// Messages is the cost of a message between roles at each of its two ends.
type Messages struct {
	Time quantity.Value[unit.Tick] `yaml:"time"` // of a core
	// of a core, to (de)serialise; copies between memory and network have the host's copy-speed
	ByteTime quantity.Value[unit.Nanos] `yaml:"byte-time"`
}

// EmbeddingWorker is the cost of the work of an embedding worker.
type EmbeddingWorker struct {
	Service `yaml:",inline" group:"EW threads"`
	// IDTime is of one occurrence of an id: to prefix, route and number it.
	IDTime quantity.Value[unit.Nanos] `yaml:"id-time"`
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
	// Overhead is the memory of a row beyond its values and optimizer state.
	Overhead quantity.Value[unit.Bytes] `yaml:"overhead"`
}

// RowWork is the cost of one row: core time, plus dependent misses that each wait for memory.
type RowWork struct {
	RowTime   quantity.Value[unit.Nanos]      `yaml:"row-time"`
	ValueTime quantity.Value[unit.Nanos]      `yaml:"value-time"`
	Misses    quantity.Value[quantity.Burden] `yaml:"misses"` // after what prefetching hides
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
	// HostReserve is the share of a server's memory that is not for tables: it holds input data, page cache
	// and the libraries.
	HostReserve quantity.Value[quantity.Burden] `yaml:"host-reserve"`
}

// DenseKernel is how a system's kernels compute the dense network.
type DenseKernel struct {
	// Fused is the share of the elementwise kernels, such as activation functions, that are part of the
	// matrix product beside them.
	Fused quantity.Value[float64] `yaml:"fused"`
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
	} {
		if _, high := share.of.Range(); high > 1 {
			return fmt.Errorf("%s: high = %v; want a share of at most 1", share.name, high)
		}
	}
	if _, high := kernels.HostReserve.Range(); high > 1 {
		return fmt.Errorf("embedding-kernels.host-reserve: high = %v; want a share of at most 1", high)
	}
	return nil
}
