package topo

import (
	"fmt"
	"math"

	"tandem/algo/unit"
)

// Protocol is a way in which a library moves the messages of a collective, with its latencies.
type Protocol struct {
	Name string    `yaml:"name"`
	Ring Constants `yaml:"ring"` // and for all-to-all
	Tree Constants `yaml:"tree"`
	// Post is the time to hand a message to a card, for each message of an all-to-all.
	Post unit.Tick `yaml:"post"`
}

// Constants are the latencies of an algorithm with a protocol, and the share of every wire's rate that is
// left for payload.
type Constants struct {
	Base    unit.Tick `yaml:"base"`    // once
	NVLink  unit.Tick `yaml:"nvlink"`  // of a message inside a node with a wire between accelerators
	PCIe    unit.Tick `yaml:"pcie"`    // … without
	Network unit.Tick `yaml:"network"` // of a message between nodes
	Share   float64   `yaml:"share"`
}

// NCCL returns the protocols of NCCL with the constants of its tuner.
//
// Source: NVIDIA/nccl, src/graph/tuning.cc: baseLat, hwLat and the corrections of bandwidth (2024); post is
// the overhead of its proxy on Intel processors.
func NCCL() []Protocol {
	const us = unit.Microsecond
	return []Protocol{
		{
			Name: "LL", Post: us,
			Ring: Constants{Base: 6600, NVLink: 600, PCIe: us, Network: 2700, Share: 0.5},
			Tree: Constants{Base: 6800, NVLink: 600, PCIe: us, Network: 5 * us, Share: 1 / 3.8},
		},
		{
			Name: "LL128", Post: us,
			Ring: Constants{Base: 14 * us, NVLink: 1900, PCIe: 2500, Network: 4 * us, Share: 0.92},
			Tree: Constants{Base: 14 * us, NVLink: 1250, PCIe: 1900, Network: 8500, Share: 0.92 * 0.92},
		},
		{
			Name: "Simple", Post: us,
			Ring: Constants{Base: 8400, NVLink: 3400, PCIe: 5700, Network: 14 * us, Share: 1},
			Tree: Constants{Base: 8400, NVLink: 4 * us, PCIe: 4 * us, Network: 14 * us, Share: 0.92},
		},
	}
}

// Share is the share of a wire's rate that the messages of a collective reach. The zero Share is 1 for all
// messages.
type Share struct {
	Large float64 // of messages without limit of size, between two nodes
	// Half is the size of a message, from one member to another, that reaches half of that: every message
	// costs as much time as Half more bytes.
	Half unit.Bytes
	// PerDoubling is the part of the share that is lost each time the number of nodes doubles.
	PerDoubling float64
}

// At returns the share of messages of a size among a number of nodes:
//
//	large · bytes/(bytes + half) · (1 − perDoubling)^log2(nodes/2)
//
// One node is as good as two.
func (s *Share) At(bytes float64, nodes int) float64 {
	if *s == (Share{}) {
		return 1
	}
	share := s.Large * math.Pow(1-s.PerDoubling, max(0, math.Log2(float64(nodes)/2)))
	if s.Half > 0 {
		// A message of no bytes takes no rate: any share but 0 will do.
		share *= max(bytes, 1) / (max(bytes, 1) + float64(s.Half))
	}
	return share
}

// validate checks a share.
func (s *Share) validate() error {
	switch {
	case *s == (Share{}):
		return nil
	case !(s.Large > 0 && s.Large <= 1):
		return fmt.Errorf("share of large messages = %v; want more than 0 and at most 1", s.Large)
	case s.Half < 0:
		return fmt.Errorf("message that reaches half of the share = %v; want at least 0", s.Half)
	case !(s.PerDoubling >= 0 && s.PerDoubling < 1):
		return fmt.Errorf("part of the share lost per doubling = %v; want at least 0 and less than 1",
			s.PerDoubling)
	}
	return nil
}

// validate checks a protocol.
func (p *Protocol) validate() error {
	for _, c := range []struct {
		name string
		*Constants
	}{{"ring", &p.Ring}, {"tree", &p.Tree}} {
		if !(c.Share > 0 && c.Share <= 1) {
			return fmt.Errorf("protocol %q: %s.share = %v; want more than 0 and at most 1", p.Name, c.name,
				c.Share)
		}
		for _, l := range []unit.Tick{c.Base, c.NVLink, c.PCIe, c.Network, p.Post} {
			if err := checkLatency("latency", l); err != nil {
				return fmt.Errorf("protocol %q: %s: %w", p.Name, c.name, err)
			}
		}
	}
	return nil
}
