package cost

import (
	"fmt"
	"strings"

	"tandem/algo/quantity"
	"tandem/algo/unit"
	"tandem/sim/system"
)

// DollarsPerHour returns the price of the cluster with a number of accelerators and of dense PSs, at the
// middle of every range: accelerators, whole servers and, if the system has roles, the hosts of embedding
// workers, embedding PSs, dense PSs (one each) and loaders. If some of these have no price, missing names the
// parts and their devices, and the price is 0.
func (h *Hardware) DollarsPerHour(accelerators, densePSs int) (price unit.Dollars, missing string) {
	if h.Colocated() {
		return 0, "this machine"
	}
	var unpriced []string
	add := func(part, device string, count int, each quantity.Value[unit.Dollars]) {
		switch {
		case count == 0:
		case !each.Given():
			unpriced = append(unpriced, fmt.Sprintf("%s (%s)", part, device))
		default:
			price += unit.Dollars(count) * each.Mid
		}
	}
	per := h.Cluster.AcceleratorsPerServer
	servers, others := (accelerators+per-1)/per, 0
	for i, m := range h.Mixed {
		mixed := min(m.Servers*per, accelerators-others)
		add(mixedPart(i), m.Accelerator.Name, mixed, m.Accelerator.DollarsPerHour)
		others += mixed
	}
	add("accelerator", h.Accelerator.Name, accelerators-others, h.Accelerator.DollarsPerHour)
	add("server", h.Server.Name, servers, h.Server.DollarsPerHour)
	if h.System.Architecture != system.StepGraph {
		ew, ps, loader := &h.EmbeddingWorkers, &h.EmbeddingPSs, &h.Loaders
		add("embedding-workers", ew.Host.Name, ew.Count.Mid, ew.Host.DollarsPerHour)
		add("embedding-ps", ps.Host.Name, ps.Count.Mid+densePSs, ps.Host.DollarsPerHour)
		add("loaders", loader.Host.Name, loader.Count.Mid, loader.Host.DollarsPerHour)
	}
	if len(unpriced) > 0 {
		return 0, strings.Join(unpriced, ", ")
	}
	return price, ""
}

// PayShare multiplies the prices of accelerators and their servers, as of spot instances.
func (h *Hardware) PayShare(share float64) {
	prices := []*quantity.Value[unit.Dollars]{&h.Accelerator.DollarsPerHour, &h.Server.DollarsPerHour}
	for i := range h.Mixed {
		prices = append(prices, &h.Mixed[i].Accelerator.DollarsPerHour)
	}
	for _, price := range prices {
		for _, x := range []*unit.Dollars{&price.Low, &price.Mid, &price.High} {
			*x *= unit.Dollars(share)
		}
	}
}

// PriceSetting is the name behind that of a part, as in server.dollars-per-hour, of its price.
const PriceSetting = ".dollars-per-hour"

// mixedPart names the accelerators of the servers at a place of Mixed, as their parameters do.
func mixedPart(i int) string { return fmt.Sprintf("mixed.%d.accelerator", i) }

// addPrices makes prices that a user sets parameters, where a profile has none. Set then gives them their
// values.
func (h *Hardware) addPrices(values map[string]string) {
	add := func(part, device string, price *quantity.Value[unit.Dollars]) {
		if _, given := values[part+PriceSetting]; given && device != "" && !price.Given() {
			*price = quantity.Value[unit.Dollars]{Mid: 1, Kind: quantity.Default}
		}
	}
	add("accelerator", h.Accelerator.Name, &h.Accelerator.DollarsPerHour)
	for i := range h.Mixed {
		a := &h.Mixed[i].Accelerator
		add(mixedPart(i), a.Name, &a.DollarsPerHour)
	}
	add("server", h.Server.Name, &h.Server.DollarsPerHour)
	groups := map[string]*HostGroup{"embedding-workers": &h.EmbeddingWorkers,
		"embedding-ps": &h.EmbeddingPSs, "loaders": &h.Loaders}
	for part, group := range groups { // order-free: each has its own price
		add(part, group.Host.Name, &group.Host.DollarsPerHour)
	}
}
