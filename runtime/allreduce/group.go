// Package allreduce sums the dense gradients of ranks in several processes, to the bits that one process
// would get.
//
// The members of a group are ranks, any number of them. A bucket is cut into one chunk for each member, which
// owns the chunk. Every member sends every owner its part of the owner's chunk (reduce-scatter). The owner
// sums the parts along the tree over members and sends the sum to every member (all-gather).
//
// The sum of a rank is a branch of the tree over groups of samples. Every element is summed along the same
// tree, to the same bits, for any number of processes and chunks (see package collective).
//
// Batch-norm statistics are gathered, not summed, because every member needs the statistics of all members in
// order. They travel beside the parts of a bucket, usually of the last bucket, when all of them are known.
//
// # Use
//
//	g, err := allreduce.New(allreduce.Config{Members: ranks, Self: i, Send: endpoint.Send, Done: done})
//	err = g.Feed(step, bucket, sums, stats) // when backward has finished the bucket
//	err = g.Deliver(m, chunk)               // in Handler.Deliver, for payloads of type wire.Chunk
//
// Done is called when sums holds the sum over all members. Ordered is the same for callers that wait, such as
// exec.Executor.ReduceAcross.
//
// # Refusals
//
// A chunk from another process may be false. A chunk is refused if its view, member, bucket, step or length
// is wrong, or if it is too far ahead. The error is a *Refused, which names the sender and the field, and the
// group is unchanged; the caller must drop the sender. Config.Ahead, Values and Stats bound the memory.
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

// Config describes a group.
type Config struct {
	// Members are the ranks in order, at least one.
	Members []msg.Address
	// Self is the index of this member in Members.
	Self int
	// Send carries a chunk to the Deliver of another member, as transport.Endpoint.Send does: without
	// waiting, in order, and into memory of the receiver's own.
	Send func(m msg.Message, payload exec.Payload) error
	// Done is called when a bucket that was fed holds the sum over all members. stats holds what the members
	// have fed beside the bucket, by index. Done is called once for each Feed, from Feed or Deliver, and may
	// call Feed.
	Done func(step, bucket int32, stats [][]float32)

	// View is the view in which the members formed the group, the same for all.
	View uint32
	// Buckets is the number of buckets. The rounds of a bucket are fed in ascending order of steps, from 0.
	Buckets int
	// Values and Stats are the largest numbers of values and of statistics in one Feed.
	Values, Stats int
	// Ahead is the number of rounds that another member may have begun and this member has not.
	Ahead int
}

// Refused is the error for a chunk that was refused.
type Refused struct {
	From msg.Address // its sender
	*wire.Refusal
}

// Error implements error.
func (r *Refused) Error() string { return "allreduce: " + r.Refusal.Error() }

// Group is one member's end of all all-reduces of a run. Its methods may be called from any goroutine.
type Group struct {
	Config

	mu     sync.Mutex
	rounds map[round]*roundState
	over   []int32 // by bucket: the rounds of all steps below it are over
}

// round identifies one all-reduce.
type round struct{ step, bucket int32 }

// roundState is what this member knows of one all-reduce.
type roundState struct {
	fed      bool
	values   []float32   // what was fed
	parts    [][]float32 // parts of the chunk that this member owns, by member
	stats    [][]float32 // by member
	received memberSet   // members whose part has arrived
	summed   memberSet   // members whose chunk's sum has arrived
	copied   int         // number of sums that were copied to values
}

// memberSet is a set of members.
type memberSet struct {
	in    []bool
	count int
}

// add adds a member that is not in the set.
func (t *memberSet) add(member int) {
	t.in[member] = true
	t.count++
}

// New returns a group. It returns an error unless Self is an index of Members.
func New(c Config) (*Group, error) {
	n := len(c.Members)
	if c.Self < 0 || c.Self >= n {
		return nil, fmt.Errorf("allreduce: member %d of %d", c.Self, n)
	}
	return &Group{Config: c, rounds: map[round]*roundState{}, over: make([]int32, c.Buckets)}, nil
}

// FrameMax returns the size of the largest frame with a chunk.
func (g *Group) FrameMax() unit.Bytes {
	n := len(g.Members)
	floats := (g.Values+n-1)/n + g.Stats
	return msg.HeaderBytes + unit.Bytes(4*floats) + 64 // lengths, and zeros behind arrays
}

// Feed gives this member's part of a bucket to the all-reduce, once for every step and bucket. values, which
// have the same length everywhere, are overwritten with the sum. values and stats must stay unchanged until
// Done is called.
//
// Feed returns an error if Send does, and a *Refused if a part that another member has sent earlier has
// another length. With N members, every value is sent and received 2(N−1)/N times, and added N−1 times on one
// of them.
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

// Deliver handles a chunk that another member has sent. The chunk's memory then belongs to the group.
//
// Deliver returns a *Refused if the chunk is refused, and an error if Send does.
func (g *Group) Deliver(m msg.Message, c wire.Chunk) error {
	from := slices.Index(g.Members, m.From)
	if from < 0 || from == g.Self {
		return &Refused{m.From, wire.Refusef(wire.Forged, "from: %v is not another member", m.From)}
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

// addPart stores a member's part of the chunk that this member owns, and sums the parts if it is the last
// one.
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
	// This member's own part has arrived as well, and no other goroutine uses the parts.
	if g.Self == 0 {
		// The tree writes the sum to the first part. The sum may still be in flight to other members when
		// Done was called and the values are reused.
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

// checkPart returns why a part is refused, or nil. The caller holds g.mu.
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
		return g.refuse(from, at, "length: a part of %d values, want at most %d", len(c.Values),
			(g.Values+n-1)/n)
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

// addSum copies the sum of a chunk to the values, and ends the round if it is the last one.
func (g *Group) addSum(at round, owner int, sum []float32) error {
	g.mu.Lock()
	s := g.rounds[at]
	if s == nil || !s.fed || s.summed.in[owner] {
		g.mu.Unlock()
		return g.refuse(owner, at, "step: a sum comes twice, or before its values were fed")
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
