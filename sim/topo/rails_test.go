package topo

import (
	"fmt"
	"math"
	"testing"

	"tandem/algo/unit"
)

// onRails is twoNodes with rails that a rack of both nodes shares.
func onRails(between string, cards int) Spec {
	s := twoNodes(InsideSwitch, false, false)
	s.Groups[0].Cards.Count = cards
	s.Network = Network{Kind: NetworkRails, Latency: 14_000, NodesPerRack: 2, Oversubscription: 1,
		BetweenRails: between}
	return s
}

// On rails, members of an all-to-all hand what is for another rail to the accelerator of their node that is
// on it, at the same place in its block; or it changes the rail through the spine. Each of eight members has
// an eighth of the bytes for each, itself included.
func TestWhatIsForAnotherRailIsHandedOver(t *testing.T) {
	const bytes = 1e6
	for _, x := range []struct {
		between, algorithm    string
		cards                 int
		inside, card, uplinks float64
	}{
		{RailsNVLink, Pairwise, 4, 3./8 + 3./8, 1. / 2, 0},
		{RailsNVLink, Pairwise, 2, 3./8 + 2./8, 1, 0},
		{RailsNVLink, Pairwise, 1, 3. / 8, 2, 0},
		{RailsNVLink, Hierarchical, 4, 3. / 4, 1. / 2, 0},
		// a quarter of what each of four rails sends, half of a byte, keeps the rail
		{RailsSpine, Pairwise, 4, 3. / 8, 1. / 2, 2 * 3. / 8},
		{RailsSpine, Pairwise, 2, 3. / 8, 1, 2 * 1. / 2},
		{RailsSpine, Hierarchical, 4, 3. / 4, 1. / 2, 0},
	} {
		g := compile(t, onRails(x.between, x.cards))
		p := must(t)(g.World().AllToAll(bytes, &Pricing{Algorithm: x.algorithm}))
		got := loads(t, g, &p, bytes)
		for name, want := range map[string]float64{"accelerator": x.inside, "card": x.card,
			"uplink of a rack": x.uplinks, "host link": 0} {
			if math.Abs(got[name]-want) > 1e-9 {
				t.Errorf("%s, %d cards, %s: each %s carries %v, want %v", x.between, x.cards, p.Name, name,
					got[name],
					want)
			}
		}
	}
}

// A message to an accelerator on another rail first goes to the accelerator at the same place of that rail's
// block, over their wire, and then over the cards of the rail.
func TestMessagesChangeRailsInsideTheirNode(t *testing.T) {
	g := compile(t, onRails(RailsNVLink, 2))
	for from := range 4 {
		for to := range 4 {
			r, err := g.Route(Port{0, from}, Port{1, to})
			if err != nil {
				t.Fatal(err)
			}
			rail, latency := to/2, unit.Tick(14_000)
			want := map[string]float64{}
			if proxy := 2*rail + from%2; proxy != from {
				want[fmt.Sprint("accelerator ", from, " out")], want[fmt.Sprint("accelerator ", proxy,
					" in")] = 1, 1
				latency += 3000
			}
			want[fmt.Sprint("card ", rail, " out")], want[fmt.Sprint("card ", rail, " in")] = 1, 1
			got := map[string]float64{}
			a, b := g.class(0), g.class(1)
			for _, h := range r.Hops {
				direction := []string{"out", "in"}[h.Link&1]
				switch {
				case h.Link >= a.inside && h.Link < a.hostLinks:
					got[fmt.Sprint("accelerator ", (h.Link-a.inside)/2, " ", direction)] = h.Multiplicity
				case h.Link >= a.cards && h.Link < a.cards+4:
					got[fmt.Sprint("card ", (h.Link-a.cards)/2, " ", direction)] = h.Multiplicity
				case h.Link >= b.cards && h.Link < b.cards+4:
					got[fmt.Sprint("card ", (h.Link-b.cards)/2, " ", direction)] = h.Multiplicity
				default:
					t.Errorf("from %d to %d over %s", from, to, g.Links()[h.Link].Name)
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(want) || r.Latency != latency {
				t.Errorf("from %d to %d over %v in %v, want %v in %v", from, to, got, r.Latency, want,
					latency)
			}
		}
	}
}

// The uplinks of a rack have the rate of all cards of its nodes, front cards too, over the oversubscription;
// those of a rail that of its cards.
func TestUplinksHaveTheRateOfTheCardsBelow(t *testing.T) {
	s := twoNodes(InsideSwitch, false, false)
	s.Groups[0].Front = Cards{Count: 3, Rate: 7e9}
	s.Network.Oversubscription = 4
	rails := onRails(RailsSpine, 2)
	rails.Network.Oversubscription = 4
	whole := onRails(RailsSpine, 2)
	whole.Network.NodesPerRack = 0
	for want, s := range map[unit.BytesPerSec]Spec{
		(2*10e9 + 3*7e9) / 2 / 4: s,     // two spines
		2 * 10e9 / 4:             rails, // of two nodes
		2 * 10e9:                 whole, // of all nodes of the zone
	} {
		g := compile(t, s)
		for _, l := range g.Uplinks() {
			if got := g.Links()[l].Capacity; math.Abs(float64(got/want)-1) > 1e-12 {
				t.Errorf("%s: %v, want %v", g.Links()[l].Name, got, want)
			}
		}
		if len(g.Uplinks()) == 0 {
			t.Errorf("%+v: no uplinks", s.Network)
		}
	}
}
