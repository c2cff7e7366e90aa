package graph

import (
	"fmt"

	"tandem/algo/unit"
)

// Stream is a queue of a rank. Its nodes run one after the other, in the order of the step.
type Stream uint8

// The streams of a rank.
const (
	// Host is the thread of the rank's program. It launches the nodes of all other streams in the order of
	// the step.
	Host        Stream = iota
	Compute            // kernels of the step
	Collectives        // collectives of the step
	Inputs             // kernels and collectives that distribute the ids of the next step's batch
	Copies             // from the host's memory
	streams
)

// String returns the name.
func (s Stream) String() string {
	return [...]string{"host thread", "accelerator", "collectives", "input collectives", "copies"}[s]
}

// Kind is what a node needs beside its stream.
type Kind uint8

// The kinds of nodes.
const (
	Work       Kind = iota // nothing
	Kernel                 // the accelerator: concurrent kernels share it, and collectives slow it down
	Collective             // the wires: concurrent collectives share them
)

// Phase is a part of the step whose work on the slowest rank takes longer than on the others.
type Phase uint8

// The phases.
const (
	Even     Phase = iota // as long on all ranks
	Forward               // of the forward pass
	Backward              // of the backward pass
)

// Node is a piece of work in every step.
type Node struct {
	Name   string
	Part   string // of the step, for reports
	Stream Stream
	Kind   Kind
	Phase  Phase
	// Time is the time of the node when nothing else runs.
	Time unit.Tick
	// Launch is the time that the host thread needs before the node can start.
	Launch unit.Tick
	// After has the indices of nodes before this one whose end the node awaits, AfterPrevious those of the
	// step before.
	After, AfterPrevious []int
	// Needs says which resources Time is due to. The shares add up to 1; what is missing is a plain delay.
	Needs []Need
}

// Need is the share of a node's time that is due to a resource: better by an infinite factor, the resource
// would save this share.
type Need struct {
	Resource string
	Share    float64
}

// Step is the work of one rank in every step. Nodes of a stream run in the order of the list.
type Step struct {
	Nodes []Node
	// Interference is the share of its speed that the accelerator loses for kernels while a collective runs.
	Interference float64
}

// add appends a node and returns its index.
func (s *Step) add(n Node) int {
	s.Nodes = append(s.Nodes, n)
	return len(s.Nodes) - 1
}

// slowDown makes the kernels and the host thread of the step take a number of times as long; 0 means 1.
func (s *Step) slowDown(factor float64) {
	if factor == 0 {
		return
	}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		n.Launch = n.Launch.Scale(factor)
		if n.Kind == Kernel || n.Stream == Host {
			n.Time = n.Time.Scale(factor)
		}
	}
}

// Validate reports the first node that cannot run.
func (s *Step) Validate() error {
	if !(s.Interference >= 0 && s.Interference < 1) {
		return fmt.Errorf("interference = %v; want 0 to below 1", s.Interference)
	}
	if len(s.Nodes) == 0 {
		return fmt.Errorf("a step without nodes; add one")
	}
	for i, n := range s.Nodes {
		if n.Stream >= streams || n.Time < 0 || n.Launch < 0 {
			return fmt.Errorf("node %d %s: stream %d, time %v, launch %v; want a stream, and at least 0", i,
				n.Name,
				n.Stream, n.Time, n.Launch)
		}
		for _, j := range n.After {
			if j < 0 || j >= i {
				return fmt.Errorf("node %d %s: after node %d; want one of those before it", i, n.Name, j)
			}
		}
		for _, j := range n.AfterPrevious {
			if j < 0 || j >= len(s.Nodes) {
				return fmt.Errorf("node %d %s: after node %d of the step before; want one of %d nodes", i,
					n.Name, j,
					len(s.Nodes))
			}
		}
	}
	return nil
}
