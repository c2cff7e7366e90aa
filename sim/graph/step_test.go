package graph

import (
	"math"
	"testing"

	"tandem/algo/unit"
)

// ends runs a step and returns its times without the warm-up.
func durations(t *testing.T, s Step, steps int) []unit.Tick {
	t.Helper()
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	trace := s.Run(steps, 1, nil)
	var list []unit.Tick
	for i, end := range trace.Ends {
		if i > 0 {
			list = append(list, end-trace.Ends[i-1])
		}
	}
	return list
}

// a 10, b 20 and c 30 on three streams, one after the other: 60.
func TestChain(t *testing.T) {
	s := Step{Nodes: []Node{
		{Stream: Compute, Kind: Kernel, Time: 10},
		{Stream: Collectives, Kind: Collective, Time: 20, After: []int{0}},
		{Stream: Compute, Kind: Kernel, Time: 30, After: []int{1}},
	}}
	for _, d := range durations(t, s, 4) {
		if d != 60 {
			t.Errorf("step of %v, want 60", d)
		}
	}
}

// Two streams side by side: kernels of 40 + 40, a collective of 50 between the two that the second does not
// await: the collective ends at 90 and the step at 90.
func TestTwoStreamsOverlap(t *testing.T) {
	s := Step{Nodes: []Node{
		{Name: "first", Stream: Compute, Kind: Kernel, Time: 40, AfterPrevious: []int{1, 2}},
		{Stream: Collectives, Kind: Collective, Time: 50, After: []int{0}},
		{Name: "second", Stream: Compute, Kind: Kernel, Time: 40},
	}}
	trace := s.Run(1, 0, nil)
	if trace.Ends[0] != 90 || trace.Busy[Compute] != 80 || trace.Busy[Collectives] != 50 ||
		trace.Exposed != 10 {
		t.Errorf("ends at %v, busy %v, exposed %v", trace.Ends, trace.Busy, trace.Exposed)
	}
	// With interference of a half, the second kernel does 25 of its 40 in the 50 of the collective, and ends
	// at 40 + 50 + 15 = 105.
	s.Interference = 0.5
	if trace := s.Run(1, 0, nil); trace.Ends[0] != 105 || math.Abs(trace.Resources[Interference]-25) > 1e-9 {
		t.Errorf("with interference: ends at %v, path %v", trace.Ends, trace.Resources)
	}
}

// Two collectives of 30 and 60 on two streams share the wires: the first ends at 60, the other at 90. Two
// kernels share the accelerator in the same way.
func TestSharing(t *testing.T) {
	for _, kind := range []Kind{Collective, Kernel} {
		s := Step{Nodes: []Node{
			{Stream: Collectives, Kind: kind, Time: 30, AfterPrevious: []int{0, 1}},
			{Stream: Compute, Kind: kind, Time: 60, AfterPrevious: []int{0, 1}},
			{Stream: Host, Time: 5, After: []int{0}},
		}}
		if trace := s.Run(1, 0, nil); trace.Ends[0] != 90 {
			t.Errorf("kind %d ends at %v, want 90", kind, trace.Ends)
		}
		s.Nodes = s.Nodes[:1]
		s.Nodes[0].AfterPrevious = []int{0}
		if trace := s.Run(1, 0, nil); trace.Ends[0] != 30 {
			t.Errorf("kind %d alone ends at %v, want 30", kind, trace.Ends)
		}
	}
}

// The host thread needs 10 for each launch, kernels 4: a step of three kernels takes 30, and the launches are
// the critical path. With launches of 2 it takes 12 in the steady state.
func TestHostThreadBindsShortKernels(t *testing.T) {
	s := Step{}
	for range 3 {
		s.Nodes = append(s.Nodes, Node{Stream: Compute, Kind: Kernel, Time: 4, Launch: 10})
	}
	for _, d := range durations(t, s, 4) {
		if d != 30 {
			t.Errorf("step of %v, want 30", d)
		}
	}
	if trace := s.Run(4, 1, nil); math.Abs(trace.Resources[HostThread]-90) > 10 {
		t.Errorf("critical path %v, want the host thread", trace.Resources)
	}
	for i := range s.Nodes {
		s.Nodes[i].Launch = 2
	}
	for _, d := range durations(t, s, 4) {
		if d != 12 {
			t.Errorf("step of %v with short launches, want 12", d)
		}
	}
}

// Work for the next batch overlaps the step: a collective of 70 whose result the next step's first kernel
// awaits adds nothing to kernels of 100, and makes a step of 130 if it takes 130.
func TestInputsOfTheNextStepOverlap(t *testing.T) {
	for _, input := range []unit.Tick{70, 130} {
		s := Step{Nodes: []Node{
			{Stream: Inputs, Kind: Collective, Time: input},
			{Stream: Compute, Kind: Kernel, Time: 100, AfterPrevious: []int{0}},
		}}
		for _, d := range durations(t, s, 5) {
			if d != max(100, input) {
				t.Errorf("input of %v: step of %v", input, d)
			}
		}
	}
}

// The host thread awaits a collective before it launches the kernel behind it.
func TestHostAwaits(t *testing.T) {
	s := Step{Nodes: []Node{
		{Stream: Inputs, Kind: Collective, Time: 50},
		{Stream: Host, Time: 5, After: []int{0}},
		{Stream: Compute, Kind: Kernel, Time: 20, Launch: 1},
	}}
	if trace := s.Run(1, 0, nil); trace.Ends[0] != 76 {
		t.Errorf("ends at %v, want 50 + 5 + 1 + 20", trace.Ends)
	}
}

func TestFactorsStretchThePhases(t *testing.T) {
	s := Step{Nodes: []Node{
		{Stream: Compute, Kind: Kernel, Time: 100, Phase: Forward},
		{Stream: Compute, Kind: Kernel, Time: 100, Phase: Backward},
		{Stream: Compute, Kind: Kernel, Time: 100},
	}}
	trace := s.Run(2, 0, func(step int) Factors { return Factors{1, 1.5, 2 + float64(step)} })
	if trace.Ends[0] != 450 || trace.Ends[1] != 450+550 {
		t.Errorf("ends at %v", trace.Ends)
	}
}

func TestStepsWithFaultsAreRefused(t *testing.T) {
	for name, s := range map[string]Step{
		"empty":    {},
		"forward":  {Nodes: []Node{{Stream: Compute, After: []int{0}}}},
		"previous": {Nodes: []Node{{Stream: Compute, AfterPrevious: []int{1}}}},
		"negative": {Nodes: []Node{{Stream: Compute, Time: -1}}},
		"share":    {Nodes: []Node{{Stream: Compute}}, Interference: 1},
	} {
		if s.Validate() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// On a slow rank kernels, the host thread and its launches take longer, collectives and copies do not. Here
// the kernel of 10 waits for its launch of 2, and the collective of 5 follows with the launch of 3 done
// meanwhile; the node of the host thread takes 1.
func TestSlowRankStretchesWhatItDoes(t *testing.T) {
	for factor, want := range map[float64]unit.Tick{0: 1 + 2 + 10 + 5, 1: 18, 3: 3*(1+2+10) + 5} {
		s := Step{}
		s.add(Node{Name: "host", Stream: Host, Time: 1})
		k := s.add(Node{Name: "kernel", Stream: Compute, Kind: Kernel, Time: 10, Launch: 2})
		c := Node{Name: "collective", Stream: Collectives, Kind: Collective, Time: 5, Launch: 3}
		last := s.add(after(c, k))
		s.Nodes[0].AfterPrevious = []int{last}
		s.slowDown(factor)
		if got := durations(t, s, 3); got[1] != want {
			t.Errorf("factor %v: a step takes %v, want %v", factor, got[1], want)
		}
	}
}
