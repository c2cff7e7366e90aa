// Package allreduce answers one question: how do ranks of different processes
// sum their dense gradients, to the bits that one process would get?
//
// The members of a group are processes that hold neighbouring ranks, as many
// each. A member first sums its own ranks (collective.Tree over them), and feeds
// that. A bucket is then cut into as many chunks as there are members, each of
// which owns one. Everyone sends every owner its part of the chunk
// (reduce-scatter); the owner sums the parts along the tree over members, and
// sends everyone the sum (all-gather).
//
// A rank's sum is a subtree of the tree over groups of samples, and so is a
// member's: whatever the number of ranks, members or chunks, every element is
// summed along the same tree, to the same bits (see package collective).
//
// Batch-norm statistics are gathered, not summed: every member needs those of
// all, in their order. They travel beside the parts of a bucket, as a rule the
// last, because then all are known.
//
// # How it is used
//
//	g, err := allreduce.New(allreduce.Config{Members: firstRanks, Self: i, Send: node.Send, Done: done})
//	err = g.Feed(step, bucket, sums, stats) // when all ranks of this process have fed the bucket
//	err = g.Deliver(m, chunk)               // in Handler.Deliver, for payloads of type wire.Chunk
//
// and done is told when sums hold the sum over all members. Ordered is the same
// for callers that wait, as work.Performer.ReduceAcross does.
package allreduce

import (
	"fmt"
	"slices"
	"sync"

	"tandem/algo/collective"
	"tandem/algo/msg"
	"tandem/runtime/wire"
)

// Config says who is in a group.
type Config struct {
	// Members are the processes, each by the address of its first rank, in the
	// order of their ranks; a power of two of them.
	Members []msg.Address
	// Self is the position of this process in Members.
	Self int
	// Send carries a chunk to another member, in the end to its Deliver, as
	// transport.Node.Send does: without waiting, in order, into memory of the
	// receiver's own.
	Send func(m msg.Message, payload any) error
	// Done is told that a bucket that was fed now holds the sum over all members.
	// stats are what the members have fed beside it, by position. It is called
	// once a feed, from Feed or Deliver, and may call Feed.
	Done func(step, bucket int32, stats [][]float32)
}

// Group is this process's end of all all-reduces of a run. Its methods may be
// called from any goroutine.
type Group struct {
	Config

	mu     sync.Mutex
	rounds map[round]*state
}

// round names one all-reduce.
type round struct{ step, bucket int32 }

// state is what this member knows of one all-reduce.
type state struct {
	fed    bool
	values []float32   // what was fed
	parts  [][]float32 // of the chunk that this member owns, by member
	stats  [][]float32 // by member
	here   tally       // whose parts are there
	summed tally       // whose chunk's sum has come
	copied int         // sums that are in values
}

// tally is a set of members.
type tally struct {
	in    []bool
	count int
}

// add puts a member in; false says that it was.
func (t *tally) add(member int) bool {
	if t.in[member] {
		return false
	}
	t.in[member] = true
	t.count++
	return true
}

// New returns a group. It returns an error unless Members are a power of two and
// Self is one of them.
func New(c Config) (*Group, error) {
	n := len(c.Members)
	if n == 0 || n&(n-1) != 0 {
		return nil, fmt.Errorf("allreduce: %d members; want a power of two, so that ranks are subtrees", n)
	}
	if c.Self < 0 || c.Self >= n {
		return nil, fmt.Errorf("allreduce: member %d of %d", c.Self, n)
	}
	return &Group{Config: c, rounds: map[round]*state{}}, nil
}

// Feed gives this member's part of a bucket to the all-reduce, once for every
// step and bucket. values, of the same length everywhere, are overwritten with
// the sum; they and stats must stay untouched until Done is told.
//
// It returns an error if Send does. Cost: every value leaves and arrives
// 2(N−1)/N times for N members, and is added N−1 times on one of them.
func (g *Group) Feed(step, bucket int32, values, stats []float32) error {
	at := round{step, bucket}
	g.mu.Lock()
	s := g.state(at)
	if s.fed {
		g.mu.Unlock()
		return fmt.Errorf("allreduce: bucket %d of step %d is fed twice", bucket, step)
	}
	s.fed, s.values = true, values
	g.mu.Unlock()

	for member := range g.Members {
		if member == g.Self {
			continue
		}
		if err := g.send(at, member, wire.Chunk{Values: g.chunk(values, member), Stats: stats}); err != nil {
			return err
		}
	}
	return g.take(at, g.Self, wire.Chunk{Values: g.chunk(values, g.Self), Stats: stats})
}

// Deliver takes a chunk that another member has sent. Its memory is the group's
// from now on.
//
// It returns an error if the sender is no member, a chunk has the wrong length
// or comes twice, or Send returns one.
func (g *Group) Deliver(m msg.Message, c wire.Chunk) error {
	from := slices.Index(g.Members, m.From)
	if from < 0 || from == g.Self {
		return fmt.Errorf("allreduce: a chunk from %v, which is no other member", m.From)
	}
	at := round{m.Step, int32(c.Bucket)}
	if c.Sum {
		return g.finish(at, from, c.Values)
	}
	return g.take(at, from, c)
}

// state returns what is known of a round.
func (g *Group) state(at round) *state {
	s := g.rounds[at]
	if s == nil {
		n := len(g.Members)
		s = &state{
			parts: make([][]float32, n), stats: make([][]float32, n),
			here: tally{in: make([]bool, n)}, summed: tally{in: make([]bool, n)},
		}
		g.rounds[at] = s
	}
	return s
}

// chunk returns the part of values that a member owns: [i·n/N, (i+1)·n/N).
func (g *Group) chunk(values []float32, member int) []float32 {
	n := len(g.Members)
	return values[member*len(values)/n : (member+1)*len(values)/n]
}

func (g *Group) send(at round, member int, c wire.Chunk) error {
	c.Bucket = int(at.bucket)
	return g.Send(msg.Message{From: g.Members[g.Self], To: g.Members[member], Step: at.step}, c)
}

// take keeps a member's part of the chunk that this member owns, and sums the
// parts when it was the last.
func (g *Group) take(at round, from int, c wire.Chunk) error {
	g.mu.Lock()
	s := g.state(at)
	if !s.here.add(from) {
		g.mu.Unlock()
		return g.fault(at, from, "a part twice")
	}
	s.parts[from], s.stats[from] = c.Values, c.Stats
	last := s.here.count == len(g.Members)
	g.mu.Unlock()
	if !last {
		return nil
	}
	// This member's own part is there as well, and nobody else touches any.
	own := s.parts[g.Self]
	for member, part := range s.parts {
		if len(part) != len(own) {
			return g.fault(at, member, fmt.Sprintf("a part of %d values, want %d", len(part), len(own)))
		}
	}
	if g.Self == 0 {
		// The tree leaves the sum in the first part. It may still be on its way to
		// others when Done has been told and the values are used anew.
		s.parts[0] = slices.Clone(own)
	}
	collective.Tree(s.parts)
	sum := s.parts[0]
	for member := range g.Members {
		if member == g.Self {
			continue
		}
		if err := g.send(at, member, wire.Chunk{Sum: true, Values: sum}); err != nil {
			return err
		}
	}
	return g.finish(at, g.Self, sum)
}

// finish puts the sum of a chunk into the values, and ends the round when it was
// the last.
func (g *Group) finish(at round, owner int, sum []float32) error {
	g.mu.Lock()
	s := g.state(at)
	if !s.fed || !s.summed.add(owner) {
		g.mu.Unlock()
		return g.fault(at, owner, "a sum twice, or one that nothing was fed for")
	}
	g.mu.Unlock()
	chunk := g.chunk(s.values, owner)
	if len(chunk) != len(sum) {
		return g.fault(at, owner, fmt.Sprintf("a sum of %d values, want %d", len(sum), len(chunk)))
	}
	copy(chunk, sum)

	g.mu.Lock()
	s.copied++
	last := s.copied == len(g.Members)
	if last {
		delete(g.rounds, at)
	}
	g.mu.Unlock()
	if last {
		g.Done(at.step, at.bucket, s.stats)
	}
	return nil
}

func (g *Group) fault(at round, member int, what string) error {
	return fmt.Errorf("allreduce: bucket %d of step %d: %v sent %s", at.bucket, at.step, g.Members[member], what)
}
