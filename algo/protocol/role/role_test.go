package role_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/pace"
	"tandem/algo/protocol/role"
	"tandem/algo/rng"
	"tandem/algo/unit"
)

func TestConfigValidate(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*role.Config)
		want   string // part of the error; "" for none
	}{
		{"valid", func(*role.Config) {}, ""},
		{"ranks", func(c *role.Config) { c.Ranks = 0 }, "ranks = 0; want at least 1"},
		{"EWs", func(c *role.Config) { c.EmbeddingWorkers = 0 }, "embedding workers = 0; want at least 1"},
		{"PSs", func(c *role.Config) { c.EmbeddingPSs = -1 }, "embedding PSs = -1; want at least 1"},
		{"steps", func(c *role.Config) { c.Steps = 0 }, "steps = 0; want at least 1"},
		{"prefetch", func(c *role.Config) { c.Prefetch = 0 }, "prefetch = 0; want at least 1"},
		{"window", func(c *role.Config) { c.EdgeWindow = 0 }, "window = 0; want at least 1"},
		{"buckets", func(c *role.Config) { c.Buckets = nil }, "dense gradient buckets = 0; want at least 1"},
		{"window bytes", func(c *role.Config) { c.WindowBytes = -1 }, "window of -1 bytes"},
		{"retry", func(c *role.Config) { c.Retry = -1 }, "retry after -1 ns"},
		{"processes", func(c *role.Config) { c.ProcessOf = []int32{0, 0, 1} }, ""},
		{"processes of some", func(c *role.Config) { c.ProcessOf = []int32{0, 1} },
			"processes of 2 embedding workers and ranks; want those of 3"},
		{"no rule", func(c *role.Config) { c.Rule = nil }, "no rule; set Config.Rule"},
		{"bad rule", func(c *role.Config) { c.Rule = pace.Hybrid{Staleness: -2} }, "staleness -2"},
	} {
		cfg := smallConfig()
		c.change(&cfg)
		err := cfg.Validate()
		if c.want == "" && err != nil || c.want != "" &&
			(err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}

// New returns the roles in ascending order of their addresses.
func TestNewIsInAddressOrder(t *testing.T) {
	cfg := smallConfig()
	roles := role.New(&cfg)
	if want := 1 + 1 + 2 + 2; len(roles) != want {
		t.Fatalf("%d roles, want %d", len(roles), want)
	}
	for i := range roles[1:] {
		if a, b := roles[i].Address(), roles[i+1].Address(); !a.Less(b) {
			t.Errorf("New returns %v before %v", a, b)
		}
	}
}

// happen makes one random thing happen, and reports whether anything was in flight.
func (c *cluster) happen(random *rand.Rand) bool {
	if c.idle() {
		return false
	}
	n := random.IntN(len(c.mail) + len(c.work) + len(c.reduced))
	once := func() bool { n--; return n == -1 }
	c.deliver(func(msg.Message) bool { return once() })
	// Work of one lane ends in order, so the oldest work of the lane of work n ends.
	if n >= 0 && n < len(c.work) {
		chosen := c.work[n]
		taken := false
		c.finish(func(p pending) bool {
			match := !taken && p.to == chosen.to && p.in.Work.Kind.Lane() == chosen.in.Work.Kind.Lane()
			taken = taken || match
			return match
		})
		return true
	}
	if n -= len(c.work); n >= 0 {
		to := c.reduced[n].to
		taken := false
		c.reduce(func(p pending) bool {
			match := !taken && p.to == to
			taken = taken || match
			return match
		})
	}
	return true
}

// Inputs of a clone do not change the original.
func TestCloneIsIndependent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := smallConfig()
		cfg.Rule = rapid.SampledFrom([]pace.Rule{
			pace.Sync{Overlap: pace.OverlapIDs}, pace.Hybrid{Staleness: 1, Overlap: pace.HybridDS},
		}).Draw(t, "rule")
		random := rng.New(rapid.Uint64().Draw(t, "seed"), "clone")
		c := newCluster(cfg)
		for _, r := range c.roles {
			c.step(r.Address(), role.Input{Kind: role.Start}, "start")
		}
		for range rapid.IntRange(0, 300).Draw(t, "before") {
			c.happen(random)
		}
		var clones []role.Role
		var states [][]byte
		for _, r := range c.roles {
			clones = append(clones, r.Clone())
			states = append(states, r.AppendState(nil))
		}
		originals := c.roles
		c.roles = clones
		for range rapid.IntRange(1, 200).Draw(t, "after") {
			c.happen(random)
		}
		for i, r := range originals {
			if !bytes.Equal(r.AppendState(nil), states[i]) {
				t.Fatalf("%v changed when its clone was stepped", r.Address())
			}
		}
	})
}

// Every rank finishes, for every order of events.
func TestEveryOrderFinishes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newCluster(smallConfig())
		for _, r := range c.roles {
			c.step(r.Address(), role.Input{Kind: role.Start}, "start")
		}
		random := rng.New(rapid.Uint64().Draw(t, "seed"), "order")
		for c.happen(random) {
		}
		if n := strings.Count(c.log.String(), "FINISHED"); n != 2 {
			t.Fatalf("%d ranks finished, want 2", n)
		}
	})
}

// halted returns the reason of a Halt, and fails if there is none or if outputs follow it.
func halted(t *testing.T, out *role.Outputs) error {
	t.Helper()
	for i, o := range out.List {
		if o.Kind == role.Halt {
			if i != len(out.List)-1 {
				t.Errorf("%d outputs after Halt", len(out.List)-1-i)
			}
			return o.Reason
		}
	}
	t.Fatal("no Halt")
	return nil
}

// When work fails, the role halts with an error that has the role, the work and the step, and wraps the
// cause.
func TestFailedWorkHalts(t *testing.T) {
	cfg := smallConfig()
	cause := errors.New("disk full")
	for _, c := range []struct {
		role role.Role
		work role.Work
		want string
	}{
		{role.NewDataLoader(&cfg), role.Work{Kind: role.Read, Rank: -1, Step: 3},
			"data-loader 0, step 3: disk full"},
		{role.NewEmbeddingWorker(&cfg, 0), role.Work{Kind: role.Split, Rank: 1, Step: 4},
			"embedding-worker 0, split of rank 1 step 4: disk full"},
		{role.NewEmbeddingPS(&cfg, 1), role.Work{Kind: role.Apply, Rank: 0, Step: 5},
			"embedding-ps 1, apply of step 5: disk full"},
		{role.NewNNWorker(&cfg, 1), role.Work{Kind: role.Forward, Rank: 1, Step: 6},
			"nn-worker 1, forward of step 6: disk full"},
	} {
		var out role.Outputs
		c.role.HandleInput(0, role.Input{Kind: role.WorkFailed, Work: c.work, Reason: cause}, &out)
		if err := halted(t, &out); err.Error() != c.want || !errors.Is(err, cause) {
			t.Errorf("halted with %q, want %q", err, c.want)
		}
	}
}

// A loss or gradient that is not finite halts the run with an error that has the rank, the step and what to
// do.
func TestNonFiniteHalts(t *testing.T) {
	cfg := smallConfig()
	w := role.NewNNWorker(&cfg, 1)
	rank1 := msg.Message{Rank: 1, Step: 0}
	var out role.Outputs
	give := func(in role.Input) {
		out.Reset()
		w.HandleInput(0, in, &out)
	}
	got := func(k msg.Kind) role.Input {
		m := rank1
		m.Kind = k
		return role.Input{Kind: role.Received, Message: m}
	}
	done := func(k role.WorkKind, r role.Result) role.Input {
		return role.Input{Kind: role.WorkDone, Work: role.Work{Kind: k, Rank: 1}, Result: r}
	}
	give(role.Input{Kind: role.Start})
	give(got(msg.Samples))
	give(got(msg.Embeddings))
	give(done(role.Forward, role.Result{}))
	give(done(role.Backward, role.Result{NotFinite: "the gradient of head.weight"}))
	err := halted(t, &out)
	for _, want := range []string{"nn-worker 1", "step 0", "not finite",
		"lower the learning rate or check the data", "found in the gradient of head.weight"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing from %q", want, err)
		}
	}
}

// With Retry, the data loader and the ranks set their timer at the start and whenever it fires. Without
// Retry, no role sets a timer.
func TestTimers(t *testing.T) {
	for _, retry := range []unit.Tick{0, unit.Second} {
		cfg := smallConfig()
		cfg.Retry = retry
		for _, r := range role.New(&cfg) {
			resends := retry > 0 && (r.Address().Role == msg.DataLoader || r.Address().Role == msg.NNWorker)
			for now, kind := range []role.InputKind{role.Start, role.TimerFired} {
				var out role.Outputs
				r.HandleInput(unit.Tick(now), role.Input{Kind: kind}, &out)
				set := false
				for _, o := range out.List {
					set = set || o.Kind == role.SetTimer && o.At == unit.Tick(now)+retry
				}
				if set != resends {
					t.Errorf("retry %v, %v, input %d: sets the timer = %t, want %t", retry, r.Address(), kind,
						set, resends)
				}
			}
		}
	}
}
