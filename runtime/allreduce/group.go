// Package allreduce answers one question: how do ranks of different processes
// sum their dense gradients, to the bits that one process would get?
//
// The members of a group are ranks, any number of them. A bucket is cut into one
// chunk for each member, its owner. Every member sends every owner its part of the
// chunk (reduce-scatter); the owner sums the parts along the tree over members, and
// sends the sum to every member (all-gather).
//
// A rank's sum is a branch of the tree over groups of samples. Every element is
// summed along the same tree, to the same bits, for any number of processes and
// chunks (see package collective).
//
// Batch-norm statistics are gathered, not summed: every member needs those of
// all, in their order. They travel beside the parts of a bucket, as a rule the
// last, because then all are known.
//
// # How it is used
//
//	g, err := allreduce.New(allreduce.Config{Members: ranks, Self: i, Send: process.Send, Done: done})
//	err = g.Feed(step, bucket, sums, stats) // when backward has finished the bucket
//	err = g.Deliver(m, chunk)               // in Handler.Deliver, for payloads of type wire.Chunk
//
// and Done is called when sums hold the sum over all members. Ordered is the same
// for callers that wait, as exec.Executor.ReduceAcross does.
//
// # What it refuses
//
// A chunk from another process may lie. One of another view, member, bucket or step than it can be of, of a wrong
// length, or too far ahead is refused with a *Refused, which names its sender and field, and changes nothing: the
// sender must be dropped. Memory is bounded by Config.Ahead, Values and Stats.
package allreduce

import (
	"fmt"
	"slices"
	"sync"

	"tandem/algo/exec"
	"tandem/algo/numeric/collective"
	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
	"tandem/runtime/wire"
)

// Config says who is in a group.
type Config struct {
	// Members are the ranks, in their order; at least one.
	Members []msg.Address
	// Self is the position of this member in Members.
	Self int
	// Send carries a chunk to another member, in the end to its Deliver, as
	// transport.Endpoint.Send does: without waiting, in order, into memory of the
	// receiver's own.
	Send func(m msg.Message, payload exec.Payload) error
	// Done is called when a bucket that was fed holds the sum over all members.
	// stats are what the members have fed beside it, by position. It is called
	// once a feed, from Feed or Deliver, and may call Feed.
	Done func(step, bucket int32, stats [][]float32)

	// View is that in which the members formed the group. It is the same for all.
	View uint32
	// Buckets is the number of buckets. Each is fed in ascending order of steps, which begin at 0 or later.
	Buckets int
	// Values and Stats are the largest numbers of values and of statistics that are fed at once.
	Values, Stats int
	// Ahead is how many rounds that this member has not fed another member may have begun.
	Ahead int
}

// Refused is the error for a chunk that is refused.
type Refused struct {
	From msg.Address // its sender
	*wire.Refusal
}

// Error implements error.
func (r *Refused) Error() string { return "allreduce: " + r.Refusal.Error() }

// Group is this process's end of all all-reduces of a run. Its methods may be
// called from any goroutine.
type Group struct {
	Config

	mu     sync.Mutex
	rounds map[round]*roundState
	over   []int32 // by bucket: rounds of steps below it are over
}

// round names one all-reduce.
type round struct{ step, bucket int32 }

// state is what this member knows of one all-reduce.
type roundState struct {
	fed      bool
	values   []float32   // what was fed
	parts    [][]float32 // of the chunk that this member owns, by member
	stats    [][]float32 // by member
	received memberSet   // whose parts are there
	summed   memberSet   // whose chunk's sum has come
	copied   int         // sums that are in values
}

// tally is a set of members.
type memberSet struct {
	in    []bool
	count int
}

// add puts a member in that is not in.
func (t *memberSet) add(member int) {
	t.in[member] = true
	t.count++
}

// New returns a group. It returns an error unless Self is one of Members.
func New(c Config) (*Group, error) {
	n := len(c.Members)
	if c.Self < 0 || c.Self >= n {
		return nil, fmt.Errorf("allreduce: member %d of %d", c.Self, n)
	}
	return &Group{Config: c, rounds: map[round]*roundState{}, over: make([]int32, c.Buckets)}, nil
}

// FrameMax returns the largest size of the frame of a chunk.
func (g *Group) FrameMax() unit.Bytes {
	n := len(g.Members)
	numbers := (g.Values+n-1)/n + g.Stats
	return msg.HeaderBytes + unit.Bytes(4*numbers) + 64 // lengths, and zeros behind arrays
}

// Feed gives this member's part of a bucket to the all-reduce, once for every
// step and bucket. values, of the same length everywhere, are overwritten with
// the sum; they and stats must stay untouched until Done is called.
//
// It returns an error if Send does, and a *Refused if a part that another member has sent earlier has another
// length. Cost: every value leaves and arrives
// 2(N−1)/N times for N members, and is added N−1 times on one of them.
func (g *Group) Feed(step, bucket int32, values, stats []float32) error {
	at := round{step, bucket}
	g.mu.Lock()
	s := g.state(at)
	if s.fed || step < g.over[bucket] {
		g.mu.Unlock()
		return fmt.Errorf("allreduce: bucket %d of step %d is fed twice", bucket, step)
	}
	s.fed, s.values = true, values
	own := g.chunk(values, g.Self)
	for member, part := range s.parts {
		if s.received.in[member] && len(part) != len(own) {
			g.mu.Unlock()
			return g.refuse(member, at, "length: a part of %d values, want %d", len(part), len(own))
		}
	}
	g.mu.Unlock()

	for member := range g.Members {
		if member == g.Self {
			continue
		}
		if err := g.send(at, member, wire.Chunk{Values: g.chunk(values, member), Stats: stats}); err != nil {
			return err
		}
	}
	return g.addPart(at, g.Self, wire.Chunk{Values: own, Stats: stats})
}

// Deliver takes a chunk that another member has sent. Its memory is the group's
// from now on.
//
// It returns a *Refused if the chunk is refused, and an error if Send returns one.
func (g *Group) Deliver(m msg.Message, c wire.Chunk) error {
	from := slices.Index(g.Members, m.From)
	if from < 0 || from == g.Self {
		return &Refused{m.From, wire.Refusef(wire.Forged, "from: %v is no other member", m.From)}
	}
	at := round{m.Step, int32(c.Bucket)}
	switch {
	case c.View != g.View:
		return g.refuse(from, at, "view: %d, want %d", c.View, g.View)
	case c.Bucket < 0 || c.Bucket >= g.Buckets:
		return g.refuse(from, at, "bucket: want 0 to %d", g.Buckets-1)
	}
	if c.Sum {
		return g.addSum(at, from, c.Values)
	}
	return g.addPart(at, from, c)
}

// state returns what is known of a round. The caller holds g.mu.
func (g *Group) state(at round) *roundState {
	s := g.rounds[at]
	if s == nil {
		n := len(g.Members)
		s = &roundState{
			parts: make([][]float32, n), stats: make([][]float32, n),
			received: memberSet{in: make([]bool, n)}, summed: memberSet{in: make([]bool, n)},
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
	c.View, c.Bucket = g.View, int(at.bucket)
	return g.Send(msg.Message{From: g.Members[g.Self], To: g.Members[member], Step: at.step}, c)
}

// addPart keeps a member's part of the chunk that this member owns, and sums the
// parts when it was the last.
func (g *Group) addPart(at round, from int, c wire.Chunk) error {
	g.mu.Lock()
	if err := g.checkPart(at, from, c); err != nil {
		g.mu.Unlock()
		return err
	}
	s := g.state(at)
	s.received.add(from)
	s.parts[from], s.stats[from] = c.Values, c.Stats
	last := s.received.count == len(g.Members)
	g.mu.Unlock()
	if !last {
		return nil
	}
	// This member's own part is there as well, and nobody else touches any.
	if g.Self == 0 {
		// The tree leaves the sum in the first part. It may still be on its way to
		// others when Done has been called and the values are used again.
		s.parts[0] = slices.Clone(s.parts[0])
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
	return g.addSum(at, g.Self, sum)
}

// checkPart returns why a part is refused; nil if it is not. The caller holds g.mu.
func (g *Group) checkPart(at round, from int, c wire.Chunk) error {
	n := len(g.Members)
	s := g.rounds[at]
	switch {
	case at.step < g.over[at.bucket]:
		return g.refuse(from, at, "step: a part, but the round is over")
	case s != nil && s.received.in[from]:
		return g.refuse(from, at, "step: a part comes twice")
	case len(c.Stats) > g.Stats:
		return g.refuse(from, at, "length: %d statistics, want at most %d", len(c.Stats), g.Stats)
	case s != nil && s.fed:
		if own := g.chunk(s.values, g.Self); len(c.Values) != len(own) {
			return g.refuse(from, at, "length: a part of %d values, want %d", len(c.Values), len(own))
		}
		return nil
	case len(c.Values) > (g.Values+n-1)/n:
		return g.refuse(from, at, "length: a part of %d values, want at most %d", len(c.Values), (g.Values+n-1)/n)
	}
	ahead := 1
	for _, s := range g.rounds {
		if !s.fed && s.received.in[from] {
			ahead++
		}
	}
	if ahead > g.Ahead {
		return g.refuse(from, at, "step: a part of %d rounds ahead, want at most %d", ahead, g.Ahead)
	}
	return nil
}

// addSum puts the sum of a chunk into the values, and ends the round when it was
// the last.
func (g *Group) addSum(at round, owner int, sum []float32) error {
	g.mu.Lock()
	s := g.rounds[at]
	if s == nil || !s.fed || s.summed.in[owner] {
		g.mu.Unlock()
		return g.refuse(owner, at, "step: a sum twice, or one that nothing was fed for")
	}
	chunk := g.chunk(s.values, owner)
	if len(chunk) != len(sum) {
		g.mu.Unlock()
		return g.refuse(owner, at, "length: a sum of %d values, want %d", len(sum), len(chunk))
	}
	s.summed.add(owner)
	g.mu.Unlock()
	copy(chunk, sum)

	g.mu.Lock()
	s.copied++
	last := s.copied == len(g.Members)
	if last {
		delete(g.rounds, at)
		g.over[at.bucket] = at.step + 1
	}
	g.mu.Unlock()
	if last {
		g.Done(at.step, at.bucket, s.stats)
	}
	return nil
}

// refuse returns the error for a chunk of a member.
func (g *Group) refuse(member int, at round, format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	return &Refused{g.Members[member], wire.Refusef(wire.Inadmissible,
		"chunk of bucket %d, step %d from %v: %s", at.bucket, at.step, g.Members[member], text)}
}
