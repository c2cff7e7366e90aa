package role

import (
	"slices"

	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
)

// drain is the part of the data loader that ends a run on request (Drain), in three rounds:
//
//  1. Every rank offers the first step that it can do without, and begins no step from there on. It offers no
//     less than the step that the loader would read next, so no batch is read in vain. The highest offer is
//     the end: no rank has begun a later step, and none will.
//  2. If PSs apply gradients after they have acknowledged them, every PS learns the end, so that its last
//     group of gradients closes. Ranks could otherwise finish before the PSs.
//  3. Every rank learns the end.
//
// A round ends when all its roles have answered; until then its messages are repeated. The end is a function
// of the offers, which ranks keep. So a loader that restarts, and receives Drain again, decides the same end
// as its earlier incarnation.
type drain struct {
	round drainRound
	// end is the step before which the run ends: Config.Steps; during the offers, the highest so far.
	end      int32
	answered []bool // by role of the round, in the order of drainRoles
}

// drainRound is a round of a drain.
type drainRound uint8

const (
	noDrain drainRound = iota
	askRanks
	tellPSs
	tellRanks
	allTold
)

// startDrain begins the first round.
func (l *DataLoader) startDrain(now unit.Tick, out *Outputs) {
	if l.drain.round == noDrain {
		l.drain.end = l.nextRead
		l.nextRound(now, out)
	}
}

// drainRoles returns the roles of the current round.
func (l *DataLoader) drainRoles() (roles []msg.Address) {
	switch l.drain.round {
	case askRanks, tellRanks:
		for rank := range l.cfg.Ranks {
			roles = append(roles, nnWorker(rank))
		}
	case tellPSs:
		if !l.cfg.Rule.Dense().Buffered {
			return nil
		}
		for i := range l.cfg.EmbeddingPSs {
			roles = append(roles, embeddingPS(i))
		}
		for i := range l.cfg.DensePSs {
			roles = append(roles, densePS(int32(i)))
		}
	}
	return roles
}

// nextRound begins the next round that has roles.
func (l *DataLoader) nextRound(now unit.Tick, out *Outputs) {
	l.drain.round++
	if l.drain.round == tellPSs {
		out.record(event.Record{At: now, Role: loader, Kind: event.EndDecided, Rank: event.NoRank,
			Step: l.drain.end})
	}
	l.drain.answered = make([]bool, len(l.drainRoles()))
	if len(l.drain.answered) == 0 && l.drain.round < allTold {
		l.nextRound(now, out)
		return
	}
	l.sendRound(out)
}

// sendRound sends the message of the current round to the roles that have not answered.
func (l *DataLoader) sendRound(out *Outputs) {
	kind := msg.SetEnd
	if l.drain.round == askRanks {
		kind = msg.AskEnd
	}
	for i, to := range l.drainRoles() {
		if l.drain.answered[i] {
			continue
		}
		m := msg.Message{Kind: kind, From: loader, To: to, Step: l.drain.end, Bytes: msg.HeaderBytes}
		if to.Role == msg.NNWorker {
			m.Rank = to.Index
		}
		out.send(m, Handle{})
	}
}

// receiveAnswer handles the answer of a role.
func (l *DataLoader) receiveAnswer(now unit.Tick, m msg.Message, out *Outputs) {
	i := slices.Index(l.drainRoles(), m.From)
	if i < 0 || (m.Kind == msg.OfferEnd) != (l.drain.round == askRanks) {
		return // of an earlier round, or before a crash of the loader
	}
	l.drain.answered[i] = true
	if m.Kind == msg.OfferEnd {
		l.drain.end = max(l.drain.end, m.Step)
	}
	if !slices.Contains(l.drain.answered, false) {
		l.nextRound(now, out)
	}
}

func (d *drain) appendState(dst []byte) []byte {
	dst = append(appendInts(dst, d.end), byte(d.round))
	for _, answered := range d.answered {
		dst = appendFlags(dst, answered)
	}
	return dst
}

// offerEnd offers the first step that this rank can do without, but at least least. The first offer stands.
func (w *NNWorker) offerEnd(least int32, out *Outputs) {
	if !w.offered {
		w.offered = true
		w.limit = max(least, w.done.floor)
		if n := len(w.done.done); n > 0 {
			w.limit = max(w.limit, w.done.done[n-1]+1)
		}
		if n := len(w.batches); n > 0 {
			w.limit = max(w.limit, w.batches[n-1].step+1)
		}
	}
	w.send(out, msg.OfferEnd, loader, w.limit, nil, 0)
}

// acknowledgeEnd answers a SetEnd message.
func acknowledgeEnd(m msg.Message, out *Outputs) {
	out.send(msg.Message{Kind: msg.EndSet, From: m.To, To: m.From, Rank: m.Rank, Step: m.Step,
		Bytes: msg.HeaderBytes}, Handle{})
}
