package fabric

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/unit"
)

// trial drives a fabric at random beside a plain list of the active flows.
type trial struct {
	*Fabric
	now      unit.Tick
	capacity []float64
	ids      []FlowID // of the active flows
	specs    []Flow
	carried  []float64 // expected bytes of ended flows a link
}

func drawTrial(t *rapid.T) *trial {
	n := rapid.IntRange(1, 8).Draw(t, "links")
	links := make([]Link, n)
	w := &trial{carried: make([]float64, n)}
	for i := range links {
		links[i] = Link{fmt.Sprint(i), drawCapacity(t)}
		w.capacity = append(w.capacity, float64(links[i].Capacity))
	}
	w.Fabric = New(links)
	return w
}

func drawCapacity(t *rapid.T) unit.BytesPerSec {
	return unit.BytesPerSec(rapid.SampledFrom([]float64{0, 1e3, 1.5e3, 2e3, 3e3, 1e9}).Draw(t, "capacity"))
}

func (w *trial) start(t *rapid.T) {
	spec := Flow{Bytes: unit.Bytes(rapid.Int64Range(1, 1e9).Draw(t, "bytes"))}
	for range rapid.IntRange(1, 4).Draw(t, "hops") {
		spec.Path = append(spec.Path, Hop{
			LinkID(rapid.IntRange(0, len(w.capacity)-1).Draw(t, "link")),
			rapid.SampledFrom([]float64{1, 1, 1, 2, 120, 1. / 3}).Draw(t, "multiplicity"),
		})
	}
	if rapid.Bool().Draw(t, "limited") {
		spec.Limit = unit.BytesPerSec(rapid.Float64Range(1, 1e9).Draw(t, "limit"))
	}
	w.ids = append(w.ids, w.Start(w.now, spec))
	w.specs = append(w.specs, spec)
}

func (w *trial) drop(i int) {
	w.ids = slices.Delete(w.ids, i, i+1)
	w.specs = slices.Delete(w.specs, i, i+1)
}

// check compares all rates with the reference, and proves them max-min fair: no link is over capacity, and
// every flow is at its limit or crosses a full link on which no flow is faster (Bertsekas and Gallager,
// section 6.5.2).
func (w *trial) check(t *rapid.T) {
	for l := range w.links {
		demand := 0.0
		for _, c := range w.links[l].crossings {
			demand += c.multiplicity * w.flows[c.flow].bound
		}
		if math.Abs(w.links[l].demand-demand) > 1e-12*w.capacity[l] {
			t.Fatalf("link %d has demand %v, want %v", l, w.links[l].demand, demand)
		}
	}
	want := reference(w.capacity, w.specs)
	load := make([]float64, len(w.capacity))
	fastest := make([]float64, len(w.capacity))
	for i, spec := range w.specs {
		rate := float64(w.Rate(w.ids[i]))
		if !close(rate, want[i]) {
			t.Fatalf("flow %d of %d has rate %v, want %v", i, len(w.specs), rate, want[i])
		}
		for _, h := range spec.Path {
			load[h.Link] += h.Multiplicity * rate
			fastest[h.Link] = max(fastest[h.Link], rate)
		}
	}
	for l, c := range w.capacity {
		if load[l] > c*(1+1e-9) {
			t.Fatalf("link %d carries %v B/s of %v", l, load[l], c)
		}
	}
	for i, spec := range w.specs {
		rate := float64(w.Rate(w.ids[i]))
		bound := spec.Limit > 0 && close(rate, float64(spec.Limit))
		for _, h := range spec.Path {
			bound = bound || load[h.Link] >= w.capacity[h.Link]*(1-1e-9) && rate >= fastest[h.Link]*(1-1e-9)
		}
		if !bound {
			t.Fatalf("flow %d of rate %v has no bottleneck", i, rate)
		}
	}
}

// After any mix of starts, cancels, changed capacities and finishes, the incremental solution equals the
// reference and is max-min fair, and a link has carried what the flows over it have moved.
func TestRandomFabrics(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawTrial(t)
		for range rapid.IntRange(1, 12).Draw(t, "instants") {
			for range rapid.IntRange(0, 4).Draw(t, "starts") {
				w.start(t)
			}
			if len(w.ids) > 0 && rapid.IntRange(0, 3).Draw(t, "cancel") == 0 {
				i := rapid.IntRange(0, len(w.ids)-1).Draw(t, "which")
				for _, h := range w.specs[i].Path {
					w.carried[h.Link] += h.Multiplicity * w.flows[w.ids[i].slot].moved(w.now)
				}
				if !w.Cancel(w.now, w.ids[i]) || w.Cancel(w.now, w.ids[i]) {
					t.Fatal("Cancel of an active flow = false or, twice, true")
				}
				w.drop(i)
			}
			if rapid.IntRange(0, 4).Draw(t, "change") == 0 {
				l := rapid.IntRange(0, len(w.capacity)-1).Draw(t, "changed")
				c := drawCapacity(t)
				w.SetCapacity(w.now, LinkID(l), c)
				w.capacity[l] = float64(c)
			}
			w.Settle(w.now)
			w.check(t)
			w.finishNext(t)
		}
		w.checkCarried(t)
	})
}

// finishNext goes to the next finish, if there is one.
func (w *trial) finishNext(t *rapid.T) {
	at, ok := w.NextFinish()
	if !ok {
		w.now += 1000
		return
	}
	w.now = at
	done := w.Finished(at, nil)
	if len(done) == 0 {
		t.Fatalf("nothing finished at %d ns", at)
	}
	for _, d := range done {
		i := slices.Index(w.ids, d.ID)
		for _, h := range w.specs[i].Path {
			w.carried[h.Link] += h.Multiplicity * float64(w.specs[i].Bytes)
		}
		w.drop(i)
	}
	w.Settle(w.now)
	w.check(t)
}

func (w *trial) checkCarried(t *rapid.T) {
	if w.Flows() != len(w.ids) {
		t.Fatalf("%d active flows, want %d", w.Flows(), len(w.ids))
	}
	for l := range w.capacity {
		want := w.carried[l]
		for i, id := range w.ids {
			for _, h := range w.specs[i].Path {
				if h.Link == LinkID(l) {
					want += h.Multiplicity * w.flows[id.slot].moved(w.now)
				}
			}
		}
		if got := w.Carried(w.now, LinkID(l)); !close(got, want) {
			t.Fatalf("link %d has carried %v bytes, want %v", l, got, want)
		}
	}
}
