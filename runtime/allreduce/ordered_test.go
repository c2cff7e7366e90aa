package allreduce_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"tandem/algo/msg"
	"tandem/algo/work"
	"tandem/runtime/allreduce"
	"tandem/runtime/wire"
)

var _ work.Collective = (*allreduce.Ordered)(nil)

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
		members[i], err = allreduce.NewOrdered(ctx, allreduce.Config{Members: addresses, Values: 100, Stats: 100, Send: func(m msg.Message, payload work.Payload) error {
			f, err := wire.Encode(wire.Identity{}, m, payload)
			if err != nil {
				return err
			}
			h, payload, _, err := wire.Decode(slices.Concat(f.Segments...))
			if err != nil {
				return err
			}
			return members[m.To.Index].Deliver(h.Message, payload.(wire.Chunk))
		}}, []int{i})
		if err != nil {
			t.Fatal(err)
		}
	}
	return members
}

// Sums and gatherings alternate, each with its own result on every member.
func TestOrdered(t *testing.T) {
	members := wired(t, t.Context(), 4)
	var wait sync.WaitGroup
	for i, m := range members {
		wait.Go(func() {
			for call := range 50 {
				values := []float32{float32(i), float32(call), 1}
				if err := m.Sum([][]float32{values}); err != nil || !slices.Equal(values, []float32{6, 4 * float32(call), 4}) {
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

// Members may have nothing to gather, or different numbers of things.
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
			t.Errorf("%v of a group of nobody", here)
		}
	}
}
