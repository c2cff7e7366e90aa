package topo

import (
	"math"
	"strings"
	"testing"

	"tandem/algo/unit"
)

func TestShareIsLinearBetweenItsPoints(t *testing.T) {
	s := Share{
		Bytes: []unit.Bytes{1000, 3000}, Nodes: []int{2, 4, 8},
		Shares: [][]float64{{0.2, 0.4}, {0.1, 0.2}, {0.1, 0.1}},
	}
	for _, x := range []struct {
		bytes float64
		nodes int
		want  float64
	}{
		{1000, 2, 0.2}, {0, 1, 0.2}, {2000, 2, 0.3}, {9000, 2, 0.4}, {2000, 3, 0.225}, {2500, 4, 0.175},
		{3000, 7, 0.125}, {5000, 100, 0.1},
	} {
		if got := s.At(x.bytes, x.nodes); math.Abs(got-x.want) > 1e-12 {
			t.Errorf("share of %v bytes on %d nodes = %v, want %v", x.bytes, x.nodes, got, x.want)
		}
	}
	if got := (&Share{}).At(5, 5); got != 1 {
		t.Errorf("zero share = %v, want 1", got)
	}
}

func TestWrongPricingsAreRefused(t *testing.T) {
	two := []unit.Bytes{1, 2}
	for _, x := range []struct {
		want    string
		pricing Pricing
	}{
		{"inside: 1 sizes, 0 node counts", Pricing{Inside: Share{Bytes: two[:1]}}},
		{"bytes = [1B 1B]", Pricing{Across: Share{[]unit.Bytes{1, 1}, []int{1}, [][]float64{{1, 1}}}}},
		{"nodes = [0]", Pricing{Across: Share{two, []int{0}, [][]float64{{1, 1}}}}},
		{"1 shares for 3 nodes", Pricing{Across: Share{two, []int{3}, [][]float64{{1}}}}},
		{"share 0 for 3 nodes", Pricing{Across: Share{two, []int{3}, [][]float64{{1, 0}}}}},
		{"share 1.5", Pricing{Across: Share{two, []int{3}, [][]float64{{1, 1.5}}}}},
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
		{64, Pricing{Across: Share{[]unit.Bytes{0, 200_000}, []int{8}, [][]float64{{0, 0.5}}}}, 4},
		{64, Pricing{Inside: Share{[]unit.Bytes{1}, []int{1}, [][]float64{{0.9}}}}, 1},
		{8, Pricing{Inside: Share{[]unit.Bytes{1}, []int{1}, [][]float64{{0.5}}}}, 2},
		{8, Pricing{Across: Share{[]unit.Bytes{1}, []int{1}, [][]float64{{0.5}}}}, 1},
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
