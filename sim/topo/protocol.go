package topo

import (
	"fmt"
	"sort"

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

// Share is the share of a wire's rate that the messages of a collective reach, by the bytes of a message from
// one member to another and by the number of nodes: linear between its points and constant outside. The zero
// Share is 1 everywhere.
type Share struct {
	Bytes  []unit.Bytes `yaml:"bytes"`  // ascending
	Nodes  []int        `yaml:"nodes"`  // ascending
	Shares [][]float64  `yaml:"shares"` // by nodes, then bytes; in (0, 1]
}

// At returns the share for messages of a size on a number of nodes.
func (s *Share) At(bytes float64, nodes int) float64 {
	if len(s.Shares) == 0 {
		return 1
	}
	i, x := position(len(s.Nodes), func(k int) float64 { return float64(s.Nodes[k]) }, float64(nodes))
	j, y := position(len(s.Bytes), func(k int) float64 { return float64(s.Bytes[k]) }, bytes)
	at := func(row []float64) float64 {
		if y == 0 {
			return row[j]
		}
		return row[j] + float64(y*(row[j+1]-row[j]))
	}
	if x == 0 {
		return at(s.Shares[i])
	}
	low := at(s.Shares[i])
	return low + float64(x*(at(s.Shares[i+1])-low))
}

// position returns where a value lies among n ascending points: after point i, by a part of the gap to the
// next. The part is 0 outside the points.
func position(n int, point func(int) float64, value float64) (i int, part float64) {
	i = sort.Search(n, func(k int) bool { return point(k) > value }) - 1
	if i < 0 || i == n-1 {
		return max(i, 0), 0
	}
	return i, (value - point(i)) / (point(i+1) - point(i))
}

// Validate checks the points.
func (s *Share) Validate() error {
	if len(s.Bytes) == 0 && len(s.Nodes) == 0 && len(s.Shares) == 0 {
		return nil
	}
	if len(s.Bytes) == 0 || len(s.Nodes) == 0 || len(s.Shares) != len(s.Nodes) {
		return fmt.Errorf("%d sizes, %d node counts, %d rows of shares; want some sizes and a row for each "+
			"node "+
			"count", len(s.Bytes), len(s.Nodes), len(s.Shares))
	}
	for i, b := range s.Bytes {
		if b < 0 || i > 0 && b <= s.Bytes[i-1] {
			return fmt.Errorf("bytes = %v; want ascending sizes", s.Bytes)
		}
	}
	for i, n := range s.Nodes {
		if n < 1 || i > 0 && n <= s.Nodes[i-1] {
			return fmt.Errorf("nodes = %v; want ascending numbers, from 1", s.Nodes)
		}
		if len(s.Shares[i]) != len(s.Bytes) {
			return fmt.Errorf("%d shares for %d nodes; want one for each of %d sizes", len(s.Shares[i]), n,
				len(s.Bytes))
		}
		for _, share := range s.Shares[i] {
			if !(share > 0 && share <= 1) {
				return fmt.Errorf("share %v for %d nodes; want more than 0 and at most 1", share, n)
			}
		}
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
