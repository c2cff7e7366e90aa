package search

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Report is the result of a search.
type Report struct {
	States int // number of distinct states reached
	Ends   int // number of states in which the run is complete
	Seen   Seen
}

// String returns the report on one line.
func (r Report) String() string {
	return fmt.Sprintf("%d states, %d ends, %d reads; largest own %d, cross %d, inflight %d, "+
		"lead %d, dense %d",
		r.States, r.Ends, r.Seen.Reads, r.Seen.Own, r.Seen.Cross, r.Seen.Inflight, r.Seen.Lead, r.Seen.Dense)
}

// origin is how a state was reached, for histories: the action that led to it from the state with index
// parent, which is −1 for the start.
type origin struct {
	parent int32
	action Action
}

// Explore visits every state that can be reached, breadth first. It returns an error with a shortest history
// if an invariant is broken, and an error if there are more than limit states. Memory: proportional to the
// number of states.
func Explore(set Setting, limit int) (Report, error) {
	start, err := NewState(&set)
	if err != nil {
		return Report{}, err
	}
	var report Report
	var buf []byte
	origins := []origin{{parent: -1}}
	visited := map[[16]byte]int32{}
	var transitions []transition
	var ends []int32
	var key [16]byte
	key, buf = start.fingerprint(buf)
	visited[key] = 0
	type entry struct {
		state *State
		index int32
	}
	frontier := []entry{{start, 0}}
	for len(frontier) > 0 {
		var upcoming []entry
		for _, e := range frontier {
			report.States++
			acts := e.state.Actions()
			if len(acts) == 0 {
				report.Ends++
				ends = append(ends, e.index)
				if err := e.state.checkEnd(); err != nil {
					return report, broken(err, &set, path(origins, e.index))
				}
			}
			for i, a := range acts {
				next := e.state
				if i < len(acts)-1 { // the last action does not need a copy
					next = next.clone()
				}
				if err := next.Advance(a); err != nil {
					return report, broken(err, &set, append(path(origins, e.index), a))
				}
				report.Seen.merge(next.Seen)
				key, buf = next.fingerprint(buf)
				if known, found := visited[key]; found {
					transitions = append(transitions, transition{e.index, known})
					continue
				}
				if len(visited) >= limit {
					return report, fmt.Errorf("search: more than %d states; make the setting smaller", limit)
				}
				visited[key] = int32(len(origins))
				transitions = append(transitions, transition{e.index, int32(len(origins))})
				origins = append(origins, origin{e.index, a})
				upcoming = append(upcoming, entry{next, int32(len(origins) - 1)})
			}
		}
		frontier = upcoming
	}
	if stuck := deadEnd(len(origins), transitions, ends); stuck >= 0 {
		return report, broken(errDeadlock, &set, path(origins, stuck))
	}
	return report, nil
}

// transition is an action that leads from one state to another, by their indices.
type transition struct{ from, to int32 }

// deadEnd returns the first state from which no end can be reached, or −1.
func deadEnd(states int, transitions []transition, ends []int32) int32 {
	slices.SortFunc(transitions, func(a, b transition) int { return cmp.Compare(a.to, b.to) })
	alive := make([]bool, states)
	stack := ends
	for _, e := range ends {
		alive[e] = true
	}
	for len(stack) > 0 {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		i, _ := slices.BinarySearchFunc(transitions, at, func(t transition, to int32) int {
			return cmp.Compare(t.to, to)
		})
		for ; i < len(transitions) && transitions[i].to == at; i++ {
			if from := transitions[i].from; !alive[from] {
				alive[from] = true
				stack = append(stack, from)
			}
		}
	}
	return int32(slices.Index(alive, false))
}

// On a Walk, a fault is rarer by faultRarity than any other action, and the request to end the run by
// drainRarity. These factors spread them over the whole history instead of its start.
const faultRarity, drainRarity = 4, 64

// Walk takes one random path from the start to an end. It returns an error with the history if an invariant
// is broken.
func Walk(set Setting, random *rand.Rand) (Report, error) {
	s, err := NewState(&set)
	if err != nil {
		return Report{}, err
	}
	var report Report
	var history []Action
	for {
		report.States++
		acts := s.Actions()
		if len(acts) == 0 {
			report.Ends++
			if err := s.checkEnd(); err != nil {
				return report, broken(err, &set, history)
			}
			return report, nil
		}
		a := acts[random.IntN(len(acts))]
		for a.isFault() && random.IntN(faultRarity) > 0 || a.kind == drain && random.IntN(drainRarity) > 0 {
			a = acts[random.IntN(len(acts))]
		}
		history = append(history, a)
		if err := s.Advance(a); err != nil {
			return report, broken(err, &set, history)
		}
		report.Seen.merge(s.Seen)
	}
}

// path returns the actions that lead from the start to the state with index at.
func path(origins []origin, at int32) []Action {
	var actions []Action
	for ; origins[at].parent >= 0; at = origins[at].parent {
		actions = append(actions, origins[at].action)
	}
	slices.Reverse(actions)
	return actions
}

// broken adds the history of a state to an error: the actions from the start, which it performs again to
// describe them. The last action may be the one that fails.
func broken(err error, set *Setting, actions []Action) error {
	s, startErr := NewState(set)
	if startErr != nil {
		return errors.Join(err, startErr)
	}
	var b strings.Builder
	for i, a := range actions {
		fmt.Fprintf(&b, "\n  %d. %s", i+1, s.Describe(a))
		if again := s.Advance(a); again != nil && i < len(actions)-1 {
			return errors.Join(err, fmt.Errorf("action %d fails when it is repeated: %w", i+1, again))
		}
	}
	return fmt.Errorf("search: %w, after%s", err, b.String())
}
