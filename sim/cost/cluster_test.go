package cost

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/table"
	"tandem/algo/quantity"
	"tandem/algo/unit"
	"tandem/sim/device"
	"tandem/sim/param"
	"tandem/sim/topo"
)

// The memory of a rank holds parameters, gradients, optimizer state and activations. With dense PSs the state
// is there; with replicas that are averaged there are two more copies. PSs share the rows.
func TestMemoryOfTheDenseNetwork(t *testing.T) {
	for mode, want := range map[string]func(params, state int) int{
		job.Hybrid:       func(params, state int) int { return 2*params + state },
		job.AsyncPS:      func(params, state int) int { return 2 * params },
		job.AsyncAverage: func(params, state int) int { return 4*params + state },
	} {
		r, j, layout, w := priced(t)
		j.Training.Mode = mode
		j.Training.GlobalBatch = 300
		state := j.Model.Optimizer.StateSize(layout.Params)
		m := MemoryUse(r, j, layout, w)
		if got := unit.Bytes(4*want(layout.Params, state)) + 100*5000; m.GPU != got ||
			m.GPUHas != r.Devices[0].Memory {
			t.Errorf("%s: a rank takes %d of %d bytes, want %d", mode, m.GPU, m.GPUHas, got)
		}
		row := unit.Bytes(64 + 32 + table.Overhead)
		if m.Row != row || m.PS != unit.Bytes(1e7*float64(row)/float64(r.PSHostCount)) ||
			m.PSHas != r.PSHost.Memory {
			t.Errorf("%s: %+v", mode, m)
		}
		if got, want := m.WithOverhead(100), float64(m.PS)*(64+32+100)/float64(row); got != unit.Bytes(want) {
			t.Errorf("%s: with 100 bytes beside a row %v, want %.0f", mode, got, want)
		}
	}
}

// What fits exactly is accepted, and one byte less is refused by what does not fit.
func TestWhatFitsMemory(t *testing.T) {
	r, j, layout, w := priced(t)
	j.Training.Mode, j.Roles.DensePSs = job.AsyncPS, 2
	m := MemoryUse(r, j, layout, w)
	shard := j.DenseShards(layout)[1]
	params := shard.Hi - shard.Lo
	for _, x := range []struct {
		what   string
		least  unit.Bytes
		memory *unit.Bytes
	}{
		{"add PS hosts", 1e7 * (64 + 32 + table.Overhead) / unit.Bytes(r.PSHostCount), &r.PSHost.Memory},
		{"use smaller batches", m.GPU, &r.Devices[0].Memory},
		{"add dense PSs", unit.Bytes(4 * (params + j.Model.Optimizer.StateSize(params))), &r.PSHost.Memory},
	} {
		if x.what == "add dense PSs" {
			w.Rows = 1
		}
		before := *x.memory
		for memory, fits := range map[unit.Bytes]bool{x.least: true, x.least - 1: false} {
			*x.memory = memory
			err := CheckMemory(r, j, layout, w)
			if fits != (err == nil) || !fits && (!errors.Is(err, ErrMemory) ||
				!strings.Contains(err.Error(), x.what)) {
				t.Errorf("%s, %d bytes of %d: error %v", x.what, memory, x.least, err)
			}
		}
		*x.memory = before
	}
	unknown := ThisMachine(MeasuredMachine{Cores: 1, CopySpeed: 1, RowTime: 1}).Resolve()
	if err := CheckMemory(unknown, j, layout, w); err != nil {
		t.Errorf("on a machine of unknown memory: %v", err)
	}
}

// loaded returns Persia's cluster after a change to its section.
func loaded(change func(c *job.Cluster)) (*Hardware, []string, error) {
	c := job.PersiaCluster()
	change(&c)
	return Load(&c, "")
}

// A parameter that is set has its value; one that cannot be set is named.
func TestParametersThatAreSet(t *testing.T) {
	h, notes, err := loaded(func(c *job.Cluster) {
		c.Set = map[string]string{"server.network": "7GB/s", "accelerator.dollars-per-hour": "3",
			"embedding-ps.dollars-per-hour": "4", "server.dollars-per-hour": "5",
			"loaders.dollars-per-hour":           "6",
			"embedding-workers.dollars-per-hour": "7"}
		c.NetworkRate = 2e9
	})
	if err != nil || len(notes) != 0 {
		t.Fatal(err, notes)
	}
	if h.Server.Network.Mid != 7e9 {
		t.Errorf("the network of servers has %v, want what is set by name", h.Server.Network.Mid)
	}
	for _, host := range []*device.HostProfile{&h.EmbeddingWorkers.Host, &h.EmbeddingPSs.Host,
		&h.Loaders.Host} {
		if want := 2e9 * unit.BytesPerSec(max(1, host.NetworkCards.Mid)); host.Network.Mid != want {
			t.Errorf("%s has a network of %v, want %v", host.Name, host.Network.Mid, want)
		}
	}
	for i, price := range []quantity.Value[unit.Dollars]{h.Accelerator.DollarsPerHour,
		h.EmbeddingPSs.Host.DollarsPerHour, h.Server.DollarsPerHour, h.Loaders.Host.DollarsPerHour,
		h.EmbeddingWorkers.Host.DollarsPerHour} {
		if price.Mid != unit.Dollars(3+i) {
			t.Errorf("price %d is %v", i, price.Mid)
		}
	}
	if err := h.Uncalibrate(); err != nil || h.Server.Network.Mid != 7e9 {
		t.Errorf("without calibration: %v, %v", h.Server.Network.Mid, err)
	}
	for name, value := range map[string]string{"network.bandwidth": "1e9", "no.such": "1",
		"inside.share":   "1.5",
		"server.network": "fast"} {
		_, _, err := loaded(func(c *job.Cluster) { c.Set = map[string]string{name: value} })
		var set *SetError
		if !errors.As(err, &set) || set.Name != name {
			t.Errorf("%s: %v: error %v", name, value, err)
		}
	}
}

// A job has the peak of its precision as a parameter, and no other; what only hot rows and rows on GPUs need
// is apart.
func TestParametersOfAPrecision(t *testing.T) {
	for precision, peak := range map[string]string{"": "peak-fp32", job.PrecisionFP32: "peak-fp32",
		job.PrecisionTF32: "peak-tf32", job.PrecisionHalf: "peak-half"} {
		c := job.PersiaCluster()
		c.SetAccelerator("H100-SXM5")
		c.System = "tandem"
		h, notes, err := Load(&c, precision)
		if err != nil || len(notes) != 1 || !strings.Contains(notes[0], "H100-SXM5 brings its own wires") {
			t.Fatal(notes, err)
		}
		names := func(v param.Vector) (names []string) {
			for _, e := range v {
				names = append(names, e.Name)
			}
			return names
		}
		all := names(h.Parameters())
		for _, name := range []string{"peak-fp32", "peak-tf32", "peak-half"} {
			if slices.Contains(all, "accelerator."+name) != (name == peak) {
				t.Errorf("precision %q: %s among the parameters", precision, name)
			}
		}
		if slices.Contains(all, hotIDTime) || slices.Contains(all, signTime) {
			t.Errorf("%q: %v", precision, all)
		}
		want := []string{signTime}
		if peak != "peak-fp32" {
			want = []string{"accelerator.peak-fp32", signTime}
		}
		if got := names(h.GPURowParameters()); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", precision, got, want)
		}
		if got := names(h.HotParameters()); !slices.Equal(got, []string{hotIDTime}) {
			t.Errorf("%q: %v", precision, got)
		}
	}
	c := job.PersiaCluster()
	c.Precision = job.PrecisionHalf
	if h, _, err := Load(&c, job.PrecisionFP32); err != nil || h.Precision != device.Half {
		t.Errorf("the precision of the cluster: %v, %v", h, err)
	}
	if _, _, err := Load(&c, ""); err != nil {
		t.Error(err)
	}
	c.Precision = "fp9"
	if _, _, err := Load(&c, ""); err == nil {
		t.Error("precision fp9 is accepted")
	}
}

// A point of the box changes the hardware that it returns, and no other.
func TestPointsChangeACopy(t *testing.T) {
	h := h100s(t)
	before := *h.Clone()
	worst, best := h.At(h.Parameters().Everywhere(-1)), h.At(h.Parameters().Everywhere(1))
	if l, m, u := worst.System.Messages.Time, h.System.Messages.Time,
		best.System.Messages.Time; !(l.Mid > m.Mid &&
		m.Mid > u.Mid) {
		t.Errorf("messages take %v, %v and %v", l.Mid, m.Mid, u.Mid)
	}
	if !reflect.DeepEqual(before, *h) {
		t.Error("a point has changed the hardware")
	}
}

// A dense PS has a host of its own, which predictions name, but on a machine that all share.
func TestAssumptionsNameHostsOfDensePSs(t *testing.T) {
	for dense, hosts := range map[int]bool{0: false, 1: true, 3: true} {
		for _, h := range []*Hardware{h100s(t), ThisMachine(MeasuredMachine{Cores: 1, CopySpeed: 1,
			RowTime: 1})} {
			found := slices.ContainsFunc(h.Assumptions(dense), func(a Assumption) bool {
				return a.Name == "dense-ps.count" && strings.HasPrefix(a.Mid, string(rune('0'+dense)))
			})
			if want := hosts && !h.Colocated(); found != want {
				t.Errorf("%d dense PSs, one machine: %v: named: %v", dense, h.Colocated(), found)
			}
		}
	}
}

// Each pair of zones has a link, racks their uplinks, and cards the rate of their host by number.
func TestNetworksOfClusters(t *testing.T) {
	h := h100s(t)
	r := h.Resolve()
	top := &r.Cluster.Topology
	top.ZoneRate, top.ZoneLatency = 5e9, 1000
	zones := []topo.Group{{Zone: "a"}, {Zone: "b"}, {Zone: "a"}, {Zone: "c"}, {Zone: "c"}}
	link := func(a, b string) topo.ZoneLink {
		return topo.ZoneLink{Between: [2]string{a, b}, Rate: 5e9, Latency: 1000}
	}
	want := []topo.ZoneLink{link("a", "b"), link("a", "c"), link("b", "c")}
	if n := r.Network(zones); n.Kind != job.TopologyFlat || !slices.Equal(n.Zones, want) ||
		n.NodesPerRack != 0 {
		t.Errorf("%+v", n)
	}
	for kind, racks := range map[string]bool{job.TopologyFlat: false, "": false, job.TopologyRacks: true,
		job.TopologyFatTree: true, job.TopologyRails: false} {
		top.Kind, top.HostsPerRack, top.Oversubscription = kind, 7, 0
		n := r.Network(zones)
		if r.Racks() != racks || racks && (n.NodesPerRack != 7 || n.Oversubscription != 1) {
			t.Errorf("%s: %+v, racks %v", kind, n, r.Racks())
		}
		if (n.Spines == 1) != (kind == job.TopologyFatTree) ||
			(n.BetweenRails != "") != (kind == job.TopologyRails) {
			t.Errorf("%s: %+v", kind, n)
		}
		if top.Oversubscription = 3; racks && r.Network(zones).Oversubscription != 3 {
			t.Errorf("%s: uplinks of %v", kind, r.Network(zones).Oversubscription)
		}
	}
	r.NetworkShare = 0.5
	g := r.Hosts("ps", "z", &device.Host{Network: 8e9, NetworkCards: 4, FrontNetwork: 3e9,
		FrontNetworkCards: 1}, 9)
	if g.Cards != (topo.Cards{Count: 4, Rate: 1e9}) || g.Front != (topo.Cards{Count: 1, Rate: 1.5e9}) ||
		g.Nodes != 9 || g.Accelerators != 0 {
		t.Errorf("%+v", g)
	}
	if g := r.Hosts("ps", "z", &device.Host{Network: 8e9}, 1); g.Cards != (topo.Cards{Count: 1, Rate: 4e9}) ||
		g.Front != (topo.Cards{}) {
		t.Errorf("without a number of cards: %+v", g)
	}
}
