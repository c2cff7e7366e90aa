package fabric

import (
	"flag"
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
	choices  []float64 // of capacities
	ids      []FlowID  // of the active flows
	specs    []Flow
	rates    []float64 // by the reference
	left     []float64 // bytes of each flow, by the reference's rates
	carried  []float64 // expected bytes of ended flows a link
	volume   float64   // bytes of all flows; the clocks that count them round by some 10⁻¹⁵ of it
	crossed  []float64 // Σ multiplicity of all flows a link
	classes  []Flow    // those that begin are equal to one of them; none: all differ
	hubs     int       // of the first links, a flow crosses one, and one of the others; 0: any path
}

func drawTrial(t *rapid.T) *trial {
	n := rapid.IntRange(1, 8).Draw(t, "links")
	w := &trial{carried: make([]float64, n), crossed: make([]float64, n)}
	w.choices = []float64{0, 1e3, 1.5e3, 2e3, 3e3, 1e9}
	if rapid.Bool().Draw(t, "alike") {
		w.choices = []float64{1e3, 1e3, 1e4}
	}
	if n > 2 {
		w.hubs = rapid.IntRange(0, 2).Draw(t, "hubs")
	}
	links := make([]Link, n)
	for i := range links {
		links[i] = Link{fmt.Sprint(i), w.drawCapacity(t)}
		w.capacity = append(w.capacity, float64(links[i].Capacity))
	}
	w.Fabric = New(links)
	for range rapid.SampledFrom([]int{0, 0, 1, 2, 5}).Draw(t, "classes") {
		w.classes = append(w.classes, w.drawFlow(t))
	}
	return w
}

func (w *trial) drawCapacity(t *rapid.T) unit.BytesPerSec {
	return unit.BytesPerSec(rapid.SampledFrom(w.choices).Draw(t, "capacity"))
}

// drawFlow draws a flow of any path. Some have no bytes, some only a limit and some nothing that bounds them.
func (w *trial) drawFlow(t *rapid.T) Flow {
	spec := Flow{Bytes: unit.Bytes(rapid.Int64Range(1, 1e9).Draw(t, "bytes"))}
	switch rapid.IntRange(0, 9).Draw(t, "size") {
	case 0:
		spec.Bytes = 0
	case 1, 2, 3:
		spec.Bytes = 1000
	}
	if rapid.IntRange(0, 3).Draw(t, "limited") == 0 {
		spec.Limit = unit.BytesPerSec(rapid.Float64Range(1, 1e9).Draw(t, "limit"))
	}
	if w.hubs > 0 && rapid.IntRange(0, 9).Draw(t, "beside the hubs") > 0 {
		hub := LinkID(rapid.IntRange(0, w.hubs-1).Draw(t, "hub"))
		leaf := LinkID(rapid.IntRange(w.hubs, len(w.capacity)-1).Draw(t, "leaf"))
		many := rapid.SampledFrom([]float64{1, 1, 0.1, 1e9}).Draw(t, "many")
		spec.Path = []Hop{{hub, many}, {leaf, 1}}
		return spec
	}
	for range rapid.IntRange(0, 4).Draw(t, "hops") {
		spec.Path = append(spec.Path, Hop{
			LinkID(rapid.IntRange(0, len(w.capacity)-1).Draw(t, "link")),
			rapid.SampledFrom([]float64{1, 1, 1, 2, 120, 1. / 3}).Draw(t, "multiplicity"),
		})
	}
	return spec
}

func (w *trial) start(t *rapid.T) {
	var spec Flow
	if len(w.classes) > 0 {
		spec = rapid.SampledFrom(w.classes).Draw(t, "class")
	} else {
		spec = w.drawFlow(t)
	}
	w.ids = append(w.ids, w.Start(w.now, spec))
	w.specs = append(w.specs, spec)
	w.rates = append(w.rates, 0)
	w.left = append(w.left, float64(spec.Bytes))
	w.volume += float64(spec.Bytes)
	for _, h := range spec.Path {
		w.crossed[h.Link] += h.Multiplicity
	}
}

// cancel ends a flow, of which a part has moved.
func (w *trial) cancel(t *rapid.T) {
	i := rapid.IntRange(0, len(w.ids)-1).Draw(t, "which")
	w.carry(i, float64(w.specs[i].Bytes)-w.left[i])
	if !w.Cancel(w.now, w.ids[i]) || w.Cancel(w.now, w.ids[i]) {
		t.Fatal("Cancel of an active flow = false or, twice, true")
	}
	w.drop(i)
}

func (w *trial) carry(i int, bytes float64) {
	for _, h := range w.specs[i].Path {
		w.carried[h.Link] += h.Multiplicity * bytes
	}
}

func (w *trial) drop(i int) {
	w.ids = slices.Delete(w.ids, i, i+1)
	w.specs = slices.Delete(w.specs, i, i+1)
	w.rates = slices.Delete(w.rates, i, i+1)
	w.left = slices.Delete(w.left, i, i+1)
}

// endless reports whether nothing bounds a flow, or it has nothing to move: it finishes when it starts.
func endless(spec Flow) bool { return spec.Bytes == 0 || len(spec.Path) == 0 && spec.Limit == 0 }

// check compares all rates with the reference, and proves them max-min fair: no link is over capacity, and
// every flow is at its limit or crosses a full link on which no flow is faster (Bertsekas and Gallager,
// section 6.5.2).
func (w *trial) check(t *rapid.T) {
	w.checkState(t)
	moving := slices.Clone(w.specs)
	for i, spec := range moving {
		if endless(spec) {
			moving[i] = Flow{}
		}
	}
	w.rates = reference(w.capacity, moving)
	load := make([]float64, len(w.capacity))
	fastest := make([]float64, len(w.capacity))
	for i, spec := range w.specs {
		rate := float64(w.Rate(w.ids[i]))
		if !close(rate, w.rates[i]) {
			t.Fatalf("flow %d of %d has rate %v, want %v", i, len(w.specs), rate, w.rates[i])
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
		bound := endless(spec) || spec.Limit > 0 && close(rate, float64(spec.Limit))
		for _, h := range spec.Path {
			bound = bound || load[h.Link] >= w.capacity[h.Link]*(1-1e-9) && rate >= fastest[h.Link]*(1-1e-9)
		}
		if !bound {
			t.Fatalf("flow %d of rate %v has no bottleneck", i, rate)
		}
	}
}

// checkState checks what the fabric knows of flows, links and pools against the flows themselves.
func (w *trial) checkState(t *rapid.T) {
	n := len(w.links)
	demand, most, guests, pools := make([]float64, n), make([]float64, n), make([]int32, n), 0
	for i := range w.flows {
		x := &w.flows[i]
		if x.generation&1 == 0 || len(x.hops) == 0 {
			continue
		}
		if p := x.bundles; p != nil {
			pools++
			w.checkPool(t, p)
			most[p.link] += x.hops[0].multiplicity * x.ceiling
			continue
		}
		if w.rateOf(x) > x.ceiling*(1+2*reachTolerance) || x.ceiling > x.bound*(1+reachTolerance) {
			t.Fatalf("rate %v, ceiling %v and bound %v, want no more than the next", w.rateOf(x), x.ceiling,
				x.bound)
		}
		for _, h := range x.hops {
			demand[h.link] += h.multiplicity * x.bound
			if x.pool != nil && x.pool.link == h.link {
				continue
			}
			most[h.link] += h.multiplicity * x.ceiling
			if x.pool != nil {
				guests[h.link]++
			}
		}
	}
	if pools != w.pools {
		t.Fatalf("%d pools, want %d", w.pools, pools)
	}
	for l := range w.links {
		x := &w.links[l]
		rounding := 1e-12 * w.capacity[l]
		if math.Abs(x.demand-demand[l]) > rounding || math.Abs(x.most-most[l]) > rounding {
			t.Fatalf("link %d has demand %v and at most uses %v, want %v and %v", l, x.demand, x.most,
				demand[l], most[l])
		}
		if x.guests != guests[l] || x.guests > 0 && !x.suffices(0) {
			t.Fatalf("link %d of %v has %d guests and at most uses %v, want %d", l, x.capacity, x.guests,
				x.most, guests[l])
		}
	}
}

// checkPool checks that a pool stands for its members, and that only its link can bind them below its
// ceiling.
func (w *trial) checkPool(t *rapid.T, p *pool) {
	bundle, width := &w.flows[p.bundle], 0.0
	for k, i := range p.members {
		x := &w.flows[i]
		width += x.on(p.link).multiplicity
		if x.pool != p || x.ceiling != bundle.ceiling || x.bound < bundle.ceiling {
			t.Fatalf("member of ceiling %v and bound %v in a pool of ceiling %v", x.ceiling, x.bound,
				bundle.ceiling)
		}
		if int(x.place) != k || x.due < w.flows[p.members[0]].due {
			t.Fatalf("member at place %d ends at %v, want %d and no earlier than %v", x.place, x.due, k,
				w.flows[p.members[0]].due)
		}
	}
	if w.links[p.link].pool != p || len(p.members) == 0 || !close(width, bundle.hops[0].multiplicity) {
		t.Fatalf("pool of %d members has width %v, want %v", len(p.members), bundle.hops[0].multiplicity,
			width)
	}
}

// After any mix of starts, cancels, changed capacities and finishes, the incremental solution equals the
// reference and is max-min fair, and a link has carried what the flows over it have moved.
func TestRandomFabrics(t *testing.T) {
	pools := 0
	checkOften(t, func(t *rapid.T) {
		w := drawTrial(t)
		most := rapid.SampledFrom([]int{4, 12}).Draw(t, "at once")
		for range rapid.IntRange(1, 12).Draw(t, "instants") {
			for range rapid.IntRange(0, 2).Draw(t, "rounds") {
				for range rapid.IntRange(0, most).Draw(t, "starts") {
					w.start(t)
				}
				for range rapid.SampledFrom([]int{0, 0, 1, 4}).Draw(t, "cancels") {
					if len(w.ids) > 0 {
						w.cancel(t)
					}
				}
				if rapid.IntRange(0, 7).Draw(t, "change") == 0 {
					l := rapid.IntRange(0, len(w.capacity)-1).Draw(t, "changed")
					c := w.drawCapacity(t)
					w.SetCapacity(w.now, LinkID(l), c)
					w.capacity[l] = float64(c)
				}
			}
			w.Settle(w.now)
			w.check(t)
			pools += w.pools
			w.goOn(t)
			w.checkCarried(t)
		}
	})
	if pools == 0 {
		t.Error("no pool in any fabric: the draws do not reach them")
	}
}

// checkOften is rapid.Check with 10,000 draws instead of 100, unless a flag asks for another number or the
// tests are to be short: what happens only where a flow leaves the pool of a slack link takes some 1,000 to
// be found.
func checkOften(t *testing.T, property func(*rapid.T)) {
	t.Helper()
	checks := flag.Lookup("rapid.checks")
	if checks.Value.String() == checks.DefValue && !testing.Short() {
		if err := checks.Value.Set("10000"); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = checks.Value.Set(checks.DefValue) }()
	}
	rapid.Check(t, property)
}

// goOn goes to the next finish, if there is one, or half the way. A flow finishes in the nanosecond in which
// it has moved its bytes at the rates of the reference.
func (w *trial) goOn(t *rapid.T) {
	at, ok := w.NextFinish()
	halfway := !ok || at > w.now+1 && rapid.IntRange(0, 3).Draw(t, "halfway") == 0
	passed := unit.Tick(1000)
	if ok {
		passed = at - w.now
	}
	if halfway {
		passed /= 2
	}
	w.now += passed
	for i := range w.left {
		w.left[i] -= w.rates[i] * passed.Seconds()
	}
	if halfway {
		for i := range w.left {
			if !ok && w.rates[i] > 0 && w.left[i] < w.rates[i]*((unit.Forever-w.now)/2).Seconds() {
				t.Fatalf("nothing will finish, and flow %d moves", i)
			}
			w.checkFinish(t, i, false)
		}
		return
	}
	done := w.Finished(at, nil)
	if len(done) == 0 {
		t.Fatalf("nothing finished at %d ns", at)
	}
	last := 0
	for _, d := range done {
		i := slices.Index(w.ids, d.ID)
		if i < last {
			t.Fatalf("flow %d started before one that is said to finish before it at %d ns", i, at)
		}
		last = i // of those that are left, the next that started
		w.checkFinish(t, i, true)
		w.carry(i, float64(w.specs[i].Bytes))
		w.drop(i)
	}
	for i := range w.left {
		w.checkFinish(t, i, false)
	}
	w.Settle(w.now)
	w.check(t)
}

// checkFinish checks what a flow has left when it is said to have finished, or not.
func (w *trial) checkFinish(t *rapid.T, i int, finished bool) {
	if endless(w.specs[i]) {
		if !finished {
			t.Fatal("a flow that ends when it starts has not")
		}
		return
	}
	rounding := 1e-9*float64(w.specs[i].Bytes) + 2*w.rates[i]*1e-9
	if finished && math.Abs(w.left[i]) > rounding || !finished && w.left[i] < -rounding {
		t.Fatalf("flow of %d bytes has %v left, finished: %v", w.specs[i].Bytes, w.left[i], finished)
	}
}

// checkCarried checks the number of flows and the bytes of all links.
func (w *trial) checkCarried(t *rapid.T) {
	if w.Flows() != len(w.ids) {
		t.Fatalf("%d active flows, want %d", w.Flows(), len(w.ids))
	}
	for l := range w.capacity {
		want := w.carried[l]
		for i, spec := range w.specs {
			for _, h := range spec.Path {
				if h.Link == LinkID(l) && !endless(spec) {
					want += h.Multiplicity * (float64(spec.Bytes) - max(0, w.left[i]))
				}
			}
		}
		if got := w.Carried(w.now, LinkID(l)); math.Abs(got-want) > 1e-9*want+1e-15*w.crossed[l]*w.volume {
			t.Fatalf("link %d has carried %v bytes, want %v", l, got, want)
		}
	}
}
