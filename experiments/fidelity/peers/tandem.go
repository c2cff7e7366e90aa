package peers

import (
	"runtime"
	"time"

	"tandem/algo/unit"
	"tandem/sim/des"
	"tandem/sim/fabric"
)

// tandemRun simulates a network with sim/des and sim/fabric.
type tandemRun struct {
	queue    des.Queue
	fabric   *fabric.Fabric
	flows    []fabric.Flow
	finishes []unit.Tick // by flow
	inFlight int         // the most flows at one instant
	next     des.ID      // the event of the next finish
	nextAt   unit.Tick
	done     []fabric.Completion // scratch
}

// The kinds of events.
const (
	flowStarts int32 = iota
	flowFinishes
)

// runTandem simulates a network and returns the run, with the wall time of the simulation.
func runTandem(w *network) (*tandemRun, time.Duration) {
	links := make([]fabric.Link, len(w.Capacities))
	for i, c := range w.Capacities {
		links[i].Capacity = unit.BytesPerSec(c)
	}
	r := &tandemRun{fabric: fabric.New(links), finishes: make([]unit.Tick, len(w.Flows))}
	for i, f := range w.Flows {
		path := make([]fabric.Hop, len(f.Links))
		for k, l := range f.Links {
			path[k] = fabric.Hop{Link: fabric.LinkID(l), Multiplicity: 1}
		}
		r.flows = append(r.flows, fabric.Flow{
			Path: path, Bytes: unit.Bytes(f.Bytes), Limit: unit.BytesPerSec(f.Limit), Tag: int64(i),
		})
		r.queue.Schedule(des.Event{At: f.Start, Kind: flowStarts, A: int64(i)})
	}
	runtime.GC()
	begin := time.Now()
	r.queue.Run(unit.Forever, r)
	return r, time.Since(begin)
}

// Handle implements des.Handler.
func (r *tandemRun) Handle(e des.Event) {
	if e.Kind == flowStarts {
		r.fabric.Start(e.At, r.flows[e.A])
		return
	}
	r.done = r.fabric.Finished(e.At, r.done[:0])
	for _, c := range r.done {
		r.finishes[c.Tag] = e.At
	}
}

// Settle implements des.Handler: it computes the rates and schedules the next finish.
func (r *tandemRun) Settle(now unit.Tick) {
	r.fabric.Settle(now)
	r.inFlight = max(r.inFlight, r.fabric.Flows())
	at, ok := r.fabric.NextFinish()
	if ok && at == r.nextAt && at > now {
		return
	}
	r.queue.Cancel(r.next)
	r.nextAt = at
	if ok {
		r.next = r.queue.Schedule(des.Event{At: at, Kind: flowFinishes})
	}
}
