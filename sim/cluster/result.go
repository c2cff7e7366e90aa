package cluster

import (
	"fmt"

	"tandem/algo/protocol/fault"
	"tandem/algo/protocol/pace"
	"tandem/algo/unit"
	"tandem/sim/cost"
	"tandem/sim/station"
)

// Result holds the figures of a simulated run.
type Result struct {
	Throughput float64         // samples a second, of all ranks
	StepTime   unit.Tick       // mean time of a step
	StepTimes  []unit.Tick     // of each measured step
	Events     int64           // of the simulation
	Depth      int             // batches that a rank may have outstanding
	StageTimes pace.StageTimes // medians over ranks and measured steps
	// Bottleneck is what bounds a step. If a resource was busy for at least saturated of the time, it is that
	// resource. Otherwise the time from one step's end to the next on a rank is cut into waiting for
	// embeddings, FC, BC, the rest of DS after BC, and the dense optimizer, and it is the longest of these.
	// With dense PSs, DS is what is waited for of pushes and pulls.
	Bottleneck string
	// Bottlenecks are the resources on the critical path of the measured steps or, if these are two windows,
	// of the second; the largest share first.
	Bottlenecks []Bottleneck
	Stations    []station.Use // the busiest first
	// Phases are the parts of a step on a rank, in their order: means over ranks and measured steps. What a
	// mode lets run in the background is in none.
	Phases    []Phase
	Staleness pace.Staleness
	// Messages and Bytes are those of a measured step over all ranks, headers included, the all-reduce not.
	Messages int64
	Bytes    unit.Bytes
	// RowBytes are what ranks that have rows on their accelerators together send each other in a step: signs,
	// rows and sums of gradients. Each rank sends its own part, too, over no wire.
	RowBytes unit.Bytes
	// Drift is by how much of it the step time changed from the first half of the measured steps to the
	// second; a settled run has about 0. Unsettled reports that a run whose options leave its steps open has
	// ended before two consecutive windows of steps agreed.
	Drift     float64
	Unsettled bool
	// Elapsed is when the run ended: with Options.Numerics, the simulated time of the whole training.
	Elapsed unit.Tick
	// Simulated is the number of ranks that were simulated, if they stood for all; 0: each rank was.
	Simulated   int
	Faults      fault.Counts // what the faults of the training have done to the whole run
	Assumptions []cost.Assumption
}

// Phase is a part of the time from one step's end to the next on a rank.
type Phase struct {
	Name string
	Time unit.Tick
}

// phases returns the parts of a measured step.
func (w *simulation) phases() (list []Phase) {
	m := w.measurement
	count := float64(m.last-m.first) * float64(len(m.ranks))
	for p, t := range m.exposures() {
		list = append(list, Phase{phaseNames[p], t.Scale(1 / count)})
	}
	if w.config.Rule.Dense().DensePSs {
		list[synchronising].Name = "wait for dense PSs (DS)"
	}
	return list
}

// phaseNames are what reports call the phases.
var phaseNames = [phaseCount]string{"wait for embeddings (GE)", "forward (FC)", "backward (BC)",
	"wait for other ranks (DS)", "dense optimizer"}

// saturated is the busy share from which on a resource counts as what bounds a run. Less than 1 because of a
// pipeline's small gaps.
const saturated = 0.95

// result computes the result of a run.
func (w *simulation) result() Result {
	m := w.measurement
	seconds := m.stepTime(m.first, m.last)
	samples := 0
	for step := m.first; step < m.last; step++ {
		samples += w.stepSamples(step)
	}
	from, to := m.measured()
	uses := w.stations.Use(from.stations, to.stations)
	steps := int64(m.last - m.first)
	return Result{
		Throughput:  float64(samples) / float64(steps) / seconds,
		StepTime:    unit.Tick(seconds * float64(unit.Second)),
		StepTimes:   m.stepTimes(),
		Events:      w.events,
		StageTimes:  m.stages.MediansOf(m.first, m.last),
		Bottleneck:  w.bottleneck(uses),
		Bottlenecks: m.critical.bottlenecks(),
		Stations:    uses,
		Phases:      w.phases(),
		Messages:    (to.sent.messages - from.sent.messages) / steps,
		Bytes:       (to.sent.bytes - from.sent.bytes) / unit.Bytes(steps),
		RowBytes:    (to.sent.rows - from.sent.rows) / unit.Bytes(steps),
		Drift:       m.drift(),
		Unsettled:   m.windows > 1 && !m.settled,
		Elapsed:     w.clock.Now(),
		Faults:      w.faultCounts(),
	}
}

// bottleneck names what bounds a step: see Result.
func (w *simulation) bottleneck(uses []station.Use) string {
	for _, u := range uses {
		if u.Busy >= saturated && u.Name != allReduceChannel {
			return u.Name
		}
	}
	longest, exposed := waiting, w.measurement.exposures()
	for p, t := range exposed {
		if t > exposed[longest] {
			longest = phase(p)
		}
	}
	switch longest {
	case waiting:
		if w.config.Rule.InStep() {
			return "PEG and GE between steps"
		}
		return "GE: embeddings come too late"
	case forwarding:
		return "FC: " + w.computeName()
	case backwarding:
		return "BC: " + w.computeName()
	case updating:
		return "dense optimizer: " + w.computeName()
	}
	if w.config.Rule.Dense().DensePSs {
		return "DS: pushes to dense PSs and pulls"
	}
	return "DS: all-reduce " + w.reduceWhere()
}

// computeName names what a rank computes on.
func (w *simulation) computeName() string {
	if w.prices.Colocated() {
		return "one core of the machine"
	}
	return acceleratorStation
}

// reduceWhere says on which wire most of an all-reduce's time goes.
func (w *simulation) reduceWhere() string {
	if w.prices.Colocated() {
		return "in memory"
	}
	var inside, across float64
	for _, bytes := range w.config.Buckets {
		inside += w.reduceInside(bytes).Seconds()
		across += w.reduceAcross(bytes).Seconds()
	}
	if across > inside {
		return "over the network"
	}
	return fmt.Sprintf("inside servers (%s)", w.prices.InsideName())
}
