package cluster

import (
	"fmt"

	"tandem/algo/protocol/role"
	"tandem/algo/unit"
	"tandem/sim/device"
)

// Spec describes a cluster. Profiles are named; device has the list.
type Spec struct {
	// Accelerator is the profile of one rank's device, and AcceleratorsPerServer
	// how many of them share a server and its network card.
	Accelerator           string `yaml:"accelerator"`
	AcceleratorsPerServer int    `yaml:"accelerators-per-server"` // 1 to role.InstancesMax
	// Precision that kernels multiply in: fp32, tf32 or half.
	Precision string `yaml:"precision"`
	Inside    string `yaml:"inside"`    // wire between the accelerators of a server
	HostLink  string `yaml:"host-link"` // wire between host and accelerator
	Server    string `yaml:"server"`    // host profile of the servers

	Network string `yaml:"network"` // wire profile of the network: its share and latency
	// NetworkRate replaces the rate of every network card, one direction; 0
	// keeps those of the profiles.
	NetworkRate unit.BytesPerSec `yaml:"network-rate"`

	EmbeddingWorkers Hosts    `yaml:"embedding-workers"`
	ParameterServers Hosts    `yaml:"parameter-servers"` // each dense PS has one more such host to itself
	Loaders          Hosts    `yaml:"loaders"`           // together they are the one data loader; per-host is 1
	Software         Software `yaml:"software"`

	// Fold makes one state machine stand for all PSs.
	Fold bool `yaml:"fold"`
	// Source says where the shape of the cluster is from.
	Source string `yaml:"source"`

	machine *Machine // measured; replaces every profile
}

// Hosts are like hosts that run like instances of a role.
type Hosts struct {
	Profile string `yaml:"profile"`
	Count   int    `yaml:"count"`    // hosts; ≥ 1
	PerHost int    `yaml:"per-host"` // instances on each; ≥ 1; at most role.InstancesMax on all
	// guess is the range of Count where that is a preset's guess. Whoever sets
	// another Count knows it.
	guess countRange
}

// countRange is a number with the ends of its range; the zero value is none.
type countRange struct{ low, mid, high int }

// guessed returns hosts whose number is a guess.
func guessed(profile string, low, mid, high int) Hosts {
	return Hosts{Profile: profile, Count: mid, PerHost: 1, guess: countRange{low, mid, high}}
}

// count returns the number of hosts with its range and origin.
func (h Hosts) count(source string) device.Quantity[int] {
	if h.guess.mid != h.Count {
		return device.Quantity[int]{Mid: h.Count, Kind: device.Default, Source: source}
	}
	return device.Quantity[int]{Low: h.guess.low, Mid: h.Count, High: h.guess.high, Kind: device.Guessed, Source: source}
}

// describe adds the unit to a number of hosts.
func (h Hosts) describe(count string) string {
	if h.PerHost > 1 {
		return fmt.Sprintf("%s hosts of %d", count, h.PerHost)
	}
	return count + " hosts"
}

// Software is what the programs cost, whatever hardware they run on.
type Software struct {
	// MessageTime is the core time that sender and receiver each spend on a
	// message beside copying its payload.
	MessageTime device.Quantity[unit.Tick] `yaml:"message-time"`
	// IDTime is the core time to prefix, deduplicate and route one occurrence of
	// an id.
	IDTime device.Quantity[unit.Tick] `yaml:"id-time"`
	// Threads is the number of cores that one piece of work of an EW or PS can
	// use.
	Threads device.Quantity[int] `yaml:"threads"`
}

// DefaultSoftware returns guesses wide enough for the stacks in use.
func DefaultSoftware() Software {
	return Software{
		MessageTime: device.Quantity[unit.Tick]{
			Low: 5 * unit.Microsecond, Mid: 15 * unit.Microsecond, High: 50 * unit.Microsecond, Kind: device.Guessed,
			Source: "20,000 to 200,000 messages a second and core, from HTTP/1.1 and gRPC to a tuned stream over kernel TCP", Date: "2023",
		},
		IDTime: device.Quantity[unit.Tick]{
			Low: 10, Mid: 30, High: 100, Kind: device.Guessed,
			Source: "a hash and one to a few probes of a table in cache", Date: "2023",
		},
		Threads: device.Quantity[int]{
			Low: 1, Mid: 4, High: 16, Kind: device.Guessed,
			Source: "Persia looks the rows of a request up in one thread; slots of a batch could be split in parallel", Date: "2022",
		},
	}
}

// Validate reports the first setting that is out of range, by its field path.
// It does not look for profiles.
func (s *Spec) Validate() error {
	if s.machine != nil {
		return nil
	}
	if n := s.AcceleratorsPerServer; n < 1 || n > role.InstancesMax {
		return fmt.Errorf("accelerators-per-server = %d; want 1 to %d", n, role.InstancesMax)
	}
	if _, err := precision(s.Precision); err != nil {
		return err
	}
	if s.NetworkRate < 0 {
		return fmt.Errorf("network-rate = %v; want more than 0, or 0 for that of the profiles", s.NetworkRate)
	}
	if err := s.EmbeddingWorkers.validate("embedding-workers"); err != nil {
		return err
	}
	if err := s.ParameterServers.validate("parameter-servers"); err != nil {
		return err
	}
	if err := s.Loaders.validate("loaders"); err != nil {
		return err
	}
	if s.Loaders.PerHost != 1 {
		return fmt.Errorf("loaders.per-host = %d; want 1: the data loader uses a host whole", s.Loaders.PerHost)
	}
	return s.Software.validate()
}

func (h Hosts) validate(path string) error {
	switch {
	case h.Count < 1 || h.Count > role.InstancesMax:
		return fmt.Errorf("%s.count = %d; want 1 to %d", path, h.Count, role.InstancesMax)
	case h.PerHost < 1 || h.PerHost > role.InstancesMax/h.Count:
		return fmt.Errorf("%s.per-host = %d; want 1 to %d on %d hosts",
			path, h.PerHost, role.InstancesMax/h.Count, h.Count)
	}
	return nil
}

func (s *Software) validate() error {
	if err := s.MessageTime.Validate(); err != nil {
		return fmt.Errorf("software.message-time: %w", err)
	}
	if err := s.IDTime.Validate(); err != nil {
		return fmt.Errorf("software.id-time: %w", err)
	}
	if err := s.Threads.Validate(); err != nil {
		return fmt.Errorf("software.threads: %w", err)
	}
	if low, _ := s.Threads.Range(); low < 1 {
		return fmt.Errorf("software.threads: low = %d; want at least 1", low)
	}
	return nil
}

// precision reads the name of a number format.
func precision(name string) (device.Precision, error) {
	switch name {
	case "fp32":
		return device.FP32, nil
	case "tf32":
		return device.TF32, nil
	case "half":
		return device.Half, nil
	}
	return 0, fmt.Errorf("precision = %q; want fp32, tf32 or half", name)
}
