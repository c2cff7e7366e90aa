package peers

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"tandem/algo/unit"
	"tandem/experiments/internal/report"
)

// results are the measurements of a plan.
type results struct {
	Absent   string          `json:"absent,omitempty"` // why nothing was measured, or empty
	Version  string          `json:"simgrid"`
	Networks []networkResult `json:"networks"`
	Cases    []*caseResult   `json:"cases"`
}

// networkResult compares both sides on a network.
type networkResult struct {
	Links    int `json:"links"`
	Flows    int `json:"flows"`
	InFlight int `json:"in_flight"` // the most flows at one instant
	// Error is the largest relative difference of the time that a flow takes.
	Error float64 `json:"error"`
}

// caseResult adds the wall times of the rounds in which both sides ran.
type caseResult struct {
	Name string `json:"name"`
	networkResult
	Tandem []float64 `json:"tandem_s"`
	// SimGrid is the wall time of the fastest way by round, and Ways are the names of these ways.
	SimGrid []float64 `json:"simgrid_s"`
	Ways    []string  `json:"simgrid_way"`
}

// measure runs every network on both sides, unless SimGrid is absent.
func (p *plan) measure(ctx context.Context, o report.Options) (*results, error) {
	peer, err := buildSimGrid(ctx)
	if errors.Is(err, errAbsent) {
		return &results{Absent: err.Error()}, nil
	}
	if err != nil {
		return nil, err
	}
	defer peer.remove()
	one := &network{Capacities: []float64{1e9}, Flows: []flow{{Bytes: 1e9, Links: []int{0}}}}
	first, err := peer.run(ctx, one, p.Options...)
	if err != nil {
		return nil, err
	}
	numbers := make([]int, p.Networks+len(p.Cases)) // the random networks, then the cases
	for i := range numbers {
		numbers[i] = i
	}
	name := func(i int) string {
		if i < p.Networks {
			return fmt.Sprintf("random network %d", i+1)
		}
		return p.Cases[i-p.Networks].Name
	}
	meter := &report.Meter{Total: len(numbers), Unit: "networks", Report: o.Progress}
	all, err := report.MeasureCases(o, meter, numbers, name, func(i int) (r *caseResult, err error) {
		meter.Show(0, 1, name(i))
		if i < p.Networks {
			r, err = p.compare(ctx, peer, randomNetwork(p.Seed, i), p.Ways[:1], 1)
		} else {
			r, err = p.compare(ctx, peer, p.Cases[i-p.Networks].network(p.Seed), p.Ways, p.Rounds)
		}
		meter.Done++
		return r, err
	})
	if err != nil {
		return nil, err
	}
	r := &results{Version: first.version, Cases: all[p.Networks:]}
	for _, one := range all[:p.Networks] {
		r.Networks = append(r.Networks, one.networkResult)
	}
	for i, one := range r.Cases {
		one.Name = p.Cases[i].Name
	}
	return r, nil
}

// tooSlow is how much slower than the fastest a way is in the first round if later rounds are without it.
const tooSlow = 2

// compare runs a network on both sides in turns, on SimGrid's in several ways.
func (p *plan) compare(
	ctx context.Context, peer *simgrid, w *network, ways []way, rounds int,
) (*caseResult, error) {
	r := &caseResult{networkResult: networkResult{Links: len(w.Capacities), Flows: len(w.Flows)}}
	for round := range rounds {
		ours, wall := runTandem(w)
		r.InFlight, r.Tandem = ours.inFlight, append(r.Tandem, wall.Seconds())
		times := map[string]float64{}
		fastest := ways[0].Name
		for _, way := range ways {
			theirs, err := peer.run(ctx, w, slices.Concat(p.Options, way.Options)...)
			if err != nil {
				return nil, err
			}
			largest, err := largestError(w, ours.finishes, theirs.finishes)
			if err != nil {
				return nil, err
			}
			r.Error, times[way.Name] = max(r.Error, largest), theirs.wall.Seconds()
			if times[way.Name] < times[fastest] {
				fastest = way.Name
			}
		}
		r.SimGrid, r.Ways = append(r.SimGrid, times[fastest]), append(r.Ways, fastest)
		if round == 0 {
			ways = slices.DeleteFunc(slices.Clone(ways), func(w way) bool {
				return times[w.Name] > tooSlow*times[fastest]
			})
		}
	}
	return r, nil
}

// largestError returns the largest relative difference of the time that a flow takes.
func largestError(w *network, ours []unit.Tick, theirs []float64) (float64, error) {
	largest := 0.0
	for i, f := range w.Flows {
		time := theirs[i] - f.Start.Seconds()
		if !(time > 0) {
			return 0, fmt.Errorf("SimGrid starts flow %d at %v s and ends it at %v s, want a later end", i,
				f.Start.Seconds(), theirs[i])
		}
		largest = max(largest, math.Abs((ours[i]-f.Start).Seconds()-time)/time)
	}
	return largest, nil
}
