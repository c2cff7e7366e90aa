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
	// Send carries chunks to the Deliver of other members, as transport.Endpoint.SendAll does: without
	// waiting, in order, and into memory of the receivers' own. It does not keep the slice.
	Send func(chunks []exec.Letter) error
	// Done is called when a bucket that was fed holds the sum over all members, or when the statistics of all
	// members are here: stats has them by member, and is nil after Feed. Done is called once for each Feed
	// and Gather, from these or from Deliver, and may call them.
	Done func(step, bucket int32, stats [][]float32)

	// Recovers says that a member that crashes comes back and feeds again: see Return.
	Recovers bool
	// Buckets is the number of buckets. The rounds of a bucket are fed in ascending order of steps, from 0.
	Buckets int
	// Values and Stats are the largest numbers of values and of statistics in one Feed.
	Values, Stats int
	// Small is the largest number of values of a small bucket, the same for all members. Over loopback on two
	// cores, one owner was faster than many up to 32 Ki values for 3 to 8 members, 1.3 to 5 times, and with 8
	// members slower from four times as much on, because all of it passes through one process.
	Small int
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
	// With Recovers, newest is the latest step of which a round has ended, and relayed the number of
	// statistics that were passed on for others.
	newest  int32
	relayed int
}

// round identifies one all-reduce.
type round struct{ step, bucket int32 }

// roundState is what this member knows of one all-reduce.
type roundState struct {
	fed      bool         // Feed or Gather was called
	gathered bool         // it was Gather
	values   []float32    // what was fed or, once the round has ended, a copy of the sum
	stats    []float32    // what was gathered
	chunks   []wire.Chunk // by member: its part of the chunk that this member owns, or its statistics
	received memberSet    // members whose chunk has arrived
	summed   memberSet    // members whose chunk's sum was copied to values
	// With Recovers:
	own      []float32 // the sum of the chunk that this member owns; nil before it is known
	ownFrom  int       // the member that has sent own
	summing  bool      // this member computes own, or has
	answered []uint8   // by member: sums that were sent again
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
	const around = 64 // lengths, and zeros behind arrays
	return msg.HeaderBytes + unit.Bytes(4*max(g.chunkMost(), g.Stats)) + around
}

// Feed gives this member's part of a bucket to the all-reduce, once for every step and bucket. values, at
// least one and the same number everywhere, are overwritten with the sum. They must stay unchanged until Done
// is called.
//
// Feed returns an error if Send does, and a *Refused if a part that another member has sent earlier has
// another length. Every value is added N−1 times, on one of N members.
func (g *Group) Feed(step, bucket int32, values []float32) error {
	at, parts := round{step, bucket}, values
	if g.Recovers { // a sum that others have may be added while parts are sent
		parts = slices.Clone(values)
	}
	if err := g.begin(at, values, nil, false); err != nil {
		return err
	}
	err := g.sendAll(at, func(member int) (wire.Chunk, bool) {
		chunk := g.chunk(parts, member)
		return wire.Chunk{Values: chunk}, len(chunk) > 0
	})
	if own := g.chunk(parts, g.Self); err == nil && len(own) > 0 {
		err = g.addChunk(at, g.Self, wire.Chunk{Values: own})
	}
	return err
}

// Gather gives this member's statistics to all others, instead of Feed: in one round, all members do the
// same. Their numbers may differ. The statistics must stay unchanged as long as another member may read them.
//
// Gather returns an error if Send does, and a *Refused if another member has fed the round.
func (g *Group) Gather(step, bucket int32, stats []float32) error {
	at, own := round{step, bucket}, wire.Chunk{Stats: stats}
	err := g.begin(at, nil, stats, true)
	if err == nil {
		err = g.sendAll(at, func(int) (wire.Chunk, bool) { return own, true })
	}
	if err == nil {
		err = g.addChunk(at, g.Self, own)
	}
	return err
}

// begin notes what this member feeds or gathers, and checks what others have sent before that.
func (g *Group) begin(at round, values, stats []float32, gathered bool) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.state(at)
	if s.fed || g.isOver(at) {
		return fmt.Errorf("allreduce: bucket %d of step %d is fed twice", at.bucket, at.step)
	}
	s.fed, s.gathered, s.values, s.stats = true, gathered, values, stats
	if own := g.chunk(values, g.Self); s.own != nil && len(s.own) != len(own) {
		return g.refuse(s.ownFrom, at, "length: a sum of %d values, want %d", len(s.own), len(own))
	}
	for member, c := range s.chunks {
		if s.received.in[member] {
			if err := g.checkLength(at, s, member, c); err != nil {
				return err
			}
		}
	}
	return nil
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
	case c.Bucket < 0 || c.Bucket >= g.Buckets:
		return g.refuse(from, at, "bucket: want 0 to %d", g.Buckets-1)
	case c.Own:
		return g.addOwn(at, from, c)
	case c.Sum:
		return g.addSum(at, from, c.Values)
	}
	return g.addChunk(at, from, c)
}

// state returns what is known of a round. The caller holds g.mu.
func (g *Group) state(at round) *roundState {
	s := g.rounds[at]
	if s == nil {
		n := len(g.Members)
		s = &roundState{
			chunks:   make([]wire.Chunk, n),
			received: memberSet{in: make([]bool, n)}, summed: memberSet{in: make([]bool, n)},
		}
		g.rounds[at] = s
	}
	return s
}

// chunk returns the part of values that a member owns: of a small bucket, the last member all of it; of
// others [i·n/N, (i+1)·n/N).
func (g *Group) chunk(values []float32, member int) []float32 {
	n := len(g.Members)
	switch {
	case len(values) > g.Small:
		return values[member*len(values)/n : (member+1)*len(values)/n]
	case member == n-1:
		return values
	}
	return nil
}

// chunkMost returns the largest number of values in a chunk.
func (g *Group) chunkMost() int {
	n := len(g.Members)
	return max(min(g.Values, g.Small), (g.Values+n-1)/n)
}

// owners returns the number of members that own a part of values, of which there is at least one.
func (g *Group) owners(values int) int {
	if values > g.Small {
		return min(values, len(g.Members))
	}
	return 1
}

// sendAll sends every other member the chunk that is due for it, if there is one.
func (g *Group) sendAll(at round, chunk func(member int) (c wire.Chunk, due bool)) error {
	letters := make([]exec.Letter, 0, len(g.Members)-1)
	for member, to := range g.Members {
		c, due := chunk(member)
		if member == g.Self || !due {
			continue
		}
		letters = append(letters, g.letter(at, to, c))
	}
	return g.send(letters)
}

func (g *Group) letter(at round, to msg.Address, c wire.Chunk) exec.Letter {
	c.Bucket = int(at.bucket)
	return exec.Letter{Message: msg.Message{From: g.Members[g.Self], To: to, Step: at.step}, Payload: c}
}

func (g *Group) send(letters []exec.Letter) error {
	if len(letters) == 0 {
		return nil
	}
	return g.Send(letters)
}

// addChunk stores a member's part of the chunk that this member owns, or its statistics. It sums the parts if
// it is the last one.
func (g *Group) addChunk(at round, from int, c wire.Chunk) error {
	g.mu.Lock()
	if sum, answered, err := g.answer(at, from); answered {
		g.mu.Unlock()
		switch {
		case err != nil || len(sum) == 0:
			return err
		case from == g.Self:
			return g.addSum(at, from, sum)
		}
		return g.send([]exec.Letter{g.letter(at, g.Members[from], wire.Chunk{Sum: true, Values: sum})})
	}
	if err := g.checkChunk(at, from, c); err != nil {
		g.mu.Unlock()
		return err
	}
	s := g.state(at)
	s.received.add(from)
	s.chunks[from] = c
	last := s.received.count == len(g.Members)
	s.summing = last
	g.mu.Unlock()
	switch {
	case !last: // else this member's own has arrived as well, and no other goroutine uses the chunks
		return nil
	case s.gathered:
		g.end(at, gatheredFrom(s.chunks))
		return nil
	}
	return g.sum(at, s)
}

// gatheredFrom returns the statistics of chunks.
func gatheredFrom(chunks []wire.Chunk) (stats [][]float32) {
	for _, c := range chunks {
		stats = append(stats, c.Stats)
	}
	return stats
}

// sum sums the parts of the chunk that this member owns, and sends the sum to the others.
func (g *Group) sum(at round, s *roundState) error {
	var parts [][]float32
	for _, c := range s.chunks {
		parts = append(parts, c.Values)
	}
	if g.Self == 0 {
		// The tree writes the sum to the first part. The sum may still be in flight to other members when
		// Done was called and the values are reused.
		parts[0] = slices.Clone(parts[0])
	}
	collective.Tree(parts)
	return g.spread(at, parts[0])
}

// spread sends the sum of the chunk that this member owns to the others, and adds it here.
func (g *Group) spread(at round, sum []float32) error {
	if g.Recovers {
		g.mu.Lock()
		g.state(at).own = sum
		g.mu.Unlock()
	}
	c := wire.Chunk{Sum: true, Values: sum}
	if err := g.sendAll(at, func(int) (wire.Chunk, bool) { return c, true }); err != nil {
		return err
	}
	return g.addSum(at, g.Self, sum)
}

// checkChunk returns why a part or statistics are refused, or nil. The caller holds g.mu.
func (g *Group) checkChunk(at round, from int, c wire.Chunk) error {
	s := g.rounds[at]
	switch {
	case g.isOver(at):
		return g.refuse(from, at, "step: a part, but the round is over")
	case s != nil && s.received.in[from]:
		return g.refuse(from, at, "step: a part comes twice")
	case len(c.Stats) > g.Stats:
		return g.refuse(from, at, "length: %d statistics, want at most %d", len(c.Stats), g.Stats)
	case s != nil && s.fed:
		return g.checkLength(at, s, from, c)
	case len(c.Values) > g.chunkMost():
		return g.refuse(from, at, "length: a part of %d values, want at most %d", len(c.Values),
			g.chunkMost())
	}
	return g.checkAhead(at, from, func(s *roundState) bool { return s.received.in[from] })
}

// checkAhead refuses one more chunk of rounds that are not fed here if there are too many already.
func (g *Group) checkAhead(at round, from int, has func(*roundState) bool) error {
	ahead := 1
	for _, s := range g.rounds {
		if !s.fed && has(s) {
			ahead++
		}
	}
	if ahead > g.Ahead {
		return g.refuse(from, at, "step: a part of %d rounds ahead, want at most %d", ahead, g.Ahead)
	}
	return nil
}

// checkLength returns why a chunk does not belong to a round that was fed or gathered, or nil.
func (g *Group) checkLength(at round, s *roundState, from int, c wire.Chunk) error {
	own := g.chunk(s.values, g.Self)
	switch {
	case s.gathered && len(c.Values) > 0:
		return g.refuse(from, at, "length: a part of %d values, want statistics", len(c.Values))
	case !s.gathered && len(c.Stats) > 0:
		return g.refuse(from, at, "length: %d statistics, want a part", len(c.Stats))
	case !s.gathered && len(own) == 0:
		return g.refuse(from, at, "to: %v owns none of the values", g.Members[g.Self])
	case len(c.Values) != len(own):
		return g.refuse(from, at, "length: a part of %d values, want %d", len(c.Values), len(own))
	}
	return nil
}

// addSum copies the sum of a member to the values, and ends the round if it is the last one.
func (g *Group) addSum(at round, owner int, sum []float32) error {
	g.mu.Lock()
	s := g.rounds[at]
	if s == nil || !s.fed || s.summed.in[owner] {
		g.mu.Unlock()
		if g.Recovers {
			return nil // not fed yet: the owner answers this member's part with the sum
		}
		return g.refuse(owner, at, "step: a sum comes twice, or before its values were fed")
	}
	chunk := g.chunk(s.values, owner)
	if len(chunk) != len(sum) || len(sum) == 0 {
		g.mu.Unlock()
		return g.refuse(owner, at, "length: a sum of %d values, want %d", len(sum), len(chunk))
	}
	s.summed.add(owner)
	copy(chunk, sum)
	last := s.summed.count == g.owners(len(s.values))
	g.mu.Unlock()
	if last {
		g.end(at, nil)
	}
	return nil
}

// end ends a round whose values are the sum, or whose statistics are here.
func (g *Group) end(at round, stats [][]float32) {
	g.mu.Lock()
	if g.Recovers {
		g.keep(at)
	} else {
		delete(g.rounds, at)
	}
	g.over[at.bucket] = at.step + 1
	g.mu.Unlock()
	g.Done(at.step, at.bucket, stats)
}

// refuse returns the error for a chunk of a member.
func (g *Group) refuse(member int, at round, format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	return &Refused{g.Members[member], wire.Refusef(wire.Inadmissible,
		"chunk of bucket %d, step %d from %v: %s", at.bucket, at.step, g.Members[member], text)}
}
