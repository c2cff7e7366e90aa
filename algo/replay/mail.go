package replay

import (
	"slices"

	"tandem/algo/msg"
)

// mailbox is what was sent to one role, in order, and may be received.
type mailbox struct {
	once    bool // every message is received exactly once
	parcels map[msg.Message][]parcel
}

// parcel is the payload of a message under way.
type parcel struct {
	payload any
	print   uint64 // work.Fingerprint of the payload; 0 without
}

func newMailbox(once bool) mailbox { return mailbox{once: once, parcels: map[msg.Message][]parcel{}} }

// put adds a message. If messages may be repeated, equal copies of one message are one parcel.
func (b *mailbox) put(m msg.Message, sent parcel) {
	if b.once || b.find(m, sent.print) < 0 {
		b.parcels[m] = append(b.parcels[m], sent)
	}
}

// find returns the place of a message with a payload among those equal to it, −1 if there is none. A
// message that is sent twice may come of two reads, between which rows have changed: the payload tells.
func (b *mailbox) find(m msg.Message, print uint64) int {
	return slices.IndexFunc(b.parcels[m], func(p parcel) bool { return p.print == print })
}

// take returns the payload of a message that find has found. If messages may be repeated, the message stays:
// it may be received again.
func (b *mailbox) take(m msg.Message, print uint64) any {
	sent := b.parcels[m]
	i := b.find(m, print)
	payload := sent[i].payload
	switch {
	case !b.once:
	case len(sent) == 1:
		delete(b.parcels, m)
	default:
		b.parcels[m] = slices.Delete(sent, i, i+1)
	}
	return payload
}

// like returns the message of the box that resembles m most: of the same batch, sender and kind, and of the
// same floor if there is one, else of the lowest.
func (b *mailbox) like(m msg.Message) (best msg.Message, ok bool) {
	for sent := range b.parcels { // order-free: takes the one with the same floor, or the least
		if sent.Kind != m.Kind || sent.From != m.From || sent.Rank != m.Rank || sent.Step != m.Step {
			continue
		}
		if !ok || sent.Floor == m.Floor || best.Floor != m.Floor && sent.Floor < best.Floor {
			best, ok = sent, true
		}
	}
	return best, ok
}
