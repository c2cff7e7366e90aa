package replay

import (
	"slices"

	"tandem/algo/exec"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
)

// mailbox holds the messages that were sent to one role and may still be received.
//
// Where messages may be lost or repeated, a message does not show whether it will be received again. So a
// survey of the recorded stream, before the replay, notes the messages that arrive late: after one of the
// same rank that is at least horizon steps ahead. Messages that are as old and not noted are dropped. Memory:
// the messages of the last horizon steps, and those that arrive late.
type mailbox struct {
	once    bool // every message is received exactly once
	horizon int32
	parcels []map[msg.Message][]parcel // by rank
	newest  []int32                    // by rank: the highest step of a message received
	late    map[msg.Message]int32      // how often each will arrive late from now on
}

// parcel is the payload of a message in flight.
type parcel struct {
	payload exec.Payload
	print   uint64 // exec.Fingerprint of the payload; 0 without
}

func newMailbox(cfg *role.Config) *mailbox {
	b := &mailbox{
		once: cfg.Retry == 0, horizon: horizon(cfg), parcels: make([]map[msg.Message][]parcel, cfg.Ranks),
		newest: make([]int32, cfg.Ranks), late: map[msg.Message]int32{},
	}
	for rank := range b.parcels {
		b.parcels[rank] = map[msg.Message][]parcel{}
	}
	return b
}

// horizon is larger than the number of batches that a rank may have in flight, so that only duplicates can be
// late.
func horizon(cfg *role.Config) int32 { return 2 * cfg.Prefetch }

// announce records during a survey that the role receives m next.
func (b *mailbox) announce(m msg.Message) {
	if b.old(m) {
		b.late[m]++
	}
	b.newest[m.Rank] = max(b.newest[m.Rank], m.Step)
}

// begin ends the survey.
func (b *mailbox) begin() { clear(b.newest) }

func (b *mailbox) old(m msg.Message) bool {
	return !b.once && int64(m.Step)+int64(b.horizon) <= int64(b.newest[m.Rank])
}

// add adds a message that was sent. If messages may be repeated, equal copies of one message are one parcel.
func (b *mailbox) add(m msg.Message, sent parcel) {
	if b.old(m) && b.late[m] == 0 {
		return
	}
	if b.once || b.find(m, sent.print) < 0 {
		b.parcels[m.Rank][m] = append(b.parcels[m.Rank][m], sent)
	}
}

// find returns the place of a message with a payload among those equal to it, −1 if there is none. A message
// that is sent twice may carry two reads, between which rows have changed: only the payload distinguishes
// them.
func (b *mailbox) find(m msg.Message, print uint64) int {
	return slices.IndexFunc(b.parcels[m.Rank][m], func(p parcel) bool { return p.print == print })
}

// receive returns the payload of a message that find has found. If messages may be repeated, the message
// stays, because it may be received again.
func (b *mailbox) receive(m msg.Message, print uint64) exec.Payload {
	mine := b.parcels[m.Rank]
	sent := mine[m]
	i := b.find(m, print)
	payload := sent[i].payload
	switch {
	case !b.once:
		b.received(m)
	case len(sent) == 1:
		delete(mine, m)
	default:
		mine[m] = slices.Delete(sent, i, i+1)
	}
	return payload
}

// received drops the messages that will not be received again.
func (b *mailbox) received(m msg.Message) {
	mine := b.parcels[m.Rank]
	if b.old(m) {
		if b.late[m]--; b.late[m] == 0 {
			delete(b.late, m)
			delete(mine, m)
		}
		return
	}
	if m.Step <= b.newest[m.Rank] {
		return
	}
	b.newest[m.Rank] = m.Step
	for sent := range mine { // order-free: each is looked at by itself
		if b.old(sent) && b.late[sent] == 0 {
			delete(mine, sent)
		}
	}
}

// like returns the message of the box that resembles m most: of the same batch, sender and kind, and of the
// same floor if there is one, else of the lowest.
func (b *mailbox) like(m msg.Message) (best msg.Message, ok bool) {
	for sent := range b.parcels[m.Rank] { // order-free: takes the one with the same floor, or the least
		if sent.Kind != m.Kind || sent.From != m.From || sent.Step != m.Step {
			continue
		}
		if !ok || sent.Floor == m.Floor || best.Floor != m.Floor && sent.Floor < best.Floor {
			best, ok = sent, true
		}
	}
	return best, ok
}
