package allreduce_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"tandem/algo/exec"
	"tandem/algo/exec/dense"
	"tandem/algo/numeric/collective"
	"tandem/algo/protocol/msg"
	"tandem/runtime/allreduce"
	"tandem/runtime/wire"
)

var _ dense.Collective = (*allreduce.Ordered)(nil)

// each returns a function for Config.Send that sends each chunk.
func each(send func(m msg.Message, payload exec.Payload) error) func([]exec.Letter) error {
	return func(chunks []exec.Letter) error {
		for _, l := range chunks {
			if err := send(l.Message, l.Payload); err != nil {
				return err
			}
		}
		return nil
	}
}

// wired makes members whose frames are encoded and decoded, but reach the others
// at once.
func wired(t *testing.T, ctx context.Context, n int) []*allreduce.Ordered {
	members := make([]*allreduce.Ordered, n)
	var addresses []msg.Address
	for i := range int32(n) {
		addresses = append(addresses, address(i))
	}
	for i := range members {
		var err error
		members[i], err = allreduce.NewOrdered(ctx,
			allreduce.Config{Members: addresses, Buckets: 1000, Values: 200_000, Stats: 100,
				Send: each(func(m msg.Message, payload exec.Payload) error {
					f, err := wire.Encode(wire.Identity{}, m, payload)
					if err != nil {
						return err
					}
					h, payload, _, err := wire.Decode(slices.Concat(f.Segments...))
					if err != nil {
						return err
					}
					return members[m.To.Index].Deliver(h.Message, payload.(wire.Chunk))
				})}, []int{i})
		if err != nil {
			t.Fatal(err)
		}
	}
	return members
}

// Sums and gathers alternate, each with its own result on every member.
func TestOrdered(t *testing.T) {
	members := wired(t, t.Context(), 4)
	var wait sync.WaitGroup
	for i, m := range members {
		wait.Go(func() {
			for call := range 50 {
				values := []float32{float32(i), float32(call), 1}
				if err := m.Sum([][]float32{values}); err != nil ||
					!slices.Equal(values, []float32{6, 4 * float32(call), 4}) {
					t.Errorf("call %d of %d: %v, %v", call, i, values, err)
				}
				all, err := m.Gather([][]float32{{float32(i), float32(call)}})
				c := float32(call)
				if err != nil || !slices.Equal(all, []float32{0, c, 1, c, 2, c, 3, c}) {
					t.Errorf("call %d of %d: %v, %v", call, i, all, err)
				}
			}
		})
	}
	wait.Wait()
}

// Members in one process, adjacent or not, get the same bits as members in separate processes, for values
// whose sum depends on the order: the bits of the tree. Sums in flight to other processes do not change when
// the caller reuses its values.
func TestOrderedMembersShareAProcess(t *testing.T) {
	for _, placement := range [][][]int{{{0, 1, 2, 3}}, {{0, 2}, {1, 3}}, {{0}, {1, 2, 3}},
		{{0, 3}, {1}, {2}}, {{0, 1, 4}, {2, 3}}} {
		processes, members := make([]*allreduce.Ordered, len(placement)), 0
		home := map[int32]*allreduce.Ordered{}
		var mu sync.Mutex
		var sent [][2][]float32 // sums as they were sent, and copies of what they were
		for _, here := range placement {
			members += len(here)
		}
		var addresses []msg.Address
		for i := range int32(members) {
			addresses = append(addresses, address(i))
		}
		for i, here := range placement {
			var err error
			processes[i], err = allreduce.NewOrdered(t.Context(),
				allreduce.Config{Members: addresses, Buckets: 1000, Values: 100, Stats: 100,
					Send: each(func(m msg.Message, payload exec.Payload) error {
						if slices.Contains(here, int(m.To.Index)) {
							t.Errorf("%v: what stays in a process is sent", m)
						}
						chunk := payload.(wire.Chunk)
						if chunk.Sum {
							mu.Lock()
							sent = append(sent, [2][]float32{chunk.Values, slices.Clone(chunk.Values)})
							mu.Unlock()
						}
						return home[m.To.Index].Deliver(m, copied(chunk))
					})}, here)
			if err != nil {
				t.Fatal(err)
			}
			for _, rank := range here {
				home[int32(rank)] = processes[i]
			}
		}
		var wait sync.WaitGroup
		for i, here := range placement {
			wait.Go(func() {
				for call := range 50 {
					var given, stats [][]float32
					for _, rank := range here {
						given, stats = append(given, uneven(rank, call)), append(stats,
							uneven(rank, call)[:rank])
					}
					want, wantAll := make([][]float32, members), []float32(nil)
					for rank := range want {
						want[rank] = uneven(rank, call)
						wantAll = append(wantAll, want[rank][:rank]...)
					}
					collective.Tree(want)
					if err := processes[i].Sum(given); err != nil {
						t.Error(err)
					}
					for _, got := range given {
						if !slices.EqualFunc(got, want[0], sameBits) {
							t.Errorf("%v, call %d: %v, want %v", placement, call, got, want[0])
						}
						clear(got)
					}
					if all, err := processes[i].Gather(stats); err != nil || !slices.Equal(all, wantAll) {
						t.Errorf("%v, call %d: %v, want %v; %v", placement, call, all, wantAll, err)
					}
				}
			})
		}
		wait.Wait()
		for _, s := range sent {
			if !slices.EqualFunc(s[0], s[1], sameBits) {
				t.Fatalf("%v: a sum has changed on its way", placement)
			}
		}
	}
}

// uneven returns values whose sum over ranks depends on its order.
func uneven(rank, call int) []float32 {
	values := make([]float32, 13)
	for i := range values {
		values[i] = 1 / float32(3*rank+7*call+i+1)
	}
	return values
}

func copied(c wire.Chunk) wire.Chunk {
	c.Values, c.Stats = slices.Clone(c.Values), slices.Clone(c.Stats)
	return c
}

// A chunk for a role that takes part in no all-reduce, or in the name of a member of this process, is
// refused.
func TestOrderedRefuses(t *testing.T) {
	members := []msg.Address{address(0), address(1), address(2)}
	o, err := allreduce.NewOrdered(t.Context(), allreduce.Config{
		Members: members, Values: 10, Send: func([]exec.Letter) error { return nil },
	}, []int{0, 1})
	if err != nil {
		t.Fatal(err)
	}
	for want, m := range map[string]msg.Message{
		"to: embedding-worker 0 takes part in no all-reduce": {From: address(2),
			To: msg.Address{Role: msg.EmbeddingWorker}, Step: 1},
		"to: nn-worker 2 takes part in no all-reduce": {From: address(2), To: address(2), Step: 1},
		"from: nn-worker 1 is in this process":        {From: address(1), To: address(0), Step: 1},
		"from: embedding-worker 0 is not another member": {From: msg.Address{Role: msg.EmbeddingWorker},
			To: address(0), Step: 1},
	} {
		refused := new(allreduce.Refused)
		if err := o.Deliver(m, wire.Chunk{}); !errors.As(err, &refused) || refused.From != m.From ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// Values that are too many for one piece are summed in several, to the same bits.
func TestPieces(t *testing.T) {
	const values = 200_000
	members := wired(t, t.Context(), 3)
	var wait sync.WaitGroup
	for i, m := range members {
		wait.Go(func() {
			own := make([]float32, values)
			for call := range 3 {
				for k := range own {
					own[k] = 1 / float32(i+k+call+1)
				}
				if err := m.Sum([][]float32{own}); err != nil {
					t.Error(err)
				}
				for k, got := range own {
					at := float32(k + call)
					if want := 1/(at+1) + 1/(at+2) + 1/(at+3); !sameBits(got, want) {
						t.Errorf("member %d, value %d: %v, want %v", i, k, got, want)
						return
					}
				}
			}
		})
	}
	wait.Wait()
}

// Members may gather nothing, or different numbers of values.
func TestGatherOfUnequalLengths(t *testing.T) {
	members := wired(t, t.Context(), 2)
	var wait sync.WaitGroup
	for i, m := range members {
		wait.Go(func() {
			if all, err := m.Gather([][]float32{make([]float32, 3*i)}); err != nil || len(all) != 3 {
				t.Errorf("%v, %v", all, err)
			}
		})
	}
	wait.Wait()
}

// A wait for a member that is lost ends with the reason.
func TestOrderedEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	members := wired(t, ctx, 2)
	lost := errors.New("nn-worker 1 is lost")
	cancel(lost)
	if err := members[0].Sum([][]float32{{1, 2}}); !errors.Is(err, lost) {
		t.Error(err)
	}
	if _, err := members[0].Gather([][]float32{nil}); !errors.Is(err, lost) {
		t.Error(err)
	}
	for _, here := range [][]int{nil, {0}} {
		if _, err := allreduce.NewOrdered(ctx, allreduce.Config{}, here); err == nil {
			t.Errorf("%v of an empty group", here)
		}
	}
}
