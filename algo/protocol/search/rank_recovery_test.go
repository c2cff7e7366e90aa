package search

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/pace"
	"tandem/algo/protocol/role"
	"tandem/algo/rng"
	"tandem/algo/unit"
)

// rankRules are rules whose ranks can come back with the parameters of another.
var rankRules = []pace.Rule{
	pace.Sync{Overlap: pace.OverlapNone},
	pace.Sync{Overlap: pace.OverlapIDsDS},
	pace.Hybrid{Staleness: 0, Overlap: pace.HybridNaive},
	pace.Hybrid{Staleness: 1, Overlap: pace.HybridDS},
}

// rankSetting is a cluster of 2 ranks of which the first may crash once, at any time.
func rankSetting(rule pace.Rule, steps int32, buckets int) Setting {
	set := setting(rule, 2, steps, 1, 1)
	set.Config.Buckets = make([]unit.Bytes, buckets)
	set.Config.RankRecovery = true
	set.Config.Prefetch++
	set.Faults, set.OnlyCrashes = 1, true
	set.Crashes = func(at msg.Address) bool { return at == msg.Address{Role: msg.NNWorker} }
	return set
}

// A rank crashes at any time and comes back with the parameters of the other: every batch is trained and
// applied once, also without any repeated request.
func TestARankThatCrashesLosesNothing(t *testing.T) {
	t.Parallel()
	for _, rule := range rankRules {
		for _, size := range []struct {
			steps   int32
			buckets int
			long    bool
		}{{1, 1, false}, {1, 2, false}, {2, 1, true}, {2, 2, true}} {
			if size.long && !*long || testing.Short() && size.buckets > 1 {
				continue
			}
			for _, behind := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%+v/%t", name(rule), size, behind), func(t *testing.T) {
					set := rankSetting(rule, size.steps, size.buckets)
					set.Behind = behind
					r, err := Explore(set, 8*limit)
					if err != nil {
						t.Fatal(err)
					}
					t.Log(r)
				})
			}
		}
	}
}

// The same holds on random paths through larger clusters, in which the rank crashes several times, messages
// are lost and repeated, data loader, embedding PSs and an EW of the rank's process crash too, and the run
// may be requested to end. Only if other EWs crash as well, the run may end because a batch is lost.
func TestARankThatCrashesLosesNothingOnRandomWalks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rule := rapid.SampledFrom(append(rankRules, pace.Hybrid{Staleness: 3, Overlap: pace.HybridNaive})).
			Draw(t, "rule")
		count := func(name string, least, most int32) int32 {
			return rapid.Int32Range(least, most).Draw(t, name)
		}
		set := Setting{Config: role.Config{
			Ranks: count("ranks", 2, 4), EmbeddingWorkers: count("EWs", 1, 3),
			EmbeddingPSs: count("PSs", 1, 3),
			Steps:        count("steps", 1, 10), Rule: rule, Prefetch: count("prefetch", 2, 6),
			EdgeWindow: count("window", 1, 3), Buckets: make([]unit.Bytes, count("buckets", 1, 3)),
			RankRecovery: true, Retry: unit.Second,
		}, Faults: int(count("faults", 1, 6)), EarlyTimers: true}
		set.Behind = rapid.Bool().Draw(t, "behind")
		set.Drain = rapid.Bool().Draw(t, "drain")
		workers := rapid.Bool().Draw(t, "EWs crash")
		rank := msg.Address{Role: msg.NNWorker, Index: count("rank", 0, set.Config.Ranks-1)}
		if n := set.Config.EmbeddingWorkers; n > 1 && rapid.Bool().Draw(t, "an EW crashes with the rank") {
			set.Process = []msg.Address{rank, {Role: msg.EmbeddingWorker, Index: n - 1}}
			for i := range n + set.Config.Ranks { // all apart, but for these two
				set.Config.ProcessOf = append(set.Config.ProcessOf, i)
			}
			set.Config.ProcessOf[n+rank.Index] = n - 1
		}
		set.Crashes = func(at msg.Address) bool {
			return at == rank || at.Role == msg.EmbeddingPS ||
				at.Role == msg.DataLoader && !set.Drain || at.Role == msg.EmbeddingWorker && workers
		}
		seed := rapid.Uint64().Draw(t, "seed")
		set.Touches = func(rank, step, shard int32) bool {
			return rng.Unit(rng.Key(seed, "touch", uint64(rank), uint64(step)), int(shard)) < 0.6
		}
		_, err := Walk(set, rng.New(seed, "walk"))
		if err != nil && !(workers && errors.Is(err, role.ErrBatchLost)) {
			t.Fatal(err)
		}
	})
}

// processSetting is a cluster of 2 ranks and 2 EWs, the first of which share a process that may crash once,
// at any time.
func processSetting(rule pace.Rule) Setting {
	set := rankSetting(rule, 1, 1)
	set.Config.EmbeddingWorkers, set.Config.Retry = 2, unit.Second
	set.Process = []msg.Address{{Role: msg.NNWorker}, {Role: msg.EmbeddingWorker}}
	return set
}

// A rank that shares its process with an EW loses nothing by its death if its batches are at another EW.
func TestARankThatCrashesWithAnEWLosesNothing(t *testing.T) {
	t.Parallel()
	for i, rule := range rankRules {
		for _, behind := range []bool{false, true} {
			if !*long && behind != (i == 0) || testing.Short() && i > 0 {
				continue
			}
			t.Run(fmt.Sprintf("%s/%t", name(rule), behind), func(t *testing.T) {
				set := processSetting(rule)
				set.Behind, set.Config.ProcessOf = behind, []int32{0, 1, 0, 2}
				r, err := Explore(set, 8*limit)
				if err != nil {
					t.Fatal(err)
				}
				t.Log(r)
			})
		}
	}
}

// The search finds what would be wrong if ranks came back: a step that counts before its embedding gradients
// are anywhere but on the rank, and embeddings that an EW does not keep.
func TestPlantedBugsOfRankRecoveryAreFound(t *testing.T) {
	t.Parallel()
	for _, bug := range []struct {
		name   string
		roles  func(*role.Config) []role.Role
		behind bool
		want   string
	}{
		{"a step counts before the EW has its gradients", mutate(msg.NNWorker,
			func(in role.Input, step func(role.Input), out *role.Outputs) {
				step(in)
				if in.Kind == role.WorkDone && in.Work.Kind == role.Backward {
					kept := in
					kept.Kind, kept.Message = role.Received, msg.Message{Kind: msg.GradientsKept,
						To: msg.Address{Role: msg.NNWorker, Index: in.Work.Rank}, Rank: in.Work.Rank,
						Step: in.Work.Step}
					step(kept)
				}
			}), false, role.ErrBatchLost.Error()},
		{"a batch is forgotten before all ranks have its sums", mutate(msg.NNWorker,
			func(in role.Input, step func(role.Input), out *role.Outputs) {
				step(in)
				for _, o := range out.List {
					if r := o.Event; o.Kind == role.Record && r.Kind == event.BatchDone {
						done := msg.Message{Kind: msg.StepDone, From: r.Role, Rank: r.Rank, Step: r.Step,
							To: msg.Address{Role: msg.DataLoader}, Bytes: msg.HeaderBytes}
						out.List = append(out.List, role.Output{Kind: role.Send, Message: done})
						return
					}
				}
			}), true, errDeadlock.Error()},
		{"an EW forgets the embeddings of a batch with its gradients", mutate(msg.EmbeddingWorker,
			func(in role.Input, step func(role.Input), out *role.Outputs) {
				step(in)
				if in.Kind == role.Received && in.Message.Kind == msg.PutGradients {
					drop(out, func(o role.Output) bool {
						return o.Kind == role.Send &&
							o.Message.Kind == msg.Embeddings
					})
					out.List = append(out.List, role.Output{Kind: role.Release, Handle: role.Handle{
						Kind: role.PooledRows, Rank: in.Message.Rank, Step: in.Message.Step}})
				}
			}), false, "does not hold"},
	} {
		t.Run(bug.name, func(t *testing.T) {
			set := rankSetting(pace.Sync{Overlap: pace.OverlapNone}, 1, 1)
			set.Roles, set.Behind = bug.roles, bug.behind
			_, err := Explore(set, limit)
			if err == nil || !strings.Contains(err.Error(), bug.want) {
				t.Errorf("error %v, want %q", err, bug.want)
			}
		})
	}
	t.Run("the batches of a rank are at the EW of its process", func(t *testing.T) {
		set := processSetting(pace.Sync{Overlap: pace.OverlapNone})
		set.Config.ProcessOf = []int32{0, 1, 1, 2} // rank 0 has those at EW 0
		if _, err := Explore(set, 8*limit); !errors.Is(err, role.ErrBatchLost) {
			t.Errorf("error %v, want %v", err, role.ErrBatchLost)
		}
	})
}
