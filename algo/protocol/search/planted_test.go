package search

import (
	"slices"
	"strings"
	"testing"

	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/pace"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
)

// greedy is a rule that lets a rank read one batch further ahead than its bounds allow.
type greedy struct{ pace.Hybrid }

func (g greedy) MayIssue(outstanding int) bool { return outstanding <= g.Staleness+1 }

// hasty is sync with PSs that serve lookups before the step is closed.
type hasty struct{ pace.Sync }

func (hasty) InStep() bool { return false }
func (hasty) Exact() bool  { return false }

// mutant is a role with a planted bug: edit changes its inputs or outputs.
type mutant struct {
	role.Role
	edit edit
}

type edit func(in role.Input, step func(role.Input), out *role.Outputs)

func (m mutant) HandleInput(now unit.Tick, in role.Input, out *role.Outputs) {
	m.edit(in, func(in role.Input) { m.Role.HandleInput(now, in, out) }, out)
}

func (m mutant) Clone() role.Role { return mutant{m.Role.Clone(), m.edit} }

// late is a redo log that keeps an input after its role has acted on it.
func late(inputs []role.Input) []role.Input { return inputs[:max(len(inputs)-1, 0)] }

// lost is a redo log that is empty when its role comes back.
func lost([]role.Input) []role.Input { return nil }

// mutate returns roles of which every instance of one role has a planted bug.
func mutate(which msg.Role, e edit) func(*role.Config) []role.Role {
	return func(cfg *role.Config) []role.Role {
		roles := role.New(cfg)
		for i, r := range roles {
			if r.Address().Role == which {
				roles[i] = mutant{r, e}
			}
		}
		return roles
	}
}

// hoarder keeps the payload of every message of a kind, including late duplicates.
func hoarder(k msg.Kind) edit {
	return func(in role.Input, step func(role.Input), out *role.Outputs) {
		step(in)
		keeps := slices.ContainsFunc(out.List, func(o role.Output) bool { return o.Kind == role.Keep })
		if in.Kind == role.Received && in.Message.Kind == k && !keeps {
			out.List = append(out.List, role.Output{Kind: role.Keep})
		}
	}
}

func drop(out *role.Outputs, unwanted func(role.Output) bool) {
	out.List = slices.DeleteFunc(out.List, unwanted)
}

// The search finds each of these planted bugs, by the invariant that the bug breaks.
func TestPlantedBugsAreFound(t *testing.T) {
	hybrid := pace.Hybrid{Staleness: 1, Overlap: pace.HybridNaive}
	sync := pace.Sync{Overlap: pace.OverlapIDs}
	async := pace.AsyncPS{Overlap: pace.PullAfterPush}
	ssp := pace.SSP{AsyncPS: async, Slack: 1}
	deaf := func(in role.Input, step func(role.Input), out *role.Outputs) {
		if in.Kind != role.TimerFired {
			step(in)
		}
	}
	for _, bug := range []struct {
		name   string
		rule   pace.Rule
		faults int
		steps  int32 // with faults; 0 stands for 1
		roles  func(*role.Config) []role.Role
		want   string
	}{
		{"a rank reads one batch too far ahead", greedy{hybrid}, 0, 0, nil, "too stale"},
		{"a PS answers before the step is closed", hasty{sync}, 0, 0, nil, "too stale"},
		{"PEG does not wait for DS", pace.Hybrid{Overlap: pace.HybridNaive}, 0, 0,
			mutate(msg.NNWorker, loneSync), "too stale"},
		{"an EW acknowledges what no PS has applied", hybrid, 0, 0, mutate(msg.EmbeddingWorker, earlyDone),
			"has not applied it"},
		{"a handle is forgotten", hybrid, 0, 0,
			mutate(msg.EmbeddingWorker, func(in role.Input, step func(role.Input), out *role.Outputs) {
				step(in)
				drop(out, func(o role.Output) bool {
					return o.Kind == role.Release && o.Handle.Kind == role.RoutedIDs
				})
			}), errLeak.Error()},
		{"an EW keeps the rows of a late duplicate", hybrid, 1, 0,
			mutate(msg.EmbeddingWorker, hoarder(msg.Rows)), errLeak.Error()},
		{"a PS keeps the signs of a late duplicate", hybrid, 1, 0,
			mutate(msg.EmbeddingPS, hoarder(msg.Lookup)), errLeak.Error()},
		{"a PS keeps the gradients of a late duplicate", hybrid, 1, 0,
			mutate(msg.EmbeddingPS, hoarder(msg.Put)), errLeak.Error()},
		{"a rank keeps the embeddings of a late duplicate", hybrid, 1, 0,
			mutate(msg.NNWorker, hoarder(msg.Embeddings)), errLeak.Error()},
		{"no role repeats its requests", hybrid, 1, 0, func(cfg *role.Config) []role.Role {
			roles := role.New(cfg)
			for i := range roles {
				roles[i] = mutant{roles[i], deaf}
			}
			return roles
		}, "deadlock"},
		{"the coordinator is one step ahead", ssp, 0, 0, mutate(msg.Coordinator, optimistic),
			"2 steps ahead"},
		{"ranks do not report their clocks again", pace.SSP{AsyncPS: async}, 1, 2,
			mutate(msg.NNWorker, func(in role.Input, step func(role.Input), out *role.Outputs) {
				step(in)
				if in.Kind == role.TimerFired {
					drop(out, func(o role.Output) bool {
						return o.Kind == role.Send && o.Message.Kind == msg.ReportClock
					})
				}
			}), "deadlock"},
		{"a rank pulls before its push is applied", pace.AsyncPS{Staleness: 1, Overlap: pace.PullAfterPush},
			0, 0, mutate(msg.NNWorker, earlyAck), "of its own pushes"},
		{"a rank averages with itself", pace.AsyncAverage{Every: 2}, 0, 0, mutate(msg.NNWorker, loneAverage),
			"without rank"},
		{"the data loader does not resend ids", sync, 1, 0,
			mutate(msg.DataLoader, func(in role.Input, step func(role.Input), out *role.Outputs) {
				if in.Message.Kind != msg.ResendIDs {
					step(in)
				}
			}), "deadlock"},
	} {
		t.Run(bug.name, func(t *testing.T) {
			set := setting(bug.rule, 2, 4, 1, 1)
			if bug.faults > 0 {
				if bug.steps > 1 && !*long {
					t.Skip("the search of 2 steps with a fault needs -long")
				}
				set = setting(bug.rule, 1, max(1, bug.steps), 1, 1)
				set.Eager, set.Faults, set.Config.Retry = false, bug.faults, unit.Second
			}
			set.Roles = bug.roles
			r, err := Explore(set, limit)
			if err == nil {
				t.Fatalf("the search did not find the bug: %v", r)
			}
			if !strings.Contains(err.Error(), bug.want) {
				t.Errorf("error %v, want %q", err, bug.want)
			}
			t.Logf("found after %d states: %s", r.States, strings.SplitN(err.Error(), ", after", 2)[0])
		})
	}
}

// loneSync makes a rank use its own gradients instead of the sum over all ranks.
func loneSync(in role.Input, step func(role.Input), _ *role.Outputs) {
	switch {
	case in.Kind == role.BucketReduced:
		return
	case in.Kind == role.WorkDone && in.Work.Kind == role.Backward:
		step(in)
		step(role.Input{Kind: role.BucketReduced, Work: in.Work})
		return
	}
	step(in)
}

// optimistic makes a coordinator report every clock one step too high.
func optimistic(in role.Input, step func(role.Input), out *role.Outputs) {
	step(in)
	for i := range out.List {
		if m := &out.List[i].Message; m.Kind == msg.SlowestClock {
			m.Step++
		}
	}
}

// earlyAck makes a rank treat a push as acknowledged when it sends it.
func earlyAck(in role.Input, step func(role.Input), out *role.Outputs) {
	before := len(out.List)
	step(in)
	for _, o := range out.List[before:] {
		if m := o.Message; o.Kind == role.Send && m.Kind == msg.Push {
			step(role.Input{Kind: role.Received, Message: msg.Message{
				Kind: msg.PushAck, From: m.To, To: m.From, Rank: m.Rank, Step: m.Step,
			}})
		}
	}
}

// loneAverage makes a rank use its own copy instead of the sum over all ranks.
func loneAverage(in role.Input, step func(role.Input), _ *role.Outputs) {
	if in.Kind == role.BucketReduced {
		return
	}
	step(in)
	if in.Kind == role.WorkDone && in.Work.Kind == role.Snapshot {
		step(role.Input{Kind: role.BucketReduced, Work: in.Work})
	}
}

// earlyDone makes an EW acknowledge gradients when it has merged them.
func earlyDone(in role.Input, step func(role.Input), out *role.Outputs) {
	step(in)
	if in.Kind == role.WorkDone && in.Work.Kind == role.Merge {
		w := in.Work
		out.List = append(out.List, role.Output{Kind: role.Send, Message: msg.Message{
			Kind: msg.PutDone, From: msg.Address{Role: msg.EmbeddingWorker},
			To: msg.Address{Role: msg.NNWorker, Index: w.Rank}, Rank: w.Rank, Step: w.Step,
			Bytes: msg.HeaderBytes,
		}})
	}
}

// The search finds mistakes of redo logs, and roles that they do not bring back.
func TestPlantedBugsOfRedoLogsAreFound(t *testing.T) {
	hybrid := pace.Hybrid{Staleness: 1, Overlap: pace.HybridNaive}
	async := pace.AsyncPS{Overlap: pace.PullAfterPush}
	buffered, err := pace.New("gba", pace.Settings{Ranks: 1, Values: map[string]int{"batches": 2}})
	if err != nil {
		t.Fatal(err)
	}
	for _, bug := range []struct {
		name  string
		rule  pace.Rule
		dense bool // no batch has rows
		kept  func([]role.Input) []role.Input
		roles func(*role.Config) []role.Role
		want  string
	}{
		{"the log of an embedding PS is lost", hybrid, false, lost, nil, "has not applied it"},
		{"the log of a dense PS is lost", async, true, lost, nil, errLost.Error()},
		{"a put is acknowledged before it is kept", buffered, false, late, nil, errLost.Error()},
		{"an embedding PS comes back as another program", hybrid, false, nil, newer(), "not as it was"},
	} {
		t.Run(bug.name, func(t *testing.T) {
			set := setting(bug.rule, 1, 1, 1, 1)
			set.Eager, set.Faults, set.Config.Retry = false, 1, unit.Second
			set.kept, set.Roles = bug.kept, bug.roles
			if bug.dense {
				set.Touches = func(int32, int32, int32) bool { return false }
			}
			r, err := Explore(set, limit)
			if err == nil {
				t.Fatalf("the search did not find the bug: %v", r)
			}
			if !strings.Contains(err.Error(), bug.want) {
				t.Errorf("error %v, want %q", err, bug.want)
			}
		})
	}
}

// newer returns the roles of a program that is replaced by another after it has started: its embedding PSs do
// not answer lookups.
func newer() func(*role.Config) []role.Role {
	started := false
	return func(cfg *role.Config) []role.Role {
		if !started {
			started = true
			return role.New(cfg)
		}
		return mutate(msg.EmbeddingPS, func(in role.Input, step func(role.Input), _ *role.Outputs) {
			if in.Message.Kind != msg.Lookup {
				step(in)
			}
		})(cfg)
	}
}
