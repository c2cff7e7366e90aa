package job

import (
	"fmt"

	"tandem/algo/quantity"
	"tandem/algo/unit"
)

// Cluster is the section cluster of a job file: the hardware that the simulator puts the job on. Profiles of
// hardware are named here; the simulator (sim/device) has them.
type Cluster struct {
	// Accelerator is the profile of the device of one rank. AcceleratorsPerServer is the number of
	// accelerators that share a server and its network card: 1 to RolesMax.
	Accelerator           string `yaml:"accelerator"`
	AcceleratorsPerServer int    `yaml:"accelerators-per-server"`
	Precision             string `yaml:"precision"` // number format of matrix products: fp32, tf32 or half
	Inside                string `yaml:"inside"`    // wire profile between the accelerators of a server
	HostLink              string `yaml:"host-link"` // wire profile between host and accelerator
	Server                string `yaml:"server"`    // host profile of the servers

	Network string `yaml:"network"` // wire profile of the network: its share and latency
	// NetworkRate replaces the rate of every network card, in one direction; 0 keeps the rates of the
	// profiles.
	NetworkRate unit.BytesPerSec `yaml:"network-rate"`

	EmbeddingWorkers Hosts    `yaml:"embedding-workers"`
	EmbeddingPSs     Hosts    `yaml:"embedding-ps"` // a dense PS has one more such host to itself
	Loaders          Hosts    `yaml:"loaders"`      // hosts of the one data loader; per-host is 1
	Software         Software `yaml:"software"`

	// Fold makes one state machine stand for all embedding PSs.
	Fold bool `yaml:"fold"`
	// Source says where the description of the cluster is from.
	Source string `yaml:"source"`
}

// The number formats of Cluster.Precision.
const (
	PrecisionFP32 = "fp32"
	PrecisionTF32 = "tf32"
	PrecisionHalf = "half" // fp16 or bf16
)

// Hosts is a number of equal hosts, each with the same number of instances of a role.
type Hosts struct {
	Profile string `yaml:"profile"`
	Count   int    `yaml:"count"`    // hosts; at least 1
	PerHost int    `yaml:"per-host"` // instances on each host; at least 1; at most RolesMax on all hosts
	// guess is the range of Count if a preset guesses Count. It does not apply once Count is changed.
	guess countRange
}

// countRange is a number with the ends of its range; the zero value means that there is none.
type countRange struct{ low, mid, high int }

// guessedHosts returns hosts whose number is a guess.
func guessedHosts(profile string, low, mid, high int) Hosts {
	return Hosts{Profile: profile, Count: mid, PerHost: 1, guess: countRange{low, mid, high}}
}

// CountRange returns the number of hosts as a quantity: with the range of the guess if a preset guessed it,
// otherwise exactly. Source is where the number is from.
func (h Hosts) CountRange(source string) quantity.Value[int] {
	if h.guess.mid != h.Count {
		return quantity.Value[int]{Mid: h.Count, Kind: quantity.Default, Source: source}
	}
	return quantity.Value[int]{
		Low: h.guess.low, Mid: h.Count, High: h.guess.high, Kind: quantity.Guessed, Source: source,
	}
}

// Software is the cost of the programs, the same on all hardware.
type Software struct {
	// MessageTime is the core time that sender and receiver each spend on a message, without the copy of its
	// payload.
	MessageTime quantity.Value[unit.Tick] `yaml:"message-time"`
	// IDTime is the core time to prefix, deduplicate and route one occurrence of an id.
	IDTime quantity.Value[unit.Tick] `yaml:"id-time"`
	// Threads is the number of cores that can share one piece of work of an embedding worker or PS.
	Threads quantity.Value[int] `yaml:"threads"`
}

// DefaultSoftware returns guesses with ranges wide enough for the software stacks in use.
func DefaultSoftware() Software {
	return Software{
		MessageTime: quantity.Value[unit.Tick]{
			Low: 5 * unit.Microsecond, Mid: 15 * unit.Microsecond, High: 50 * unit.Microsecond,
			Kind: quantity.Guessed,
			Source: "20,000 to 200,000 messages a second and core, " +
				"from HTTP/1.1 and gRPC to a tuned stream over kernel TCP",
			Date: "2023",
		},
		IDTime: quantity.Value[unit.Tick]{
			Low: 10, Mid: 30, High: 100, Kind: quantity.Guessed,
			Source: "a hash and one to a few probes of a table in cache", Date: "2023",
		},
		Threads: quantity.Value[int]{
			Low: 1, Mid: 4, High: 16, Kind: quantity.Guessed,
			Source: "Persia looks the rows of a request up in one thread; " +
				"slots of a batch could be split in parallel",
			Date: "2022",
		},
	}
}

// PersiaCluster returns the main cluster of Persia's evaluation: servers of 8 V100s, and 100 CPU instances of
// 52 cores and 480 GB, on a network of 100 Gbit/s. The split of the instances among roles is not published,
// so the preset guesses it with a range. GPUs do not reach each other directly: a note in the scaling figures
// says that NCCL's peer-to-peer transfers were off. The hosts of the GPUs are not published either; the
// preset assumes that they are like the CPU instances.
//
// Source: Lian and others, arXiv 2111.05897, the evaluation's cluster.
func PersiaCluster() Cluster {
	const instance = "xeon-52-core-480gb"
	return Cluster{
		Accelerator: "V100-SXM2-32GB", AcceleratorsPerServer: 8, Precision: PrecisionFP32,
		Inside: "nvlink2-off", HostLink: "pcie3-x16", Server: instance,
		Network:          "ethernet-100g",
		EmbeddingWorkers: guessedHosts(instance, 20, 40, 60),
		EmbeddingPSs:     guessedHosts(instance, 30, 50, 70),
		Loaders:          guessedHosts(instance, 5, 10, 20),
		Software:         DefaultSoftware(), Fold: true,
		Source: "Persia (Lian et al., KDD 2022): 100 CPU instances in all; their split among roles, " +
			"and the hosts of the GPUs, are not published",
	}
}

// GoogleCloudCluster returns the cluster on which Persia trained 100 trillion parameters: 8 a2-highgpu-8g
// servers of 8 A100s, 100 c2-standard-30 with one embedding worker each, and 30 m2-ultramem-416 with 4
// embedding PSs each. The data loaders were 240 pods of one core on the spare cores of the servers; the
// preset has 8 hosts of 30 cores instead. PyTorch of the time multiplied in TF32 on A100s by default.
//
// Source: the manifests of Persia's tutorials, October 2021.
func GoogleCloudCluster() Cluster {
	return Cluster{
		Accelerator: "A100-SXM4-40GB", AcceleratorsPerServer: 8, Precision: PrecisionTF32,
		Inside: "nvlink3", HostLink: "pcie4-x16", Server: "a2-highgpu-8g",
		Network:          "ethernet-100g",
		EmbeddingWorkers: Hosts{Profile: "c2-standard-30", Count: 100, PerHost: 1},
		EmbeddingPSs:     Hosts{Profile: "m2-ultramem-416", Count: 30, PerHost: 4},
		Loaders:          guessedHosts("c2-standard-30", 4, 8, 16),
		Software:         DefaultSoftware(), Fold: true,
		Source: "Persia's tutorials, Google Cloud manifests (2021-10); " +
			"of the loaders only pods and cores are known",
	}
}

// Validate reports the first setting that is out of range, by its path in the section. It does not look for
// profiles.
func (c *Cluster) Validate() error {
	if n := c.AcceleratorsPerServer; n < 1 || n > RolesMax {
		return fmt.Errorf("accelerators-per-server = %d; want 1 to %d", n, RolesMax)
	}
	switch c.Precision {
	case PrecisionFP32, PrecisionTF32, PrecisionHalf:
	default:
		return fmt.Errorf("precision = %q; want fp32, tf32 or half", c.Precision)
	}
	if c.NetworkRate < 0 {
		return fmt.Errorf("network-rate = %v; want a positive rate, or 0 for the rates of the profiles",
			c.NetworkRate)
	}
	if err := c.EmbeddingWorkers.validate("embedding-workers"); err != nil {
		return err
	}
	if err := c.EmbeddingPSs.validate("embedding-ps"); err != nil {
		return err
	}
	if err := c.Loaders.validate("loaders"); err != nil {
		return err
	}
	if c.Loaders.PerHost != 1 {
		return fmt.Errorf("loaders.per-host = %d; want 1: the data loader uses whole hosts",
			c.Loaders.PerHost)
	}
	return c.Software.validate()
}

func (h Hosts) validate(path string) error {
	switch {
	case h.Count < 1 || h.Count > RolesMax:
		return fmt.Errorf("%s.count = %d; want 1 to %d", path, h.Count, RolesMax)
	case h.PerHost < 1 || h.PerHost > RolesMax/h.Count:
		return fmt.Errorf("%s.per-host = %d; want 1 to %d on %d hosts",
			path, h.PerHost, RolesMax/h.Count, h.Count)
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
		return fmt.Errorf("software.threads.low = %d; want at least 1", low)
	}
	return nil
}
