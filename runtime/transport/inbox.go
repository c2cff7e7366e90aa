package transport

import (
	"sync"

	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
	"tandem/runtime/wire"
)

// Credit bounds what one role elsewhere may have delivered to this process and not yet handled. The credit of the
// algorithm keeps a role that follows it far below.
type Credit struct {
	// Messages is the largest number of messages. A role that exceeds it is dropped. 0: no bound.
	Messages int
	// Bytes is the largest size of messages with a payload. What exceeds it waits in the network, except for a
	// single message. 0: no bound.
	Bytes unit.Bytes
}

// inbox keeps the account of every role elsewhere.
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
	held    map[payloadID]unit.Bytes // messages with a payload
	handled chan struct{}            // has an item when something was handled
}

// payloadID names a message with a payload. A second one of a name repeats the first.
type payloadID struct {
	kind       msg.Kind
	to         msg.Address
	rank, step int32
}

func idOf(m msg.Message) payloadID { return payloadID{m.Kind, m.To, m.Rank, m.Step} }

// add notes a message of some size that is about to be delivered. kept is false if it must not be, because it
// repeats one that waits or the node is closing. The error is a *wire.Refusal of kind Flood.
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
			return false, wire.Refusef(wire.Flood, "%v: %d messages of %v have not been handled yet, want at most %d",
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

// account returns that of a role. The caller holds b.mu.
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

// Handled notes that the receiver has handled a message that Handler.Deliver was called with.
func (n *Endpoint) Handled(m msg.Message) {
	b := &n.inbox
	b.mu.Lock()
	defer b.mu.Unlock()
	a := b.account(m.From)
	a.count = max(a.count-1, 0) // 0: it came from an incarnation that has been replaced
	if m.Kind.HasPayload() {
		a.bytes -= a.held[idOf(m)]
		delete(a.held, idOf(m))
	}
	a.wake()
}

func (a *account) wake() {
	select {
	case a.handled <- struct{}{}:
	default: // whoever waits looks again
	}
}

// reset forgets what a role has delivered that has been replaced.
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
