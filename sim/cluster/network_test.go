package cluster

import (
	"testing"

	"tandem/algo/job"
	"tandem/algo/protocol/pace"
	"tandem/algo/unit"
	"tandem/sim/device"
)

// The part of an all-reduce between servers takes the sum of a server's cards, and no more than the uplink of
// a rack: a ring of 4 servers in 2 racks crosses each uplink once, with as many bytes as it sends from each
// server.
func TestAllReduceTakesTheTightestOfCardsAndUplinks(t *testing.T) {
	j := training(job.Hybrid, 32) // 4 servers of 8
	j.Training.Overlap = "none"
	layout, w := quiet(t)
	for _, x := range []struct {
		name     string
		cards    int
		rate     float64 // of all cards, of that of one
		topology job.Topology
		want     float64 // rate of the exchange, of that of one card
	}{
		{"one card", 1, 1, job.Topology{}, 1},
		{"the rate of one card as 8 cards", 8, 1, job.Topology{}, 1},
		{"a card for each accelerator", 8, 8, job.Topology{}, 8},
		{"3 cards for 8 accelerators", 3, 3, job.Topology{}, 3},
		{"rails", 8, 8, job.Topology{Kind: job.TopologyRails}, 8},
		{"racks", 1, 1, job.Topology{Kind: job.TopologyRacks, HostsPerRack: 2}, 1},
		{"oversubscribed racks", 1, 1,
			job.Topology{Kind: job.TopologyRacks, HostsPerRack: 2, Oversubscription: 8}, 0.25},
		{"oversubscribed rails", 8, 8,
			job.Topology{Kind: job.TopologyRails, HostsPerRack: 2, Oversubscription: 8}, 2},
	} {
		h := hardwareOf(t, small())
		h.Cluster.Topology = x.topology
		h.Server.NetworkCards.Mid = x.cards
		p := h.Resolve()
		card := p.ServerHost.Network * p.NetworkShare
		h.Server.Network.Mid *= unit.BytesPerSec(x.rate)
		want := unit.Tick(0)
		for _, k := range layout.Buckets {
			across := device.Wire{Bandwidth: card * unit.BytesPerSec(x.want), Latency: p.NetworkWire.Latency}
			want += hierarchical(4, 8, float64(4*(k.Hi-k.Lo)), p.InsideWire, across)
		}
		a, err := Run(h, j, layout, w, Options{check: true})
		if err != nil {
			t.Fatal(err)
		}
		if d := a.StageTimes[pace.DS] - want; d < -24 || d > 24 { // four roundings for each of 6 buckets
			t.Errorf("%s: DS takes %v, the closed form %v", x.name, a.StageTimes[pace.DS], want)
		}
	}
}

// Racks, a fat tree and rails whose uplinks carry all that the cards can send take no time that a flat
// network does not take. With a hundredth of that, the uplinks are the busiest, and the step is longer.
func TestUplinksBindOnlyWhereTheyAreOversubscribed(t *testing.T) {
	for _, mode := range []string{job.Sync, job.AsyncPS} {
		run := func(topology job.Topology) Result {
			s := small()
			// Racks unfold the PSs by themselves.
			s.Topology, s.Unfold = topology, topology.Kind == "" || topology.Kind == job.TopologyRails
			return run(t, s, training(mode, 16), Options{check: true, WarmUp: 8, Measured: 8})
		}
		flat := run(job.Topology{})
		for _, kind := range []string{job.TopologyRacks, job.TopologyFatTree, job.TopologyRails} {
			topology := job.Topology{Kind: kind, HostsPerRack: 2}
			if a := run(topology); a.StepTime != flat.StepTime {
				t.Errorf("%s, %s: a step takes %v, on a flat network %v", mode, kind, a.StepTime,
					flat.StepTime)
			}
			topology.Oversubscription = 200
			a := run(topology)
			if busy := use(&a, "uplinks of racks, out").Busy; a.StepTime < flat.StepTime*2 || busy < 0.3 {
				t.Errorf("%s, oversubscribed %s: a step takes %v, flat %v; uplinks are busy for %.3f",
					mode, kind, a.StepTime, flat.StepTime, busy)
			}
		}
	}
}

// Front cards take the messages of roles off the cards of the all-reduce.
func TestFrontCardsCarryTheMessagesOfRoles(t *testing.T) {
	h := hardwareOf(t, small())
	h.Server.FrontNetwork, h.Server.FrontNetworkCards = h.Server.Network, h.Server.NetworkCards
	h.Server.FrontNetworkCards.Mid = 1
	without, err := Run(hardwareOf(t, small()), training(job.Sync, 16), tower(t), clicks(),
		Options{check: true})
	if err != nil {
		t.Fatal(err)
	}
	with, err := Run(h, training(job.Sync, 16), tower(t), clicks(), Options{check: true})
	if err != nil {
		t.Fatal(err)
	}
	if with.StepTime > without.StepTime || with.Bytes != without.Bytes {
		t.Errorf("a step takes %v for %v of messages, without front cards %v for %v", with.StepTime,
			with.Bytes,
			without.StepTime, without.Bytes)
	}
	a, b := use(&with, "GPU server network in").Busy, use(&without, "GPU server network in").Busy
	if a >= b || a == 0 {
		t.Errorf("the front cards are busy for %v, the cards of a server without them for %v", a, b)
	}
}

// A topology that cannot be is an error of the run.
func TestImpossibleTopologyIsAnError(t *testing.T) {
	h := hardwareOf(t, small())
	h.Cluster.Topology = job.Topology{Kind: job.TopologyRacks}
	if _, err := Run(h, training(job.Sync, 8), tower(t), clicks(), Options{}); err == nil {
		t.Error("no error for racks of no hosts")
	}
}

// Ranks on the last servers have other accelerators. Ranks wait for each other, so a step takes as long as if
// all had the slower ones; in the median rank a forward pass takes as long as if all had the faster ones.
func TestMixedServersHaveTheirOwnAccelerators(t *testing.T) {
	layout, w := quiet(t)
	run := func(accelerator string, mixed ...job.MixedServers) Result {
		s := small()
		s.Accelerator, s.Mixed = accelerator, mixed
		a, err := Run(hardwareOf(t, s), training(job.Hybrid, 32), layout, w, Options{check: true})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	const fast, slow = "V100-SXM2-32GB", "T4"
	both := run(fast, job.MixedServers{Accelerator: slow, Servers: 1})
	allFast, allSlow := run(fast), run(slow)
	if both.StepTime != allSlow.StepTime || allFast.StepTime >= allSlow.StepTime {
		t.Errorf("a step takes %v with both accelerators, %v with %s, %v with %s", both.StepTime,
			allSlow.StepTime, slow, allFast.StepTime, fast)
	}
	fc := both.StageTimes[pace.FC]
	if fc != allFast.StageTimes[pace.FC] || fc >= allSlow.StageTimes[pace.FC] {
		t.Errorf("FC takes %v with both accelerators, %v with %s, %v with %s", fc,
			allSlow.StageTimes[pace.FC], slow, allFast.StageTimes[pace.FC], fast)
	}
}

// A sync step of one rank waits for four messages between the rank and its EW: if they are in different
// zones, it takes four times the latency between zones longer.
func TestStepCrossesZonesFourTimes(t *testing.T) {
	j := training(job.Sync, 1)
	j.Training.Overlap = "none"
	j.Training.Prefetch = 1000
	step := func(zone string) unit.Tick {
		s := small()
		s.EmbeddingWorkers.Count, s.EmbeddingWorkers.PerHost = 1, 1
		s.EmbeddingPSs.Count, s.EmbeddingPSs.PerHost = 1, 1
		s.ServerZone, s.Topology.ZoneRate, s.Topology.ZoneLatency = zone, 1e12, 2*unit.Millisecond
		return run(t, s, j, Options{WarmUp: 8, Measured: 8, check: true}).StepTime
	}
	if d := step("a") - step("") - 8*unit.Millisecond; d < -2 || d > 2 {
		t.Errorf("a step takes %v more than four latencies longer", d)
	}
}

// All messages between two zones share the link between them, those of folded PSs like those of single ones.
func TestZonesShareTheirLink(t *testing.T) {
	step := func(rate unit.BytesPerSec, unfold bool) Result {
		s := small()
		s.EmbeddingPSs.Zone, s.Topology.ZoneRate, s.Unfold = "b", rate, unfold
		return run(t, s, training(job.Hybrid, 8), Options{WarmUp: 8, Measured: 8, check: true})
	}
	wide, narrow, unfolded := step(1e12, false), step(3e7, false), step(3e7, true)
	if narrow.StepTime < 2*wide.StepTime || use(&narrow, "links between zones").Busy < 0.8 {
		t.Errorf("a step takes %v over a narrow link, %v over a wide one; the narrow link is busy for %.3f",
			narrow.StepTime, wide.StepTime, use(&narrow, "links between zones").Busy)
	}
	if q := float64(narrow.StepTime) / float64(unfolded.StepTime); q < 0.99 || q > 1.01 {
		t.Errorf("over a narrow link a step takes %v with folded PSs, %v with single ones", narrow.StepTime,
			unfolded.StepTime)
	}
}
