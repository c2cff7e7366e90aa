package work

import (
	"fmt"

	"tandem/algo/batch"
	"tandem/algo/event"
	"tandem/algo/msg"
	"tandem/algo/role"
	"tandem/algo/route"
)

// Payload returns the data that belongs to a message, out of the sender's
// store; nil if none does. It stays valid and unchanged after the sender has
// released it.
func (p *Performer) Payload(s *Store, m msg.Message) any {
	handle := func(k role.HandleKind) role.Handle { return role.Handle{Kind: k, Rank: m.Rank, Step: m.Step} }
	switch m.Kind {
	case msg.IDFeatures, msg.Samples:
		parts := get[[]batch.Part](s, role.Handle{Kind: role.GlobalBatch, Rank: event.NoRank, Step: m.Step})
		return &parts[m.Rank]
	case msg.Lookup:
		return get[*route.Routed](s, handle(role.RoutedIDs)).Of(int(m.To.Index))
	case msg.Rows:
		return get[[]float32](s, handle(role.ShardRows))
	case msg.Embeddings:
		return get[[]float32](s, handle(role.PooledRows))
	case msg.PutGradients:
		return get[[]float32](s, handle(role.PooledGrads))
	case msg.Put:
		return get[[]route.Put](s, handle(role.ShardGrads))[m.To.Index]
	case msg.Params:
		return get[[]float32](s, handle(role.ShardParams))
	case msg.Push:
		return p.served.part(get[[]float32](s, handle(role.DenseGradients)), m.To.Index)
	}
	return nil
}

// Keep stores the payload of a message that its receiver keeps.
func (p *Performer) Keep(s *Store, m msg.Message, payload any) {
	if payload == nil {
		panic(fmt.Sprintf("work: %v has no payload to keep", m))
	}
	h := role.PayloadHandle(m)
	switch m.Kind {
	case msg.Rows:
		s.putShard(h, len(p.shards), m.From.Index, payload.([]float32))
		return
	case msg.Params:
		s.putShard(h, len(p.served.shards), m.From.Index, payload.([]float32))
		return
	}
	s.put(h, payload)
}
