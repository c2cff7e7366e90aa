package transport

import (
	"sync"

	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
	"tandem/runtime/wire"
)

// Credit bounds the messages that one remote role may have delivered to this process and that are not yet
// handled. A role that follows the protocol stays far below.
type Credit struct {
	// Messages is the largest number of messages; 0 is no bound. A role that exceeds it is dropped.
	Messages int
	// Bytes is the largest total size of messages with a payload; 0 is no bound. Further messages wait in the
	// network, but a single message of any size is accepted.
	Bytes unit.Bytes
}

// inbox counts the unhandled messages of every remote role.
type inbox struct {
	limit Credit

	mu       sync.Mutex
	accounts map[msg.Address]*account
	closed   bool
}

// account is what one role has delivered and is not handled.
type account struct {
	count   int
	bytes   unit.Bytes
	held    map[payloadID]unit.Bytes // sizes of messages with a payload
	handled chan struct{}            // receives an item when a message was handled
}

// payloadID identifies a message with a payload. A second message with the same id repeats the first.
type payloadID struct {
	kind       msg.Kind
	to         msg.Address
	rank, step int32
}

func idOf(m msg.Message) payloadID { return payloadID{m.Kind, m.To, m.Rank, m.Step} }

// add counts a message that is about to be delivered. It returns false if the message must not be delivered,
// because it repeats one that waits or the endpoint is closing. The error is a *wire.Refusal with reason
// Flood.
func (b *inbox) add(m msg.Message, size int) (kept bool, err error) {
	if b.limit == (Credit{}) {
		return true, nil
	}
	bytes := unit.Bytes(size)
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		a := b.account(m.From)
		if _, again := a.held[idOf(m)]; again || b.closed {
			return false, nil
		}
		if b.limit.Messages > 0 && a.count >= b.limit.Messages {
			return false, wire.Refusef(wire.Flood,
				"%v: %d messages of %v are not handled yet, want at most %d",
				m, a.count, m.From, b.limit.Messages)
		}
		if m.Kind.HasPayload() && b.limit.Bytes > 0 && a.bytes > 0 && a.bytes+bytes > b.limit.Bytes {
			b.mu.Unlock()
			<-a.handled
			b.mu.Lock()
			continue
		}
		a.count++
		if m.Kind.HasPayload() {
			a.held[idOf(m)] = bytes
			a.bytes += bytes
		}
		return true, nil
	}
}

// account returns the account of a role. The caller holds b.mu.
func (b *inbox) account(role msg.Address) *account {
	a := b.accounts[role]
	if a == nil {
		a = &account{held: map[payloadID]unit.Bytes{}, handled: make(chan struct{}, 1)}
		if b.accounts == nil {
			b.accounts = map[msg.Address]*account{}
		}
		b.accounts[role] = a
	}
	return a
}

// Handled notes that the receiver has handled a message that was passed to Handler.Deliver.
func (n *Endpoint) Handled(m msg.Message) {
	b := &n.inbox
	b.mu.Lock()
	defer b.mu.Unlock()
	a := b.account(m.From)
	a.count = max(a.count-1, 0) // 0 if the sending incarnation was replaced
	if m.Kind.HasPayload() {
		a.bytes -= a.held[idOf(m)]
		delete(a.held, idOf(m))
	}
	a.wake()
}

// wake makes add check the account again.
func (a *account) wake() {
	select {
	case a.handled <- struct{}{}:
	default: // add has not yet received an earlier item
	}
}

// reset forgets the messages of a role that was replaced.
func (b *inbox) reset(role msg.Address) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if a := b.accounts[role]; a != nil {
		delete(b.accounts, role)
		a.wake()
	}
}

// close ends every wait.
func (b *inbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for _, a := range b.accounts {
		a.wake()
	}
}
