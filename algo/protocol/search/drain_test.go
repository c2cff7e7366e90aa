package search

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/pace"
	"tandem/algo/protocol/role"
	"tandem/algo/rng"
	"tandem/algo/unit"
)

// modeRule returns the rule of a mode in which each setting of the mode is by more above its smallest value.
func modeRule(t *testing.T, mode string, staleness, ranks, more int) pace.Rule {
	t.Helper()
	values := map[string]int{}
	for _, s := range pace.SettingsOf(mode) {
		values[s.Name] = min(s.Min.At(ranks)+more, s.Max.At(ranks))
	}
	rule, err := pace.New(mode, pace.Settings{Staleness: staleness, Ranks: ranks, Values: values})
	if err != nil {
		t.Fatal(err)
	}
	return rule
}

// A run that is requested to end at any time ends in every mode, after the same step on every rank: all
// batches of the earlier steps are trained and applied once, and none of the later.
func TestADrainedRunEndsAfterTheSameStepOnEveryRank(t *testing.T) {
	t.Parallel()
	for _, mode := range pace.Modes() {
		t.Run(mode, func(t *testing.T) {
			rule := modeRule(t, mode, 1, 2, 1)
			orders := []bool{false}
			if rule.Dense().DensePSs {
				orders = []bool{false, true}
			}
			for _, denseOrders := range orders {
				steps := int32(2)
				if *long {
					steps = 3
				}
				set := setting(rule, 2, steps, 1, 1)
				set.Drain, set.DenseOrders = true, denseOrders
				set.Config.Prefetch = 2
				r, err := Explore(set, limit)
				if err != nil {
					t.Fatal(err)
				}
				t.Log(r)
			}
		})
	}
}

// A drained run also ends in every order of events with one fault at any time, such as a crash of the data
// loader during the drain.
func TestADrainedRunEndsWithOneFault(t *testing.T) {
	t.Parallel()
	for _, mode := range pace.Modes() {
		for _, steps := range []int32{1, 2} {
			rule := modeRule(t, mode, 1, 1, 0)
			if !*long && (steps > 1 || rule.Dense().DensePSs) {
				continue
			}
			set := setting(rule, 1, steps, 1, 1)
			set.Drain, set.Eager, set.Faults, set.Config.Retry = true, false, 1, unit.Second
			r, err := Explore(set, 10*limit)
			if err != nil {
				t.Fatalf("%s: %v", mode, err)
			}
			t.Logf("%s, %d steps: %v", mode, steps, r)
		}
	}
}

// Drained runs end on random paths through larger clusters, with more faults.
func TestADrainedRunEndsOnRandomWalks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		count := func(name string, most int32) int32 { return rapid.Int32Range(1, most).Draw(r, name) }
		ranks := count("ranks", 4)
		rule := modeRule(t, rapid.SampledFrom(pace.Modes()).Draw(r, "mode"),
			rapid.IntRange(0, 3).Draw(r, "staleness"), int(ranks), rapid.IntRange(0, 3).Draw(r, "more"))
		set := Setting{Drain: true, Faults: rapid.IntRange(0, 8).Draw(r, "faults"), Config: role.Config{
			Ranks: ranks, EmbeddingWorkers: count("EWs", 3), EmbeddingPSs: count("PSs", 3),
			Steps: count("steps", 10), Rule: rule, Prefetch: count("prefetch", 6),
			EdgeWindow: count("window", 3), Buckets: make([]unit.Bytes, count("buckets", 2)),
			DensePSs: denseShards(rule, count("dense PSs", 2)),
		}}
		if set.Faults > 0 {
			set.Config.Retry, set.EarlyTimers = unit.Second, true
		}
		random := rng.New(rapid.Uint64().Draw(r, "seed"), "walk")
		for range 10 {
			if _, err := Walk(set, random); err != nil {
				r.Fatal(err)
			}
		}
	})
}

// The search finds each of these planted bugs of a drain.
func TestPlantedBugsOfADrainAreFound(t *testing.T) {
	t.Parallel()
	hybrid := pace.Hybrid{Staleness: 1, Overlap: pace.HybridNaive}
	gba := pace.GBA{AsyncPS: pace.AsyncPS{Overlap: pace.PullAfterPush}, Batches: 2, Tolerance: 4}
	sends := func(k msg.Kind) func(role.Output) bool {
		return func(o role.Output) bool { return o.Kind == role.Send && o.Message.Kind == k }
	}
	for _, bug := range []struct {
		name   string
		rule   pace.Rule
		faults int
		roles  func(*role.Config) []role.Role
		want   string
	}{
		{"a rank ends a step too early", hybrid, 0, mutate(msg.NNWorker,
			func(in role.Input, step func(role.Input), out *role.Outputs) {
				if in.Message.Kind == msg.SetEnd {
					in.Message.Step--
				}
				step(in)
			}), "not every batch"},
		{"a rank makes another offer after a crash of the loader", hybrid, 1, mutate(msg.NNWorker,
			func(in role.Input, step func(role.Input), out *role.Outputs) {
				step(in)
				for i := range out.List {
					if sends(msg.OfferEnd)(out.List[i]) && in.Message.Step == 0 {
						out.List[i].Message.Step = 0
					}
				}
			}), "after a crash"},
		{"a PS does not learn the end", gba, 0,
			mutate(msg.EmbeddingPS, func(in role.Input, step func(role.Input), out *role.Outputs) {
				if in.Message.Kind == msg.SetEnd {
					in.Message.Step = 3
				}
				step(in)
			}), "never applied"},
	} {
		t.Run(bug.name, func(t *testing.T) {
			set := setting(bug.rule, 1, 3, 1, 1)
			set.Drain, set.Roles, set.Config.Prefetch = true, bug.roles, 1
			if bug.faults > 0 {
				set.Config.Steps = 1
				set.Eager, set.Faults, set.Config.Retry = false, bug.faults, unit.Second
			}
			r, err := Explore(set, limit)
			if err == nil || !strings.Contains(err.Error(), bug.want) {
				t.Fatalf("%v, error %v; want %q", r, err, bug.want)
			}
			if !slices.Contains(strings.Fields(err.Error()), "DRAIN") {
				t.Errorf("the history has no request: %v", err)
			}
		})
	}
}
