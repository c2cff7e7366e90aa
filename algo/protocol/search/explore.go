package search

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Report is what a search found.
type Report struct {
	States int // distinct worlds reached
	Ends   int // … in which the run is complete
	Seen   Seen
}

// String prints the report on one line.
func (r Report) String() string {
	return fmt.Sprintf("%d worlds, %d ends, %d reads; largest own %d, cross %d, inflight %d, lead %d, dense %d",
		r.States, r.Ends, r.Seen.Reads, r.Seen.Own, r.Seen.Cross, r.Seen.Inflight, r.Seen.Lead, r.Seen.Dense)
}

// node is a world on the way: how it was reached, for the history.
type origin struct {
	parent int32
	action string
}

// Explore visits every world that can be reached, breadth first. It returns an
// error, with the shortest history that leads there, if a law is broken, and
// one if there are more than limit worlds.
func Explore(set Setting, limit int) (Report, error) {
	start, err := NewState(&set)
	if err != nil {
		return Report{}, err
	}
	var report Report
	var buf []byte
	nodes := []origin{{parent: -1}}
	visited := map[[16]byte]int32{}
	var ways []transition
	var ends []int32
	var key [16]byte
	key, buf = start.fingerprint(buf)
	visited[key] = 0
	type entry struct {
		world *State
		node  int32
	}
	frontier := []entry{{start, 0}}
	for len(frontier) > 0 {
		var next []entry
		for _, e := range frontier {
			report.States++
			acts := e.world.Actions()
			if len(acts) == 0 {
				report.Ends++
				ends = append(ends, e.node)
				if err := e.world.checkEnd(); err != nil {
					return report, broken(err, nodes, e.node, "")
				}
			}
			for _, a := range acts {
				w := e.world.clone()
				if err := w.Advance(a); err != nil {
					return report, broken(err, nodes, e.node, e.world.Describe(a))
				}
				report.Seen.merge(w.Seen)
				key, buf = w.fingerprint(buf)
				if known, found := visited[key]; found {
					ways = append(ways, transition{e.node, known})
					continue
				}
				if len(visited) >= limit {
					return report, fmt.Errorf("search: more than %d worlds; make the setting smaller", limit)
				}
				visited[key] = int32(len(nodes))
				ways = append(ways, transition{e.node, int32(len(nodes))})
				nodes = append(nodes, origin{e.node, e.world.Describe(a)})
				next = append(next, entry{w, int32(len(nodes) - 1)})
			}
		}
		frontier = next
	}
	if stuck := deadEnd(len(nodes), ways, ends); stuck >= 0 {
		return report, broken(errDeadlock, nodes, stuck, "")
	}
	return report, nil
}

// way is a step from one world to another.
type transition struct{ from, to int32 }

// deadEnd returns the first world from which no end can be reached, or -1.
func deadEnd(worlds int, ways []transition, ends []int32) int32 {
	slices.SortFunc(ways, func(a, b transition) int { return cmp.Compare(a.to, b.to) })
	hopeful := make([]bool, worlds)
	stack := ends
	for _, e := range ends {
		hopeful[e] = true
	}
	for len(stack) > 0 {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		i, _ := slices.BinarySearchFunc(ways, at, func(w transition, to int32) int { return cmp.Compare(w.to, to) })
		for ; i < len(ways) && ways[i].to == at; i++ {
			if from := ways[i].from; !hopeful[from] {
				hopeful[from] = true
				stack = append(stack, from)
			}
		}
	}
	return int32(slices.Index(hopeful, false))
}

// faultRarity is how much rarer a fault is on a Walk than any other action:
// faults then come all along the way, and not before anything is at stake.
const faultRarity = 4

// Walk takes one random way through the worlds, to the end.
func Walk(set Setting, random *rand.Rand) (Report, error) {
	w, err := NewState(&set)
	if err != nil {
		return Report{}, err
	}
	var report Report
	var history []origin
	for {
		report.States++
		acts := w.Actions()
		if len(acts) == 0 {
			report.Ends++
			if err := w.checkEnd(); err != nil {
				return report, broken(err, history, int32(len(history)-1), "")
			}
			return report, nil
		}
		a := acts[random.IntN(len(acts))]
		for a.isFault() && random.IntN(faultRarity) > 0 {
			a = acts[random.IntN(len(acts))]
		}
		history = append(history, origin{int32(len(history)) - 1, w.Describe(a)})
		w.Seen = Seen{}
		if err := w.Advance(a); err != nil {
			return report, broken(err, history, int32(len(history)-1), "")
		}
		report.Seen.merge(w.Seen)
	}
}

// broken adds the history to an error.
func broken(err error, nodes []origin, at int32, last string) error {
	var lines []string
	if last != "" {
		lines = append(lines, last)
	}
	for ; at >= 0; at = nodes[at].parent {
		if nodes[at].action != "" {
			lines = append(lines, nodes[at].action)
		}
	}
	var b strings.Builder
	for i := len(lines) - 1; i >= 0; i-- {
		fmt.Fprintf(&b, "\n  %d. %s", len(lines)-i, lines[i])
	}
	return fmt.Errorf("search: %w, after%s", err, b.String())
}
