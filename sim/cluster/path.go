package cluster

import (
	"cmp"
	"slices"

	"tandem/algo/unit"
)

// Bottleneck is a resource with its share of the critical path: the chain of services, transfers and
// latencies, each of which began when the one before ended, that ends with the last measured step. The shares
// of all resources sum to 1. A resource that is twice as fast shortens a run by half of its share, as long as
// no other path becomes the longest.
//
// The service of a piece of work that waited for a service thread counts for the threads and for what serves
// it, because more of either shortens the wait. Where there are such pieces, the shares understate gains.
type Bottleneck struct {
	Resource string  `json:"resource"`
	Share    float64 `json:"share"`
}

// path is the time on the critical path of an event by resource. The sum is the time from the start of the
// measurement to the event, and the time for which threads count in addition.
//
// Events are related by cause: a piece of work or a message is caused by the input that made a role issue it,
// or by the end of the piece that left its service thread to it.
type path [resourceCount]unit.Tick

// trace is the critical path of a task up to the end of its last stage.
type trace struct {
	path
	until unit.Tick
	on    resource // that waitUntil noted for the present stage
	// also is another resource with its part of the present stage.
	also resource
	part float64
	// threads are the service threads for which the task waited, or noResource.
	threads resource
}

// spend adds the time of a stage that ends now.
func (t *trace) spend(now unit.Tick, on resource) {
	takes := now - t.until
	t.until = now
	if t.threads != noResource {
		t.path[t.threads] += takes
	}
	if t.part > 0 {
		other := takes.Scale(t.part)
		t.path[t.also] += other
		takes -= other
		t.part = 0
	}
	t.path[on] += takes
}

// alsoOn notes that a part of the present stage is on another resource.
func (t *trace) alsoOn(also resource, part float64) { t.also, t.part = also, part }

// beginTrace begins the path of a task that the present cause starts.
func (w *simulation) beginTrace(i int32) {
	t := &w.traces[i]
	t.path, t.until, t.part, t.threads = w.cause, w.clock.Now(), 0, noResource
}

// causeUnknown sets the cause of what happens now to the time that passed.
func (w *simulation) causeUnknown() {
	w.cause = path{}
	w.cause[passing] = w.clock.Now() - w.tracedSince
}

// restartTraces begins all paths now.
func (w *simulation) restartTraces() {
	w.tracedSince, w.cause = w.clock.Now(), path{}
	for i := range w.traces {
		w.traces[i].path, w.traces[i].until = path{}, w.tracedSince
	}
}

// bottlenecks returns the resources on a path, the largest share first.
func (p *path) bottlenecks() []Bottleneck {
	sum := unit.Tick(0)
	for _, takes := range p {
		sum += takes
	}
	var list []Bottleneck
	for r, takes := range p {
		if takes > 0 {
			list = append(list, Bottleneck{resource(r).String(), float64(takes) / float64(sum)})
		}
	}
	slices.SortStableFunc(list, func(a, b Bottleneck) int { return cmp.Compare(b.Share, a.Share) })
	return list
}
