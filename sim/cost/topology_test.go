package cost

import (
	"fmt"
	"testing"

	"tandem/algo/job"
	"tandem/sim/topo"
)

// Mixed servers hold the last accelerators, and the last server need not be full.
func TestServersHoldAllAccelerators(t *testing.T) {
	for _, x := range []struct {
		accelerators int
		mixed        []int // servers
		want         string
		devices      string
	}{
		{24, nil, "[24]", "[0]"},
		{20, nil, "[20]", "[0]"},
		{32, []int{1}, "[24 8]", "[0 1]"},
		{28, []int{2, 1}, "[8 16 4]", "[0 1 2]"},
		{16, []int{2}, "[16]", "[1]"},
		{8, []int{1, 4}, "[8]", "[1]"},
	} {
		c := job.GoogleCloudCluster()
		for _, n := range x.mixed {
			c.Mixed = append(c.Mixed, job.MixedServers{Accelerator: "V100-SXM2-32GB", Servers: n})
		}
		h, _, err := Load(&c, "")
		if err != nil {
			t.Fatal(err)
		}
		r := h.Resolve()
		groups, devices := r.Servers("server", x.accelerators)
		var got []int
		for _, g := range groups {
			got = append(got, g.Accelerators)
		}
		if fmt.Sprint(got) != x.want || fmt.Sprint(devices) != x.devices {
			t.Errorf("%d accelerators, mixed %v: groups of %v with devices %v, want %s with %s",
				x.accelerators, x.mixed, got, devices, x.want, x.devices)
		}
		graph, err := topo.New(topo.Spec{Groups: groups, Network: r.Network(groups)})
		if err != nil || graph.Accelerators() != x.accelerators {
			t.Errorf("%d accelerators, mixed %v: %v, error %v", x.accelerators, x.mixed, graph, err)
		}
	}
}
