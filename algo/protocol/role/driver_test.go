package role_test

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/pace"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
)

// The roster numbers the roles in the order of New, and has no other address.
func TestRosterIsTheOrderOfNew(t *testing.T) {
	cfg := smallConfig()
	cfg.Rule = pace.SSP{AsyncPS: pace.AsyncPS{Overlap: pace.PullAfterPush}, Slack: 1}
	cfg.DensePSs = make([]unit.Bytes, 3)
	roster := cfg.Roster()
	roles := role.New(&cfg)
	if roster.Len() != len(roles) {
		t.Fatalf("Len() = %d, want %d", roster.Len(), len(roles))
	}
	for i, r := range roles {
		if got, ok := roster.Index(r.Address()); !ok || got != i {
			t.Errorf("%v has number %d, %t; want %d", r.Address(), got, ok, i)
		}
		if got := roster.Address(i); got != r.Address() {
			t.Errorf("number %d is %v, want %v", i, got, r.Address())
		}
	}
	for _, a := range []msg.Address{{Role: msg.NNWorker, Index: 2}, {Role: msg.NNWorker, Index: -1},
		{Role: msg.Role(99)}} {
		if i, ok := roster.Index(a); ok {
			t.Errorf("role %d, index %d has number %d, want none", a.Role, a.Index, i)
		}
	}
	cfg = smallConfig()
	if i, ok := cfg.Roster().Index(msg.Address{Role: msg.Coordinator}); ok {
		t.Errorf("hybrid has coordinator %d, want none", i)
	}
}

// A bucket is complete when the last rank feeds it, for every order of ranks.
func TestReductionCompletesWithTheLastRank(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ranks, buckets, steps := rapid.IntRange(1, 5).Draw(t, "ranks"),
			rapid.IntRange(1, 3).Draw(t, "buckets"), 4
		r := role.NewReduction(ranks, buckets)
		fed := make([]int, ranks) // buckets in all
		for range ranks * buckets * steps {
			var able []int
			for rank, n := range fed {
				if n < buckets*steps {
					able = append(able, rank)
				}
			}
			rank := rapid.SampledFrom(able).Draw(t, "rank")
			number := fed[rank]
			fed[rank]++
			last := true
			for _, n := range fed {
				last = last && n > number
			}
			got, err := r.Feed(rank, int32(number/buckets), int32(number%buckets))
			if err != nil || (got == role.Complete) != last {
				t.Fatalf("rank %d feeds number %d: complete %t, %v; want %t", rank, number,
					got == role.Complete, err, last)
			}
			if _, err := r.Clone().Feed(rank, int32(number/buckets), int32(number%buckets)); err == nil {
				t.Fatal("Feed accepts a bucket twice from one rank")
			}
		}
	})
}

// A rank that withdraws feeds an open step again: what others have is given to it alone, and no later bucket
// is complete before.
func TestReductionOfARankThatWithdraws(t *testing.T) {
	r := role.NewReduction(2, 2)
	feed := func(rank int, step, bucket int32, want role.Fed) {
		t.Helper()
		if got, err := r.Feed(rank, step, bucket); got != want || err != nil {
			t.Errorf("rank %d feeds bucket %d of step %d: %d, %v; want %d", rank, bucket, step, got, err,
				want)
		}
	}
	feed(0, 0, 0, role.Waits)
	feed(1, 0, 0, role.Complete)
	feed(0, 0, 1, role.Waits)
	if r.Withdraw(0); r.Open() != 0 {
		t.Errorf("step %d is open, want 0", r.Open())
	}
	feed(1, 0, 1, role.Waits)
	feed(0, 0, 0, role.Again)
	feed(0, 0, 1, role.Complete)
	if r.Open() != 1 {
		t.Errorf("step %d is open, want 1", r.Open())
	}
}

func TestQueueKeepsOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q role.Queue[int]
		next, want := 0, []int(nil)
		for _, push := range rapid.SliceOf(rapid.Bool()).Draw(t, "pushes") {
			if push || len(want) == 0 {
				q.Push(next)
				want = append(want, next)
				next++
			} else {
				if got := q.Front(); got != want[0] {
					t.Fatalf("front %d, want %d", got, want[0])
				}
				if got := q.Pop(); got != want[0] {
					t.Fatalf("popped %d, want %d", got, want[0])
				}
				want = want[1:]
			}
			if c := q.Clone(); c.Len() != len(want) || q.Len() != len(want) {
				t.Fatalf("%d items, a clone has %d, want %d", q.Len(), c.Len(), len(want))
			}
		}
	})
}

// Dispatch panics on an output of an unknown kind.
func TestDispatchPanicsOnUnknownOutputs(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic on an unknown output")
		}
	}()
	cfg := smallConfig()
	_ = role.Dispatch(&role.Input{}, &role.Outputs{List: []role.Output{{Kind: 200}}},
		driver{newCluster(cfg), msg.Address{}})
}

// Dispatch stops at the first error.
func TestDispatchStopsAtAnError(t *testing.T) {
	c := newCluster(smallConfig())
	bad := errors.New("full")
	out := role.Outputs{List: []role.Output{{Kind: role.Send}, {Kind: role.Halt, Reason: bad},
		{Kind: role.Send}}}
	if err := role.Dispatch(&role.Input{}, &out, driver{c, msg.Address{}}); !errors.Is(err, bad) ||
		len(c.mail) != 1 {
		t.Errorf("error %v after %d messages, want %v after 1", err, len(c.mail), bad)
	}
}
