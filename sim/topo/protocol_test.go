package topo

import (
	"math"
	"strings"
	"testing"

	"tandem/algo/unit"
)

func TestShareFallsWithSmallerMessagesAndMoreNodes(t *testing.T) {
	s := Share{Large: 0.8, Half: 1000, PerDoubling: 0.1}
	for _, x := range []struct {
		bytes float64
		nodes int
		want  float64
	}{
		{1000, 2, 0.4}, {1000, 1, 0.4}, {9000, 2, 0.72}, {9000, 8, 0.72 * 0.9 * 0.9},
		{1e15, 64, 0.8 * math.Pow(0.9, 5)},
	} {
		if got := s.At(x.bytes, x.nodes); math.Abs(got-x.want) > 1e-9 {
			t.Errorf("share of %v bytes on %d nodes = %v, want %v", x.bytes, x.nodes, got, x.want)
		}
	}
	if got := (&Share{}).At(5, 5); got != 1 {
		t.Errorf("zero share = %v, want 1", got)
	}
}

func TestWrongPricingsAreRefused(t *testing.T) {
	for _, x := range []struct {
		want    string
		pricing Pricing
	}{
		{"inside: share of large messages = 0", Pricing{Inside: Share{Half: 1}}},
		{"across: share of large messages = 1.5", Pricing{Across: Share{Large: 1.5}}},
		{"half of the share = -1B", Pricing{Across: Share{Large: 1, Half: -1}}},
		{"lost per doubling = 1", Pricing{Across: Share{Large: 1, PerDoubling: 1}}},
		{`protocol "x": ring.share = 0`, Pricing{Protocols: []Protocol{{Name: "x"}}}},
		{`protocol "x": tree: latency = -1ns`, Pricing{Protocols: []Protocol{{
			Name: "x", Ring: Constants{Share: 1}, Tree: Constants{Share: 1, PCIe: -1}}}}},
	} {
		if err := x.pricing.Validate(); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("error %v, want one with %q", err, x.want)
		}
	}
	if err := (&Pricing{Protocols: NCCL()}).Validate(); err != nil {
		t.Error(err)
	}
}

// 64 messages of 100 kB at a quarter of the cards' rate take four times as long, and so does the wire of the
// node at its own share.
func TestSharesDivideTheRateOfTheirWires(t *testing.T) {
	for _, x := range []struct {
		accelerators int
		pricing      Pricing
		factor       float64
	}{
		{64, Pricing{Across: Share{Large: 0.5, Half: 100_000}}, 4},
		{64, Pricing{Inside: Share{Large: 0.9}}, 1},
		{8, Pricing{Inside: Share{Large: 0.5}}, 2},
		{8, Pricing{Across: Share{Large: 0.5}}, 1},
		{64, Pricing{Protocols: []Protocol{{Ring: Constants{Share: 0.5}}}}, 2},
	} {
		x.pricing.Algorithm = Pairwise
		g := compile(t, folded(cluster(x.accelerators)))
		bytes := 100_000 * unit.Bytes(x.accelerators)
		whole := transferTime(g, must(t)(g.World().AllToAll(bytes, &Pricing{Algorithm: Pairwise})))
		got := transferTime(g, must(t)(g.World().AllToAll(bytes, &x.pricing)))
		if math.Abs(float64(got)/float64(whole)-x.factor) > 0.001 {
			t.Errorf("%d accelerators, %+v: %v, whole rate %v; want a factor %v", x.accelerators, x.pricing,
				got,
				whole, x.factor)
		}
	}
}
