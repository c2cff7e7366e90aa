package job

import (
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"tandem/algo/unit"
)

// Cluster is the section cluster of a job file: the hardware and the system software that the simulator puts
// the job on. Devices, systems and whole clusters are profiles, which are named here; the simulator has them
// (sim/cost). The name of a profile with a slash, or that ends in .yaml, is the path of a user's file.
type Cluster struct {
	// Preset is the profile of a cluster that supplied every setting that was left out: a built-in
	// one, or the path of a file.
	Preset string `yaml:"preset,omitempty"`
	// GPUs is the number of accelerators of the cluster, where a command or job does not choose it.
	GPUs int `yaml:"gpus,omitempty"`

	// Accelerator is the profile of the device of one rank. AcceleratorsPerServer is the number of
	// accelerators that share a server.
	Accelerator           string `yaml:"accelerator,omitempty"`
	AcceleratorsPerServer int    `yaml:"accelerators-per-server,omitempty"`
	// Mixed are servers with other accelerators. They hold the last ranks.
	Mixed []MixedServers `yaml:"mixed,omitempty"`
	// Precision is the number format of matrix products: PrecisionFP32, PrecisionTF32 or PrecisionHalf.
	// Empty: the model's.
	Precision string `yaml:"precision,omitempty"`
	// Inside is the wire profile between the accelerators of a server, and HostLink that between host and
	// accelerator. Empty: the accelerator's own.
	Inside   string `yaml:"inside,omitempty"`
	HostLink string `yaml:"host-link,omitempty"`
	Server   string `yaml:"server,omitempty"` // host profile of the servers

	// ServerZone is the zone of the servers, as Hosts.Zone.
	ServerZone string `yaml:"server-zone,omitempty"`

	Network string `yaml:"network,omitempty"` // wire profile of the network: its share and latency
	// NetworkRate replaces the rate of each network card of every host, in one direction; 0 keeps the rates
	// of the profiles. A host keeps its number of cards, and cards for input data alone keep their rate.
	NetworkRate unit.BytesPerSec `yaml:"network-rate,omitempty"`
	Topology    Topology         `yaml:"topology,omitempty"` // of the network

	EmbeddingWorkers Hosts `yaml:"embedding-workers,omitempty"` // hosts of the embedding workers
	// EmbeddingPSs are the hosts of the embedding PSs; a dense PS has one more such host to itself.
	EmbeddingPSs Hosts `yaml:"embedding-ps,omitempty"`
	Loaders      Hosts `yaml:"loaders,omitempty"` // hosts of the one data loader; per-host is 1

	System string `yaml:"system,omitempty"` // profile of the system software
	// Model is the profile of the model whose training is predicted where a command names no other, and no
	// data.
	Model string `yaml:"model,omitempty"`
	// Set gives single parameters of the simulation a value, by their names.
	Set map[string]string `yaml:"set,omitempty"`
	// Unfold gives each embedding PS a state machine of its own, instead of one that stands for all, and each
	// of more than 512 ranks, instead of 64 or so. Figures are nearly the same, and a simulation takes
	// longer.
	Unfold bool `yaml:"unfold,omitempty"`
	// Source says where the description of the cluster is from.
	Source string `yaml:"source,omitempty"`
}

// The number formats of Cluster.Precision.
const (
	PrecisionFP32 = "fp32"
	PrecisionTF32 = "tf32"
	PrecisionHalf = "half" // fp16 or bf16
)

// Precisions lists the values of Cluster.Precision.
func Precisions() []string { return []string{PrecisionFP32, PrecisionTF32, PrecisionHalf} }

// ClusterPrecision returns the number format of the model's matrix products, as Cluster.Precision has it.
func (m *Model) ClusterPrecision() string {
	switch m.Precision {
	case TF32:
		return PrecisionTF32
	case BF16:
		return PrecisionHalf
	}
	return PrecisionFP32
}

// MixedServers are servers that differ from the others by their accelerator.
type MixedServers struct {
	Accelerator string `yaml:"accelerator"` // profile
	Servers     int    `yaml:"servers"`     // number of them, at least 1
}

// The kinds of Topology.
const (
	TopologyFlat    = "flat"     // the network is never a bottleneck: only the cards are
	TopologyRacks   = "racks"    // hosts in racks, each with one switch and its uplinks
	TopologyFatTree = "fat-tree" // racks under a spine
	TopologyRails   = "rails"    // card i of every server is on switch i
)

// Topologies lists the kinds of Topology.
func Topologies() []string {
	return []string{TopologyFlat, TopologyRacks, TopologyFatTree, TopologyRails}
}

// Topology is the shape of the network between hosts.
type Topology struct {
	Kind string `yaml:"kind,omitempty"` // empty: flat
	// HostsPerRack is the number of hosts under one switch; 0 where there are no racks.
	HostsPerRack int `yaml:"hosts-per-rack,omitempty"`
	// Oversubscription is the rate of the cards of a rack divided by that of its uplinks, at least 1; 0 means
	// 1.
	Oversubscription float64 `yaml:"oversubscription,omitempty"`
	// ZoneRate and ZoneLatency are of the link between every two zones, in each direction: the latency is in
	// addition to that of the network. Where hosts are in different zones, a rate is needed.
	ZoneRate    unit.BytesPerSec `yaml:"zone-rate,omitempty"`
	ZoneLatency unit.Tick        `yaml:"zone-latency,omitempty"`
}

// Hosts is a number of equal hosts, each with the same number of instances of a role.
type Hosts struct {
	Profile string `yaml:"profile,omitempty"`  // of the host
	Count   int    `yaml:"count,omitempty"`    // hosts; at least 1
	PerHost int    `yaml:"per-host,omitempty"` // instances on each host; at least 1; at most 16,384 on all
	Zone    string `yaml:"zone,omitempty"`     // any name; hosts without one are in a zone too
	// CountLow and CountHigh are the ends of the range of a Count that is a guess; 0: it is none.
	CountLow  int `yaml:"count-low,omitempty"`
	CountHigh int `yaml:"count-high,omitempty"`
	guessed   int // the Count of the preset, whose range it is; 0: none
}

// CountRange returns the range of the number of hosts. The range of a preset's guess does not apply to
// another number.
func (h Hosts) CountRange() (low, high int) {
	if h.CountLow == 0 || h.changed() {
		return h.Count, h.Count
	}
	return h.CountLow, h.CountHigh
}

// changed reports whether Count is another than the preset's, whose range does not apply to it.
func (h Hosts) changed() bool { return h.guessed != 0 && h.guessed != h.Count }

// SetAccelerator gives the cluster another accelerator with its own wires.
func (c *Cluster) SetAccelerator(name string) {
	if name != c.Accelerator {
		c.Accelerator, c.Inside, c.HostLink, c.Mixed = name, "", "", nil
	}
}

// SetNetworkRate gives each network card of every host a rate, in place of those that the preset's Set gives
// to single hosts.
func (c *Cluster) SetNetworkRate(rate unit.BytesPerSec) {
	c.NetworkRate, c.Set = rate, maps.Clone(c.Set)
	maps.DeleteFunc(c.Set, func(name, _ string) bool { return strings.HasSuffix(name, ".network") })
}

//go:embed clusters
var clusters embed.FS

// Clusters returns the folder of the built-in profiles of clusters, one file NAME.yaml each.
func Clusters() fs.FS {
	folder, err := fs.Sub(clusters, "clusters")
	if err != nil {
		panic(err) // the folder is compiled in
	}
	return folder
}

// IsProfileFile reports whether the name of a profile is the path of a user's file: it has a slash or ends in
// .yaml. Other names are of built-in profiles.
func IsProfileFile(name string) bool {
	return strings.Contains(name, "/") || strings.HasSuffix(name, ".yaml")
}

// LoadCluster returns the cluster of a profile: a built-in one or, if the name has a slash or ends in .yaml,
// a user's file. A file may name another as its preset and say only what differs. It may also be a job file,
// whose section cluster is taken, with or without data.
func LoadCluster(name string) (Cluster, error) {
	c, err := loadCluster(name, nil)
	if err != nil && !IsProfileFile(name) {
		err = fmt.Errorf("preset: %w", err)
	}
	return c, err
}

// loadCluster is LoadCluster of a preset of the files that have led to it.
func loadCluster(name string, from []string) (c Cluster, err error) {
	if slices.Contains(from, name) {
		return c, fmt.Errorf("%s is its own preset; name a built-in one", name)
	}
	if !IsProfileFile(name) {
		file := "clusters/" + name + ".yaml"
		text, err := clusters.ReadFile(file)
		if err != nil {
			return c, fmt.Errorf("no cluster is called %s", suggestCluster(name))
		}
		return decodeProfile(text, file, name)
	}
	text, err := readUpTo(name, DocumentBytesMax)
	if err != nil {
		return c, err
	}
	var file struct {
		clusterKeys `yaml:",inline"`
		Cluster     *clusterKeys
	}
	_ = yaml.Unmarshal(text, &file) // Decode finds the faults
	from = append(from, name)
	switch {
	case file.Cluster != nil:
		j := Default()
		if j.Cluster, err = file.Cluster.base(name, "cluster.", from); err == nil {
			err = Decode(text, name, &j)
		}
		c = j.Cluster
	case file.Preset != "":
		if c, err = file.base(name, "", from); err == nil {
			err = Decode(text, name, &c)
		}
	default:
		return decodeProfile(text, name, name)
	}
	if err != nil {
		return c, err
	}
	c.Preset = name
	return c, inFile(c.Validate(), name)
}

// decodeProfile returns the cluster of a text that leaves nothing out.
func decodeProfile(text []byte, file, name string) (c Cluster, err error) {
	if err := Decode(text, file, &c); err != nil {
		return c, err
	}
	c.Preset = name
	for _, h := range []*Hosts{&c.EmbeddingWorkers, &c.EmbeddingPSs, &c.Loaders} {
		h.guessed = h.Count
	}
	return c, inFile(c.Validate(), file)
}

// inFile puts the name of a file before an error.
func inFile(err error, file string) error {
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// suggestCluster quotes an unknown name and adds the nearest known one, or else all.
func suggestCluster(name string) string {
	files, err := fs.Glob(Clusters(), "*.yaml")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	for i, file := range files {
		files[i] = strings.TrimSuffix(file, ".yaml")
	}
	if nearest := Nearest(name, files); nearest != "" {
		return fmt.Sprintf("%q; the nearest is %q", name, nearest)
	}
	return fmt.Sprintf("%q; known are %s", name, strings.Join(files, ", "))
}

// mustLoad returns a built-in cluster.
func mustLoad(name string) Cluster {
	c, err := LoadCluster(name)
	if err != nil {
		panic(err) // it is compiled in
	}
	return c
}

// PersiaCluster returns the main cluster of Persia's evaluation, the preset persia-paper.
func PersiaCluster() Cluster { return mustLoad("persia-paper") }

// GoogleCloudCluster returns the cluster on which Persia trained 100 trillion parameters, the preset
// persia-gcp.
func GoogleCloudCluster() Cluster { return mustLoad("persia-gcp") }

// clusterKeys are the settings of a cluster's text that decide what the rest is a difference from.
type clusterKeys struct {
	Preset           string
	Accelerator      string
	EmbeddingWorkers hostsKeys `yaml:"embedding-workers"`
	EmbeddingPSs     hostsKeys `yaml:"embedding-ps"`
	Loaders          hostsKeys
	NetworkRate      any `yaml:"network-rate"`
}

type hostsKeys struct {
	CountLow *int `yaml:"count-low"`
}

// base returns the cluster that a text in a file changes: that of its preset, or persia-paper, without the
// preset's wires if the text has another accelerator. Section is what errors have before a key. Files that
// have led to it are in from.
func (k *clusterKeys) base(path, section string, from []string) (Cluster, error) {
	name := k.Preset
	if name == "" {
		name = "persia-paper"
	} else if strings.HasSuffix(name, ".yaml") {
		name = beside(path, name)
		if !strings.Contains(name, "/") {
			name = "./" + name
		}
	}
	c, err := loadCluster(name, from)
	if err != nil {
		return c, fmt.Errorf("%s: %spreset: %w", path, section, err)
	}
	if k.Accelerator != "" {
		c.SetAccelerator(k.Accelerator)
	}
	if k.NetworkRate != nil {
		c.SetNetworkRate(c.NetworkRate) // the file's replaces it
	}
	for _, x := range []struct {
		own  *int
		from *Hosts
	}{
		{k.EmbeddingWorkers.CountLow, &c.EmbeddingWorkers}, {k.EmbeddingPSs.CountLow, &c.EmbeddingPSs},
		{k.Loaders.CountLow, &c.Loaders},
	} {
		if x.own != nil {
			x.from.guessed = 0
		}
	}
	return c, nil
}

// decodeCluster prepares the section of a job file for what the file says.
func (j *Job) decodeCluster(text []byte, path string) (err error) {
	var file struct{ Cluster clusterKeys }
	_ = yaml.Unmarshal(text, &file) // Decode finds the faults
	j.Cluster, err = file.Cluster.base(path, "cluster.", nil)
	return err
}

// Validate reports the first setting that is out of range, by its path in the section, of a cluster that
// leaves nothing out. It does not look for profiles. A cluster without any host for a role is valid: it
// cannot run systems of that role.
func (c *Cluster) Validate() error {
	if n := c.AcceleratorsPerServer; n < 1 || n > RolesMax {
		return fmt.Errorf("accelerators-per-server = %d; want 1 to %d", n, RolesMax)
	}
	if c.GPUs < 0 || c.GPUs > GPUsMax {
		return fmt.Errorf("gpus = %d; want 1 to %d", c.GPUs, GPUsMax)
	}
	for i, m := range c.Mixed {
		if m.Accelerator == "" || m.Servers < 1 || m.Servers > GPUsMax {
			return fmt.Errorf("mixed[%d] = %d servers of %q; want an accelerator and at least 1", i,
				m.Servers,
				m.Accelerator)
		}
	}
	if c.Precision != "" && !slices.Contains(Precisions(), c.Precision) {
		return fmt.Errorf("precision = %q; want fp32, tf32 or half", c.Precision)
	}
	if !(c.NetworkRate >= 0) || c.NetworkRate > RateMax {
		return fmt.Errorf("network-rate = %v; want a positive rate of at most %v, or 0 for the rates of the "+
			"profiles", c.NetworkRate, RateMax)
	}
	if err := c.Topology.validate(); err != nil {
		return fmt.Errorf("topology.%w", err)
	}
	zones := []string{c.EmbeddingWorkers.Zone, c.EmbeddingPSs.Zone, c.Loaders.Zone}
	if other := func(z string) bool { return z != c.ServerZone }; c.Topology.ZoneRate == 0 &&
		slices.ContainsFunc(zones, other) {
		return fmt.Errorf("topology.zone-rate = 0, with servers in zone %q, EWs in %q, PSs in %q, loaders "+
			"in %q;"+
			" want the rate between zones, or one zone", c.ServerZone, zones[0], zones[1], zones[2])
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
	if c.Loaders.PerHost > 1 {
		return fmt.Errorf("loaders.per-host = %d; want 1: the data loader uses whole hosts",
			c.Loaders.PerHost)
	}
	return nil
}

// GPUsMax is the largest number of accelerators of a cluster. A prediction of 256 points of larger ones takes
// minutes.
const GPUsMax = 1 << 16

// RateMax is the largest rate of a network card, or between two zones.
const RateMax unit.BytesPerSec = 1e15

func (t *Topology) validate() error {
	switch {
	case t.Kind != "" && !slices.Contains(Topologies(), t.Kind):
		return fmt.Errorf("kind = %q; want flat, racks, fat-tree or rails", t.Kind)
	case t.HostsPerRack < 0 || t.HostsPerRack > GPUsMax:
		return fmt.Errorf("hosts-per-rack = %d; want 1 to %d", t.HostsPerRack, GPUsMax)
	case t.HostsPerRack == 0 && (t.Kind == TopologyRacks || t.Kind == TopologyFatTree):
		return fmt.Errorf("hosts-per-rack = 0; want at least 1 in %s", t.Kind)
	case t.Oversubscription != 0 && !(t.Oversubscription >= 1 && t.Oversubscription <= 1000):
		return fmt.Errorf("oversubscription = %v; want 1 to 1000", t.Oversubscription)
	case !(t.ZoneRate >= 0) || t.ZoneRate > RateMax:
		return fmt.Errorf("zone-rate = %v; want more than 0 and at most %v", t.ZoneRate, RateMax)
	case t.ZoneLatency < 0 || t.ZoneLatency > unit.Second:
		return fmt.Errorf("zone-latency = %v; want 0 to %v", t.ZoneLatency, unit.Second)
	}
	return nil
}

func (h Hosts) validate(path string) error {
	if h == (Hosts{}) {
		return nil
	}
	switch {
	case h.Count < 1 || h.Count > RolesMax:
		return fmt.Errorf("%s.count = %d; want 1 to %d", path, h.Count, RolesMax)
	case h.PerHost < 1 || h.PerHost > RolesMax/h.Count:
		return fmt.Errorf("%s.per-host = %d; want 1 to %d on %d hosts",
			path, h.PerHost, RolesMax/h.Count, h.Count)
	case (h.CountLow != 0 || h.CountHigh != 0) && !h.changed() &&
		!(1 <= h.CountLow && h.CountLow <= h.Count &&
			h.Count <= h.CountHigh && h.CountHigh <= RolesMax):
		return fmt.Errorf("%s.count-low, count, count-high = %d, %d, %d; want 1 ≤ low ≤ count ≤ high ≤ %d",
			path, h.CountLow, h.Count, h.CountHigh, RolesMax)
	}
	return nil
}
