package cluster

import (
	"slices"

	"tandem/algo/unit"
)

// Resource is a kind of resource with the share of the measured time in which the busiest of its kind was at
// work.
type Resource struct {
	Name  string  `json:"name"`
	Share float64 `json:"share"` // in [0, 1]
}

// busyTimes is the work that resources have done up to an instant, in seconds of the whole resource.
type busyTimes struct {
	at      unit.Tick
	seconds []float64 // in the order of eachResource
}

// Names of the resources that belong to no host.
const (
	kernelsResource   = "accelerator"
	copiesResource    = "host-accelerator copies"
	allReduceResource = "all-reduce channel"
)

// eachResource calls f for every resource with what it has done.
func (w *simulation) eachResource(now unit.Tick, f func(name string, seconds float64)) {
	for i := range w.accelerators {
		r := &w.accelerators[i]
		f(kernelsResource, r.kernels.Busy(now).Seconds())
		f(copiesResource, r.copyIn.Busy(now).Seconds())
		f(copiesResource, r.copyOut.Busy(now).Seconds())
	}
	reduced := w.reduced
	if w.reductions.Len() > 0 {
		reduced += now - w.reducingSince
	}
	f(allReduceResource, reduced.Seconds())
	for i := range w.hosts {
		h := &w.hosts[i]
		name := h.class.String()
		if len(w.hosts) == 1 {
			name = "machine"
		}
		f(name+" cores", h.cores.Busy(now).Seconds()/float64(h.model.Cores))
		f(name+" memory", h.bus.Busy(now).Seconds())
		if len(w.links) > 0 {
			f(name+" uplink", w.net.Carried(now, h.up)/float64(w.links[h.up].Capacity))
			f(name+" downlink", w.net.Carried(now, h.down)/float64(w.links[h.down].Capacity))
		}
	}
}

// busyTimes returns the work that all resources have done up to now.
func (w *simulation) busyTimes() busyTimes {
	u := busyTimes{at: w.clock.Now()}
	w.eachResource(u.at, func(_ string, seconds float64) { u.seconds = append(u.seconds, seconds) })
	return u
}

// resources returns the kinds of resources by their largest share of busy time between two instants, the
// busiest first; kinds with equal shares in the order of eachResource.
func (w *simulation) resources(from, to busyTimes) []Resource {
	var list []Resource
	i := 0
	w.eachResource(w.clock.Now(), func(name string, _ float64) {
		share := (to.seconds[i] - from.seconds[i]) / (to.at - from.at).Seconds()
		i++
		k := slices.IndexFunc(list, func(r Resource) bool { return r.Name == name })
		if k < 0 {
			list = append(list, Resource{Name: name})
			k = len(list) - 1
		}
		list[k].Share = max(list[k].Share, share)
	})
	slices.SortStableFunc(list, func(a, b Resource) int {
		switch {
		case a.Share > b.Share:
			return -1
		case a.Share < b.Share:
			return 1
		}
		return 0
	})
	return list
}
