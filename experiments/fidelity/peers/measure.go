package peers

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"tandem/algo/unit"
	"tandem/experiments/internal/report"
)

// results are the measurements of a plan.
type results struct {
	Version  string          `json:"simgrid"`
	Networks []networkResult `json:"networks"`
	Cases    []*caseResult   `json:"cases"`
}

// networkResult compares both sides on a random network.
type networkResult struct {
	Links    int `json:"links"`
	Flows    int `json:"flows"`
	InFlight int `json:"in_flight"` // the most flows at one instant
	// Error is the largest relative difference of the time that a flow takes.
	Error float64 `json:"error"`
}

// caseResult compares both sides on a network of the speed test.
type caseResult struct {
	Name string `json:"name"`
	networkResult
	Tandem []float64 `json:"tandem_s"` // wall time by round
	// SimGrid is the wall time of the fastest way by round, and Ways are the names of these ways.
	SimGrid []float64 `json:"simgrid_s"`
	Ways    []string  `json:"simgrid_way"`
}

// events returns the number of events: each flow starts and ends.
func (r *caseResult) events() float64 { return float64(2 * r.Flows) }

// ratios returns Tandem's events per second ÷ SimGrid's, by round.
func (r *caseResult) ratios() []float64 {
	of := make([]float64, len(r.Tandem))
	for i := range of {
		of[i] = r.SimGrid[i] / r.Tandem[i]
	}
	return of
}

// measurement is the state of one measurement.
type measurement struct {
	*plan
	peer  *simgrid
	log   *report.Log
	meter *report.Meter
	results
}

// measure runs every network on both sides.
func (p *plan) measure(ctx context.Context, o report.Options, peer *simgrid) (r *results, err error) {
	log, err := o.NewLog("peers.csv", "network", "round", "links", "flows",
		"in_flight", "tandem_s", "simgrid", "simgrid_s", "error")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	m := measurement{plan: p, peer: peer, log: log,
		meter: &report.Meter{Total: p.Networks + len(p.Cases)*p.Rounds, Report: o.Progress}}
	for i := range p.Networks {
		name := fmt.Sprintf("random network %d", i+1)
		m.meter.Show(0, 1, name)
		w := randomNetwork(p.Seed, i)
		result, _, err := m.compare(ctx, name, 0, w, p.Ways[:1])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		m.results.Networks = append(m.results.Networks, result)
		m.meter.Done++
	}
	for _, c := range p.Cases {
		if err := m.speed(ctx, &c); err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
	}
	return &m.results, nil
}

// tooSlow is how much slower than the fastest a way is in the first round if later rounds are without it.
const tooSlow = 2

// speed measures a case.
func (m *measurement) speed(ctx context.Context, c *speedCase) error {
	w := c.network(m.Seed)
	result := &caseResult{Name: c.Name}
	ways := m.plan.Ways
	for round := range m.Rounds {
		m.meter.Show(0, 1, c.Name)
		compared, times, err := m.compare(ctx, c.Name, round, w, ways)
		if err != nil {
			return err
		}
		fastest := slices.Min(times.simgrid)
		result.networkResult = compared
		result.Tandem = append(result.Tandem, times.tandem)
		result.SimGrid = append(result.SimGrid, fastest)
		result.Ways = append(result.Ways, ways[slices.Index(times.simgrid, fastest)].Name)
		if round == 0 {
			var kept []way
			for i, way := range ways {
				if times.simgrid[i] <= tooSlow*fastest {
					kept = append(kept, way)
				}
			}
			ways = kept
		}
		m.meter.Done++
	}
	m.results.Cases = append(m.results.Cases, result)
	return nil
}

// wallTimes are the wall times of both sides in seconds; SimGrid's by way.
type wallTimes struct {
	tandem  float64
	simgrid []float64
}

// compare runs a network on both sides, on SimGrid's in several ways.
func (m *measurement) compare(
	ctx context.Context, name string, round int, w *network, ways []way,
) (networkResult, *wallTimes, error) {
	ours, wall := runTandem(w)
	times := &wallTimes{tandem: wall.Seconds()}
	result := networkResult{Links: len(w.Capacities), Flows: len(w.Flows), InFlight: ours.inFlight}
	for _, way := range ways {
		theirs, err := m.peer.run(ctx, w, slices.Concat(m.Options, way.Options)...)
		if err != nil {
			return result, nil, err
		}
		m.Version = theirs.version
		times.simgrid = append(times.simgrid, theirs.wall.Seconds())
		largest, err := largestError(w, ours.finishes, theirs.finishes)
		if err != nil {
			return result, nil, err
		}
		result.Error = max(result.Error, largest)
		if err := m.log.Add(name, strconv.Itoa(round+1), strconv.Itoa(result.Links),
			strconv.Itoa(result.Flows), strconv.Itoa(result.InFlight), report.Number(times.tandem), way.Name,
			report.Number(theirs.wall.Seconds()), report.Number(largest)); err != nil {
			return result, nil, err
		}
	}
	return result, times, nil
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
