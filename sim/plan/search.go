package plan

import (
	"cmp"
	"container/heap"
	"math"
	"slices"

	"tandem/internal/parallel"
)

// The roles whose numbers of hosts a search chooses.
const (
	Workers = iota
	PSs
	Loaders
	roles
)

// Place is one cluster of a problem: a family, and the place of every number in its list.
type Place struct {
	Family, Servers int
	Hosts           [roles]int
}

// Outcome is what a simulation says of a place.
type Outcome struct {
	Throughput float64 // samples a second; 0 if the job does not fit
	Refusal    error   // why it does not fit
	// Short says that rows lie in slower memory than that of accelerators, for want of it. More servers have
	// more of it, so they may be faster by more than their number.
	Short bool
}

// Problem is what a search has to know.
type Problem interface {
	// Families returns the number of families. Servers returns the numbers of servers of a family, ascending,
	// and Hosts how many numbers of hosts of each role it has.
	Families() int
	Servers(family int) []int
	Hosts(family int) [roles]int
	// PerHour returns the price of a place in dollars. It grows with every number.
	PerHour(p Place) float64
	// Simulate simulates a place. It is called by several goroutines.
	Simulate(p Place) (Outcome, error)
}

// Slacks of the properties that the search relies on.
const (
	hostSlack   = 1.01
	serverSlack = 1.25
)

// atOnce is the number of boxes whose bounds are simulated together. It does not depend on the number of
// cores, so that neither does the result.
const atOnce = 4

// Search searches one problem. It remembers what it has simulated.
type Search struct {
	Problem
	AtOnce int // simulations; 0: as many as there are cores
	After  func(simulated int)
	known  map[Place]Outcome
	order  []Place // of known
}

// Known returns what a simulated place can do.
func (s *Search) Known(p Place) Outcome { return s.known[p] }

// Simulations returns the number of places that were simulated.
func (s *Search) Simulations() int { return len(s.known) }

// Refused returns the largest cluster that was simulated and that the job does not fit: the one with the
// highest price an hour.
func (s *Search) Refused() (largest Place) {
	most := -1.0
	for _, p := range s.order {
		if s.known[p].Refusal != nil && s.PerHour(p) > most {
			most, largest = s.PerHour(p), p
		}
	}
	return largest
}

// Cost is what is to be low: it grows with the price an hour, and does not grow with the throughput.
type Cost func(perHour, throughput float64) float64

// Found is a place that was found.
type Found struct {
	Place
	Cost, PerHour, Throughput float64
}

// box is a part of a family with one number of servers: all numbers of hosts from those of low to those of
// high. Bound is a throughput that no place of it exceeds, and key a cost that none is below. A root has not
// been simulated, and stands for all larger numbers of servers as well.
type box struct {
	low, high  Place
	bound, key float64
	root       bool
	order      int
}

// boxes is a heap, the lowest key first.
type boxes []*box

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (b boxes) Len() int { return len(b) }

// Less orders by key and, of equal keys, by age.
func (b boxes) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(b[i].key, b[j].key), cmp.Compare(b[i].order, b[j].order)) < 0
}
func (b boxes) Swap(i, j int) { b[i], b[j] = b[j], b[i] }

// Push adds a box.
func (b *boxes) Push(x any) { *b = append(*b, x.(*box)) }

// Pop takes the last box.
func (b *boxes) Pop() any {
	last := (*b)[len(*b)-1]
	*b = (*b)[:len(*b)-1]
	return last
}

// run is one search with its queue.
type run struct {
	*Search
	need  float64
	cost  Cost
	queue boxes
	added int
	best  *Found
	// rootsOnly looks at the most hosts of each role alone.
	rootsOnly bool
}

// Cheapest returns the place with the lowest cost among those with at least the needed throughput; nil if
// there is none.
func (s *Search) Cheapest(need float64, cost Cost) (*Found, error) {
	r := &run{Search: s, need: need, cost: cost}
	err := r.search()
	return r.best, err
}

// Fastest returns the place with the highest throughput among those with the most hosts of each role; nil if
// the job fits none.
func (s *Search) Fastest() (*Found, error) {
	r := &run{Search: s, rootsOnly: true, cost: func(_, throughput float64) float64 { return -throughput }}
	err := r.search()
	return r.best, err
}

// search looks for the best place.
func (r *run) search() error {
	for family := range r.Families() {
		r.pushServers(family, 0, math.Inf(1))
	}
	for {
		var batch []*box
		for len(r.queue) > 0 && len(batch) < atOnce && (r.best == nil || r.queue[0].key < r.best.Cost) {
			batch = append(batch, heap.Pop(&r.queue).(*box))
		}
		if len(batch) == 0 {
			return nil
		}
		if err := r.simulate(batch); err != nil {
			return err
		}
		for _, b := range batch {
			r.branch(b)
		}
	}
}

// push adds a box that can have a place with the needed throughput.
func (r *run) push(b box) {
	if b.bound < r.need {
		return
	}
	r.added++
	b.order = r.added
	heap.Push(&r.queue, &b)
}

// pushServers adds the places of a family from a number of servers on. No one server adds more than rate, if
// that is finite.
func (r *run) pushServers(family, from int, rate float64) {
	numbers := r.Servers(family)
	b := box{root: true, key: math.Inf(1)}
	for level := len(numbers) - 1; level >= from; level-- {
		bound := rate * float64(numbers[level]) * serverSlack
		if bound < r.need {
			break // and so are all smaller ones
		}
		b.low, b.high = r.corners(family, level)
		b.bound, b.key = bound, min(b.key, r.cost(r.PerHour(b.low), bound))
	}
	if b.bound > 0 {
		r.push(b)
	}
}

// corners returns the places of a family and a number of servers with the fewest and with the most hosts.
func (s *Search) corners(family, servers int) (low, high Place) {
	low = Place{Family: family, Servers: servers}
	high = low
	for i, n := range s.Hosts(family) {
		high.Hosts[i] = n - 1
	}
	return low, high
}

// simulate simulates the places with the most hosts of some boxes.
func (s *Search) simulate(batch []*box) error {
	if s.known == nil {
		s.known = map[Place]Outcome{}
	}
	var places []Place
	for _, b := range batch {
		if _, known := s.known[b.high]; !known && !slices.Contains(places, b.high) {
			places = append(places, b.high)
		}
	}
	outcomes, errs := make([]Outcome, len(places)), make([]error, len(places))
	parallel.ForEach(cmp.Or(s.AtOnce, parallel.Cores()), len(places), func(i int) {
		outcomes[i], errs[i] = s.Simulate(places[i])
	})
	for i, p := range places {
		if errs[i] != nil {
			return errs[i]
		}
		s.known[p] = outcomes[i]
		s.order = append(s.order, p)
	}
	if s.After != nil {
		s.After(len(s.known))
	}
	return nil
}

// branch looks at a box whose place with the most hosts was simulated.
func (r *run) branch(b *box) {
	o := r.known[b.high]
	if o.Throughput >= r.need && o.Throughput > 0 {
		perHour := r.PerHour(b.high)
		f := &Found{b.high, r.cost(perHour, o.Throughput), perHour, o.Throughput}
		if r.best == nil || f.Cost < r.best.Cost {
			r.best = f
		}
	}
	if b.root {
		rate := math.Inf(1) // what does not fit few servers, or their accelerators, may fit more
		if o.Throughput > 0 && !o.Short {
			rate = o.Throughput / float64(r.Servers(b.high.Family)[b.high.Servers])
		}
		r.pushServers(b.high.Family, b.high.Servers+1, rate)
	}
	bound := min(b.bound, o.Throughput*hostSlack)
	if bound == 0 || b.low == b.high || r.rootsOnly {
		return
	}
	// Halve the role whose number of hosts tells the most of the price.
	widest, spread := -1, -1.0
	for i := range roles {
		if b.low.Hosts[i] == b.high.Hosts[i] {
			continue
		}
		more := b.low
		more.Hosts[i] = b.high.Hosts[i]
		if d := r.PerHour(more) - r.PerHour(b.low); d > spread {
			widest, spread = i, d
		}
	}
	lower, upper := *b, *b
	lower.root, upper.root = false, false
	middle := (b.low.Hosts[widest] + b.high.Hosts[widest]) / 2
	lower.high.Hosts[widest], upper.low.Hosts[widest] = middle, middle+1
	for _, half := range []box{lower, upper} {
		half.bound, half.key = bound, r.cost(r.PerHour(half.low), bound)
		r.push(half)
	}
}
