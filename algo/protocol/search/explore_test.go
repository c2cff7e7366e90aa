package search

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/protocol/pace"
	"tandem/algo/protocol/role"
	"tandem/algo/rng"
	"tandem/algo/unit"
)

const limit = 2_000_000

var long = flag.Bool("long", false, "search larger settings")

func setting(rule pace.Rule, ranks, steps, workers, pss int32) Setting {
	return Setting{Eager: true, Config: role.Config{
		Ranks: ranks, EmbeddingWorkers: workers, EmbeddingPSs: pss, Steps: steps,
		Rule: rule, Prefetch: 4, EdgeWindow: 4, Buckets: []unit.Bytes{8}, DensePSs: denseShards(rule, 1),
	}}
}

// denseShards returns the shards of n dense PSs, or nil if the rule has no dense PS.
func denseShards(rule pace.Rule, n int32) []unit.Bytes {
	if !rule.Dense().DensePSs {
		return nil
	}
	return make([]unit.Bytes, n)
}

func name(rule pace.Rule) string { return fmt.Sprintf("%s%+v", rule.Name(), rule) }

var smallRules = []pace.Rule{
	pace.Sync{Overlap: pace.OverlapNone},
	pace.Sync{Overlap: pace.OverlapIDs},
	pace.Sync{Overlap: pace.OverlapIDsDS},
	pace.Hybrid{Staleness: 0, Overlap: pace.HybridNaive},
	pace.Hybrid{Staleness: 1, Overlap: pace.HybridNaive},
	pace.Hybrid{Staleness: 1, Overlap: pace.HybridDS},
	pace.AsyncPS{Staleness: 0, Overlap: pace.PullAfterPush},
	pace.AsyncPS{Staleness: 1, Overlap: pace.PullAfterPush},
	pace.AsyncPS{Staleness: 1, Overlap: pace.PullEarly},
	pace.SSP{AsyncPS: pace.AsyncPS{Staleness: 0, Overlap: pace.PullAfterPush}, Slack: 0},
	pace.SSP{AsyncPS: pace.AsyncPS{Staleness: 0, Overlap: pace.PullAfterPush}, Slack: 1},
	pace.SSP{AsyncPS: pace.AsyncPS{Staleness: 1, Overlap: pace.PullEarly}, Slack: 0},
	pace.AsyncAverage{Staleness: 0, Every: 1},
	pace.AsyncAverage{Staleness: 1, Every: 3},
}

// redoRules are rules of which more roles need a redo log, or need it for more.
var redoRules = []pace.Rule{
	pace.GBA{AsyncPS: pace.AsyncPS{Staleness: 1, Overlap: pace.PullAfterPush}, Batches: 2, Tolerance: 1},
	pace.BackupWorkers{WaitFor: 1, Overlap: pace.OverlapNone},
}

// In every order of events of 2 ranks, 4 steps, 1 EW and 1 PS the invariants hold, and the largest staleness
// and the largest lead are equal to their bounds, as far as 4 steps allow.
func TestBoundsAreReachedWithTwoRanks(t *testing.T) {
	t.Parallel()
	const steps = 4
	for _, rule := range smallRules {
		t.Run(name(rule), func(t *testing.T) {
			r, err := Explore(setting(rule, 2, steps, 1, 1), limit)
			if err != nil {
				t.Fatal(err)
			}
			t.Log(r)
			b := rule.Bounds(2)
			if r.Seen.Own != b.Own || r.Seen.Cross != min(b.Cross, steps-1) || r.Seen.Inflight != b.Inflight {
				t.Errorf("%v; want the bounds to be reached: %+v", r, b)
			}
			if lead := min(rule.Lead(), steps-1); rule.Dense().DensePSs && r.Seen.Lead != lead {
				t.Errorf("largest lead %d, want %d", r.Seen.Lead, lead)
			}
		})
	}
}

// The invariants of every registered mode hold in every order of events of 2 ranks and 3 steps. The settings
// of the mode are one more than the smallest, and then two more: if a setting is a number of first steps, 1
// may have no effect.
func TestEveryModeKeepsItsInvariants(t *testing.T) {
	t.Parallel()
	for _, mode := range pace.Modes() {
		t.Run(mode, func(t *testing.T) {
			const ranks = 2
			var before map[string]int
			for _, more := range []int{1, 2} {
				values := map[string]int{}
				for _, s := range pace.SettingsOf(mode) {
					values[s.Name] = min(s.Min.At(ranks)+more, s.Max.At(ranks))
				}
				if before != nil && maps.Equal(values, before) {
					continue
				}
				before = values
				rule, err := pace.New(mode, pace.Settings{Staleness: 1, Ranks: ranks, Values: values})
				if err != nil {
					t.Fatal(err)
				}
				r, err := Explore(setting(rule, ranks, 3, 1, 1), limit)
				if err != nil {
					t.Fatalf("%+v: %v", rule, err)
				}
				t.Logf("%+v: %v", rule, r)
			}
		})
	}
}

// In every order of pulls and pushes of 2 ranks the dense staleness is within its bound and reaches it, as
// far as 3 steps allow.
func TestDenseStalenessOfTwoRanksReachesItsBound(t *testing.T) {
	t.Parallel()
	const steps = 3
	for _, rule := range smallRules {
		if !rule.Dense().DensePSs {
			continue
		}
		t.Run(name(rule), func(t *testing.T) {
			set := setting(rule, 2, steps, 1, 1)
			set.DenseOrders = true
			set.Touches = func(int32, int32, int32) bool { return false }
			r, err := Explore(set, limit)
			if err != nil {
				t.Fatal(err)
			}
			t.Log(r)
			if most := min(rule.Bounds(2).Dense, steps); r.Seen.Dense < most {
				t.Errorf("largest dense staleness %d, want %d", r.Seen.Dense, most)
			}
		})
	}
}

// faultSizes are the sizes of clusters that are searched with one fault.
var faultSizes = []struct {
	ranks, steps, workers, pss, buckets, window int32
	every                                       int // without -long, one of this number of rules; 0: none
}{
	{1, 1, 1, 1, 1, 4, 1},
	{1, 1, 1, 2, 2, 1, 2},
	{1, 2, 1, 1, 1, 1, 0},
	{1, 2, 2, 1, 2, 1, 0},
	{2, 1, 1, 1, 1, 4, 0},
	{2, 1, 2, 1, 1, 4, 0},
}

// The invariants hold in every order of events with one fault at any time: a message is lost or repeated, a
// role other than an NN worker crashes and comes back later, a PS by its redo log, or, with -long, the timers
// fire early.
func TestInvariantsHoldWithOneFault(t *testing.T) {
	t.Parallel()
	for i, rule := range slices.Concat(smallRules, redoRules) {
		if testing.Short() && i%4 != 0 {
			continue
		}
		for _, size := range faultSizes {
			if !*long && (size.every == 0 || i%size.every != 0) {
				continue
			}
			t.Run(fmt.Sprintf("%s/%+v", name(rule), size), func(t *testing.T) {
				set := setting(rule, size.ranks, size.steps, size.workers, size.pss)
				set.Config.Buckets = make([]unit.Bytes, size.buckets)
				set.Config.EdgeWindow, set.Config.Retry = size.window, unit.Second
				set.Eager, set.Faults, set.EarlyTimers = false, 1, *long
				r, err := Explore(set, 4*limit)
				if err != nil {
					t.Fatal(err)
				}
				t.Log(r)
			})
		}
	}
}

// A search that performs commuting actions at once reaches the same reads as one that tries every order.
func TestEagerReachesTheSameReads(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("searches every order of events")
	}
	for i, rule := range smallRules {
		for k, size := range []struct{ ranks, steps int32 }{{2, 1}, {1, 2}, {1, 3}, {2, 2}} {
			large := size.ranks*size.steps > 2 || rule.Lead() < pace.Unbounded && rule.OverlapSync()
			if (large || k != i%2) && !*long {
				continue // small sizes take turns
			}
			t.Run(fmt.Sprintf("%s/%dx%d", name(rule), size.ranks, size.steps), func(t *testing.T) {
				set := setting(rule, size.ranks, size.steps, 1, 1)
				eager, err := Explore(set, limit)
				if err != nil {
					t.Fatal(err)
				}
				set.DenseOrders = true
				dense, err := Explore(set, limit)
				if err != nil {
					t.Fatal(err)
				}
				eager.Seen.Lead, eager.Seen.Dense = dense.Seen.Lead, dense.Seen.Dense
				set.Eager, set.DenseOrders = false, false
				full, err := Explore(set, 20*limit)
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("eager: %v\nfull: %v", eager, full)
				eager.Seen.Reads, full.Seen.Reads = 0, 0
				if eager.Seen != full.Seen || eager.States >= full.States {
					t.Errorf("eager: %+v, full: %+v; want equal reads from fewer states", eager, full)
				}
			})
		}
	}
}

// The invariants hold on random paths through larger clusters, with more faults.
func TestInvariantsHoldOnRandomWalks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		staleness := rapid.IntRange(0, 4).Draw(t, "staleness")
		async := pace.AsyncPS{
			Staleness: staleness,
			Overlap: rapid.SampledFrom([]pace.PullOverlap{pace.PullAfterPush, pace.PullEarly}).Draw(t,
				"pull"),
		}
		rule := rapid.SampledFrom([]pace.Rule{
			pace.Sync{Overlap: pace.OverlapNone}, pace.Sync{Overlap: pace.OverlapIDs},
			pace.Sync{Overlap: pace.OverlapIDsDS},
			pace.Hybrid{Staleness: staleness, Overlap: pace.HybridNaive},
			pace.Hybrid{Staleness: staleness, Overlap: pace.HybridDS},
			async, pace.SSP{AsyncPS: async, Slack: rapid.IntRange(0, 3).Draw(t, "slack")},
			pace.AsyncAverage{Staleness: staleness, Every: rapid.IntRange(1, 5).Draw(t, "every")},
		}).Draw(t, "rule")
		count := func(name string, most int32) int32 { return rapid.Int32Range(1, most).Draw(t, name) }
		set := Setting{Config: role.Config{
			Ranks: count("ranks", 4), EmbeddingWorkers: count("EWs", 3), EmbeddingPSs: count("PSs", 3),
			Steps: count("steps", 10), Rule: rule, Prefetch: count("prefetch", 6),
			EdgeWindow:  count("window", 3),
			WindowBytes: unit.Bytes(rapid.IntRange(0, 200).Draw(t, "window bytes")),
			Buckets:     make([]unit.Bytes, count("buckets", 3)),
		}}
		set.Config.DensePSs = denseShards(rule, count("dense PSs", 3))
		set.Faults = rapid.IntRange(0, 8).Draw(t, "faults")
		if set.Faults > 0 {
			set.Config.Retry, set.EarlyTimers = unit.Second, true
		}
		seed := rapid.Uint64().Draw(t, "seed")
		set.Touches = func(rank, step, shard int32) bool {
			return rng.Unit(rng.Key(seed, "touch", uint64(rank), uint64(step)), int(shard)) < 0.6
		}
		if _, err := Walk(set, rng.New(seed, "walk")); err != nil {
			t.Fatal(err)
		}
	})
}

// The error of a search contains the history.
func TestErrorContainsTheHistory(t *testing.T) {
	t.Parallel()
	set := setting(greedy{pace.Hybrid{Staleness: 0, Overlap: pace.HybridNaive}}, 1, 2, 1, 1)
	_, err := Explore(set, limit)
	if err == nil {
		t.Fatal("Explore returned no error for a rule that reads too far ahead")
	}
	for _, want := range []string{"too stale", "promised 0", "\n  1. ", "Lookup rank 0 step 0"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not contain %q:\n%v", want, err)
		}
	}
}
