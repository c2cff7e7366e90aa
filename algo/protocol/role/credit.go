package role

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"tandem/algo/protocol/msg"
	"tandem/algo/rng"
	"tandem/algo/unit"
)

// Credit checks that one role respects its credit windows. A driver passes every message that the role sends
// to Sent, and every message that it receives to Received. Cost: a few map operations for each message.
type Credit struct {
	cfg  *Config
	open map[requestKey]unit.Bytes
	used map[windowKey]window
	// floors are the highest values of Message.Floor that the role has sent, by rank.
	floors []int32
}

// requestKey identifies a request.
type requestKey struct {
	kind       msg.Kind
	to         msg.Address
	rank, step int32
}

// windowKey identifies a credit window: for requests of a kind from the role to another, about one rank.
type windowKey struct {
	kind msg.Kind
	to   msg.Address
	rank int32
}

// window is the used part of a credit window.
type window struct {
	count int32
	bytes unit.Bytes
}

func (w window) add(bytes unit.Bytes) window { return window{w.count + 1, w.bytes + bytes} }

// within reports whether the used part is within limits. A single message is always within the limit on
// bytes, and 0 bytes means no limit.
func (w window) within(count int32, bytes unit.Bytes) bool {
	return w.count <= count && (w.count == 1 || bytes == 0 || w.bytes <= bytes)
}

// NewCredit returns a Credit for one role at the start of a run.
func NewCredit(cfg *Config) *Credit {
	return &Credit{
		cfg: cfg, open: map[requestKey]unit.Bytes{}, used: map[windowKey]window{},
		floors: make([]int32, cfg.Ranks),
	}
}

// settledBy maps the kind of an answer to the kinds of requests that it settles.
var settledBy = map[msg.Kind][]msg.Kind{
	msg.StepDone:   {msg.Samples, msg.IDFeatures},
	msg.Embeddings: {msg.GetEmbeddings},
	msg.PutDone:    {msg.PutGradients, msg.DropBatch, msg.GetEmbeddings}, // dropped batches get no embeddings
	msg.Rows:       {msg.Lookup},
	msg.PutAck:     {msg.Put},
	msg.Params:     {msg.Pull},
	msg.PushAck:    {msg.Push},
}

// Sent records a message that the role sends. It returns an error if the role has no credit for it. A
// repeated request uses no further credit.
func (c *Credit) Sent(m msg.Message) error {
	limit, limitBytes := c.cfg.Prefetch, unit.Bytes(0)
	switch m.Kind {
	case msg.Samples, msg.GetEmbeddings, msg.PutGradients, msg.DropBatch, msg.IDFeatures, msg.Pull, msg.Push:
	case msg.Lookup, msg.Put:
		limit, limitBytes = c.cfg.EdgeWindow, c.cfg.WindowBytes
	default:
		return nil // answers need no credit, nor do clocks: there is one for each step
	}
	key := requestKey{m.Kind, m.To, m.Rank, m.Step}
	if _, again := c.open[key]; again {
		return nil
	}
	c.raise(m.Rank, m.Floor)
	e := windowKey{m.Kind, m.To, m.Rank}
	w := c.used[e].add(m.Bytes)
	if !w.within(limit, limitBytes) && !c.oldest(key) {
		return fmt.Errorf("role: %v sent without credit: %d messages, %d bytes unanswered; limit %d, %d",
			m, w.count, w.bytes, limit, limitBytes)
	}
	c.open[key], c.used[e] = m.Bytes, w
	return nil
}

// oldest reports whether a request is about an earlier step than all unanswered requests in its window. Such
// a request needs no credit.
func (c *Credit) oldest(key requestKey) bool {
	for open := range c.open { // order-free: any match returns
		if open.kind == key.kind && open.to == key.to && open.rank == key.rank && open.step <= key.step {
			return false
		}
	}
	return true
}

// raise returns the credit of requests about steps of a rank below floor. These steps are finished, so the
// role does not wait for answers.
func (c *Credit) raise(rank, floor int32) {
	if floor <= c.floors[rank] {
		return
	}
	c.floors[rank] = floor
	for key := range c.open { // order-free: every finished request is settled
		if key.rank == rank && key.step < floor {
			c.settle(key)
		}
	}
}

// settle returns the credit of one request, if it is unanswered.
func (c *Credit) settle(key requestKey) {
	bytes, found := c.open[key]
	if !found {
		return
	}
	delete(c.open, key)
	e := windowKey{key.kind, key.to, key.rank}
	w := c.used[e]
	if w = (window{w.count - 1, w.bytes - bytes}); w.count == 0 {
		delete(c.used, e)
	} else {
		c.used[e] = w
	}
}

// Received records a message that the role receives.
func (c *Credit) Received(m msg.Message) {
	if m.Kind == msg.PutGradients || m.Kind == msg.DropBatch {
		// The rank has the embeddings or does not need them.
		for i := range c.cfg.EmbeddingPSs {
			c.settle(requestKey{msg.Lookup, embeddingPS(i), m.Rank, m.Step})
		}
	}
	for _, kind := range settledBy[m.Kind] {
		to := m.From
		if kind == msg.IDFeatures {
			to = c.cfg.WorkerOf(m.Rank, m.Step)
		}
		c.settle(requestKey{kind, to, m.Rank, m.Step})
	}
}

// Clone returns an independent copy.
func (c *Credit) Clone() *Credit {
	return &Credit{cfg: c.cfg, open: maps.Clone(c.open), used: maps.Clone(c.used),
		floors: slices.Clone(c.floors)}
}

// AppendState appends a canonical form of the state to dst: the floors, and a sum over the unanswered
// requests, which does not depend on the order of iteration.
func (c *Credit) AppendState(dst []byte) []byte {
	dst = appendInts(dst, c.floors...)
	var sum uint64
	for k := range c.open { // order-free: a sum
		sum += rng.Mix(uint64(k.kind)<<56 ^ uint64(k.to.Role)<<48 ^ uint64(k.to.Index)<<32 ^
			rng.Mix(uint64(k.rank)<<32^uint64(k.step)))
	}
	return binary.LittleEndian.AppendUint64(dst, sum)
}
