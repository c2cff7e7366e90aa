package allreduce

import (
	"context"
	"fmt"
	"slices"

	"tandem/algo/exec"
	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
	"tandem/runtime/wire"
)

// Ordered is the members of one process in a group. It is for callers that do one all-reduce after the other,
// in the same order in every process, and wait for each of them. It is an exec.Collective if every rank is a
// member. Sum and Gather are called from one goroutine.
//
// Each rank is a member of its own, whether it shares its process with other ranks or not. So sums go along
// the same tree under every placement of ranks. Chunks between members of one process are copied.
//
// Values that are too many for one hop are summed in pieces, as buckets of the group: while the owners sum
// one piece, the parts of the next are on their way.
type Ordered struct {
	members []*member
	ctx     context.Context // ends every wait
	small   int             // Config.Small
	most    int             // pieces of the longest values
	step    int32
	calls   int // of the step
}

// pieceValues is the number of values in a part of a piece: 64 KiB, one packet of package transport. Of
// larger parts fewer are on their way at the same time, and smaller ones cost more work for each value.
const pieceValues = 16 << 10

// member is one member of the group in this process.
type member struct {
	at    msg.Address
	group *Group
	done  chan [][]float32
}

// NewOrdered returns the members whose indexes in Members are local, in ascending order. It ignores Self,
// Done and Ahead of the configuration; Buckets is the largest number of calls in a step. It calls Send for
// members of other processes. The end of ctx ends every wait, with its cause; the caller ends ctx when a
// member is lost that does not come back.
func NewOrdered(ctx context.Context, c Config, local []int) (*Ordered, error) {
	o := &Ordered{ctx: ctx, small: c.Small}
	pieces := o.pieces(c.Values, len(c.Members))
	o.most = pieces
	// A member that has ended a call may be two calls ahead, because it had this member's part of the next
	// one. A member that is back may receive the chunks of up to three steps before it feeds.
	c.Buckets, c.Ahead = c.Buckets*pieces, 2*pieces
	if c.Recovers {
		c.Ahead = 3 * c.Buckets
	}
	sendRemote := c.Send
	c.Send = func(chunks []exec.Letter) error {
		var remote []exec.Letter
		for _, l := range chunks {
			if o.member(l.Message.To) == nil {
				remote = append(remote, l)
			} else if err := o.deliverLocal(l.Message, l.Payload.(wire.Chunk)); err != nil {
				return err
			}
		}
		return sendRemote(remote)
	}
	for _, i := range local {
		done := make(chan [][]float32, pieces)
		c.Self, c.Done = i, func(_, _ int32, stats [][]float32) { done <- stats }
		group, err := New(c)
		if err != nil {
			return nil, err
		}
		o.members = append(o.members, &member{c.Members[i], group, done})
	}
	if len(local) == 0 {
		return nil, fmt.Errorf("allreduce: none of the %d members is in this process", len(c.Members))
	}
	return o, nil
}

// member returns the member with an address, or nil if it is in another process.
func (o *Ordered) member(at msg.Address) *member {
	i := slices.IndexFunc(o.members, func(m *member) bool { return m.at == at })
	if i < 0 {
		return nil
	}
	return o.members[i]
}

// deliverLocal delivers a chunk within this process. It copies the chunk, whose memory belongs to the sender.
func (o *Ordered) deliverLocal(m msg.Message, c wire.Chunk) error {
	c.Values, c.Stats = slices.Clone(c.Values), slices.Clone(c.Stats)
	return o.member(m.To).group.Deliver(m, c)
}

// Begin starts a step, or goes on with it: the next calls belong to it. Every process makes the same calls of
// a step in the same order.
func (o *Ordered) Begin(step int32) {
	if step != o.step {
		o.step, o.calls = step, 0
	}
}

// call begins a call, and returns its first bucket.
func (o *Ordered) call() int32 {
	o.calls++
	return int32((o.calls - 1) * o.most)
}

// Return sends members that are back, and were not in this process, what they have lost: see Group.Return.
func (o *Ordered) Return(members []msg.Address) error {
	for _, m := range o.members {
		for _, at := range members {
			if err := m.group.Return(at); err != nil {
				return err
			}
		}
	}
	return nil
}

// Sum replaces the values of each member of this process, in order, by the sum over all members, along the
// tree.
func (o *Ordered) Sum(given [][]float32) error {
	length := len(given[0])
	if length == 0 {
		return nil
	}
	first := o.call()
	pieces := o.pieces(length, len(o.members[0].group.Members))
	for piece := range pieces {
		lo, hi := piece*length/pieces, (piece+1)*length/pieces
		for i, m := range o.members {
			if err := m.group.Feed(o.step, first+int32(piece), given[i][lo:hi]); err != nil {
				return err
			}
		}
	}
	_, err := o.await(pieces)
	return err
}

// Gather returns the values of all members, in order.
func (o *Ordered) Gather(given [][]float32) ([]float32, error) {
	first := o.call()
	for i, m := range o.members {
		if err := m.group.Gather(o.step, first, given[i]); err != nil {
			return nil, err
		}
	}
	all, err := o.await(1)
	return slices.Concat(all...), err
}

// pieces returns the number of pieces in which values are summed.
func (o *Ordered) pieces(values, members int) int {
	if values <= o.small {
		return 1
	}
	return (values-1)/(members*pieceValues) + 1
}

// await waits until every member of this process has ended a number of rounds. It returns the statistics of
// the last one.
func (o *Ordered) await(rounds int) (stats [][]float32, err error) {
	for _, m := range o.members {
		for range rounds {
			select {
			case stats = <-m.done:
			case <-o.ctx.Done():
				return nil, context.Cause(o.ctx)
			}
		}
	}
	return stats, nil
}

// Done returns a channel that is closed with the context.
func (o *Ordered) Done() <-chan struct{} { return o.ctx.Done() }

// FrameMax returns the size of the largest frame with a chunk.
func (o *Ordered) FrameMax() unit.Bytes { return o.members[0].group.FrameMax() }

// Deliver handles a chunk as Group.Deliver does, for the member to which it was sent. It refuses chunks for
// other members.
func (o *Ordered) Deliver(m msg.Message, c wire.Chunk) error {
	to := o.member(m.To)
	if to == nil {
		return &Refused{m.From, wire.Refusef(wire.Inadmissible, "to: %v takes part in no all-reduce", m.To)}
	}
	if o.member(m.From) != nil {
		return &Refused{m.From, wire.Refusef(wire.Forged, "from: %v is in this process", m.From)}
	}
	return to.group.Deliver(m, c)
}
