package cost

import (
	"tandem/algo/quantity"
	"tandem/algo/unit"
	"tandem/sim/system"
)

// DollarsPerHour returns the price of the cluster with a number of accelerators and of dense PSs, at the
// middle of every range: accelerators, whole servers and, if the system has roles, the hosts of embedding
// workers, embedding PSs, dense PSs (one each) and loaders. If one of these has no price, missing names the
// first and the price is 0.
func (h *Hardware) DollarsPerHour(accelerators, densePSs int) (price unit.Dollars, missing string) {
	if h.Colocated() {
		return 0, "this machine"
	}
	add := func(name string, count int, each quantity.Value[unit.Dollars]) {
		switch {
		case count == 0:
		case !each.Given():
			if missing == "" {
				missing = name
			}
		default:
			price += unit.Dollars(count) * each.Mid
		}
	}
	per := h.Cluster.AcceleratorsPerServer
	servers, others := (accelerators+per-1)/per, 0
	for _, m := range h.Mixed {
		mixed := min(m.Servers*per, accelerators-others)
		add(m.Accelerator.Name, mixed, m.Accelerator.DollarsPerHour)
		others += mixed
	}
	add(h.Accelerator.Name, accelerators-others, h.Accelerator.DollarsPerHour)
	add(h.Server.Name, servers, h.Server.DollarsPerHour)
	if h.System.Architecture != system.StepGraph {
		ew, ps, loader := &h.EmbeddingWorkers, &h.EmbeddingPSs, &h.Loaders
		add(ew.Host.Name, ew.Count.Mid, ew.Host.DollarsPerHour)
		add(ps.Host.Name, ps.Count.Mid+densePSs, ps.Host.DollarsPerHour)
		add(loader.Host.Name, loader.Count.Mid, loader.Host.DollarsPerHour)
	}
	if missing != "" {
		return 0, missing
	}
	return price, ""
}
