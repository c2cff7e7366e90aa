package allreduce

import (
	"context"
	"slices"

	"tandem/algo/msg"
	"tandem/algo/unit"
	"tandem/runtime/wire"
)

// Ordered is a group whose members all-reduce one thing after the other, all in
// the same order, and wait for each: a work.Collective, if every process has one
// rank. Sum and Gather are called from one goroutine.
type Ordered struct {
	group *Group
	ctx   context.Context // ends every wait
	calls int32
	done  chan [][]float32
}

// NewOrdered returns one. Done, Buckets and Ahead of the configuration are not used. The end of ctx
// ends every wait, with its cause; whoever learns that a member is lost ends it.
func NewOrdered(ctx context.Context, c Config) (*Ordered, error) {
	o := &Ordered{ctx: ctx, done: make(chan [][]float32, 1)}
	// A member that has ended a round may be in the one behind the next: it had this member's part of the next.
	c.Buckets, c.Ahead = 1, 2
	c.Done = func(_, _ int32, stats [][]float32) { o.done <- stats }
	group, err := New(c)
	o.group = group
	return o, err
}

// Sum replaces given[0], of the one rank here, by the sum over all members, along the tree.
func (o *Ordered) Sum(given [][]float32) error {
	_, err := o.call(given[0], nil)
	return err
}

// Gather returns the values of all members, in their order, of which given[0] are those of the one rank here.
func (o *Ordered) Gather(given [][]float32) ([]float32, error) {
	all, err := o.call(nil, given[0])
	return slices.Concat(all...), err
}

// call is one all-reduce; the calls' numbers stand for steps.
func (o *Ordered) call(values, stats []float32) ([][]float32, error) {
	o.calls++
	if err := o.group.Feed(o.calls, 0, values, stats); err != nil {
		return nil, err
	}
	select {
	case all := <-o.done:
		return all, nil
	case <-o.ctx.Done():
		return nil, context.Cause(o.ctx)
	}
}

// FrameMax is that of Group.
func (o *Ordered) FrameMax() unit.Bytes { return o.group.FrameMax() }

// Deliver is that of Group.
func (o *Ordered) Deliver(m msg.Message, c wire.Chunk) error { return o.group.Deliver(m, c) }
