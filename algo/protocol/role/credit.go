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

// Credit checks that one role keeps to its credit windows. A driver shows it
// every message that the role sends and receives. Cost: one map operation a
// message.
type Credit struct {
	cfg  *Config
	open map[requestKey]unit.Bytes
	used map[windowKey]window
	// floors are, by rank, the first steps that are not finished, as the role has last said.
	floors []int32
}

// asking names an unanswered request.
type requestKey struct {
	kind       msg.Kind
	to         msg.Address
	rank, step int32
}

// edge is what a window is about: requests of a kind from one role to another,
// about one rank.
type windowKey struct {
	kind msg.Kind
	to   msg.Address
	rank int32
}

// window is how much of a credit window is used.
type window struct {
	count int32
	bytes unit.Bytes
}

func (w window) add(bytes unit.Bytes) window { return window{w.count + 1, w.bytes + bytes} }

// within reports whether the window is kept: a single message always keeps
// the limit on bytes, and 0 bytes is no limit.
func (w window) within(count int32, bytes unit.Bytes) bool {
	return w.count <= count && (w.count == 1 || bytes == 0 || w.bytes <= bytes)
}

// NewCredit returns a check for one role.
func NewCredit(cfg *Config) *Credit {
	return &Credit{
		cfg: cfg, open: map[requestKey]unit.Bytes{}, used: map[windowKey]window{}, floors: make([]int32, cfg.Ranks),
	}
}

// answers maps the kind of an answer to the requests that it settles.
var settledBy = map[msg.Kind][]msg.Kind{
	msg.StepDone:   {msg.Samples, msg.IDFeatures},
	msg.Embeddings: {msg.GetEmbeddings},
	msg.PutDone:    {msg.PutGradients, msg.DropBatch, msg.GetEmbeddings}, // of a dropped batch no embeddings come
	msg.Rows:       {msg.Lookup},
	msg.PutAck:     {msg.Put},
	msg.Params:     {msg.Pull},
	msg.PushAck:    {msg.Push},
}

// Sent records a message that the role sends. It returns an error if the
// role had no credit for it. A request that is sent again uses the credit that
// it has.
func (c *Credit) Sent(m msg.Message) error {
	limit, limitBytes := c.cfg.Prefetch, unit.Bytes(0)
	switch m.Kind {
	case msg.Samples, msg.GetEmbeddings, msg.PutGradients, msg.DropBatch, msg.IDFeatures, msg.Pull, msg.Push:
	case msg.Lookup, msg.Put:
		limit, limitBytes = c.cfg.Window, c.cfg.WindowBytes
	default:
		return nil // answers need no credit, nor do clocks, of which a step has one
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

// oldest reports whether a request is about an earlier step than all that are
// unanswered on its edge; such a request needs no credit.
func (c *Credit) oldest(key requestKey) bool {
	for open := range c.open { // order-free: looks for any
		if open.kind == key.kind && open.to == key.to && open.rank == key.rank && open.step <= key.step {
			return false
		}
	}
	return true
}

// raise gives back the credit of requests about steps of a rank below floor: those are finished, and the
// role waits for no more answers about them.
func (c *Credit) raise(rank, floor int32) {
	if floor <= c.floors[rank] {
		return
	}
	c.floors[rank] = floor
	for key := range c.open { // order-free: every finished request goes
		if key.rank == rank && key.step < floor {
			c.settle(key)
		}
	}
}

// settle gives back the credit of one request, if it is open.
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
	if m.Kind == msg.PutGradients || m.Kind == msg.DropBatch { // the EW needs no more rows: embeddings have arrived, or are not wanted
		for i := range c.cfg.EmbeddingPSs {
			c.settle(requestKey{msg.Lookup, embeddingPS(i), m.Rank, m.Step})
		}
	}
	for _, kind := range settledBy[m.Kind] {
		to := m.From
		if kind == msg.IDFeatures {
			to = c.cfg.workerOf(m.Rank, m.Step)
		}
		c.settle(requestKey{kind, to, m.Rank, m.Step})
	}
}

// Clone returns an independent copy.
func (c *Credit) Clone() *Credit {
	return &Credit{cfg: c.cfg, open: maps.Clone(c.open), used: maps.Clone(c.used), floors: slices.Clone(c.floors)}
}

// AppendState appends a canonical form of the state: the floors, and a sum over the open requests, whatever
// the order in which the map yields them.
func (c *Credit) AppendState(dst []byte) []byte {
	dst = appendInts(dst, c.floors...)
	var sum uint64
	for k := range c.open { // order-free: a sum
		sum += rng.Mix(uint64(k.kind)<<56 ^ uint64(k.to.Role)<<48 ^ uint64(k.to.Index)<<32 ^
			rng.Mix(uint64(k.rank)<<32^uint64(k.step)))
	}
	return binary.LittleEndian.AppendUint64(dst, sum)
}
