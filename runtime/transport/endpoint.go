// Package transport answers one question: how do messages of roles reach roles
// of other processes?
//
// Every process has one Endpoint. It listens, and it opens one gRPC stream to every
// process that it sends to: a stream has one direction, so two processes that
// talk have two. The frames of runtime/wire travel on it, without passing
// through protobuf.
//
// # How it is used
//
//	n, err := transport.Listen("127.0.0.1:7000", transport.Options{Roles: mine, Job: digest, Handler: h})
//	err = n.Begin(run, incarnation, view) // as the host of the run says; streams that arrive earlier wait for it
//	err = n.Connect(ctx, addresses)       // every role of the job, by host:port; ctx bounds the wait for those that start later
//	err = n.Send(message, payload)        // the handler of message.To's process receives both
//	err = n.Close()                       // at a good end; n.Abort() at a bad one
//
// and when the host says that a process has come back, with the same roles:
//
//	err = n.Replace(ctx, roles, address, incarnation, view) // or n.Fence, if this process never sends to them
//
// A process that joins after others have been replaced calls Fence for each of those, before Connect.
//
// # What it promises
//
//  1. Messages from one process to another arrive in the order of Send, each
//     once, until the stream breaks; then none does.
//  2. Send never waits, and a full stream never stops this process from taking
//     messages: what is not sent yet is in a queue, which the credit of roles
//     bounds.
//  3. A process that is killed is noticed at once, one that hangs or whose machine is gone within
//     1.5 × Options.Silence, if it has connected to this one. A process that pauses for less than
//     Options.Silence is not lost. Handler.Lost receives the name of its first role, once. A process that has
//     connected to this one and closes its Endpoint is not lost: it has left.
//  4. After Close has returned nil, everything that was sent has been delivered,
//     except to processes that had left, or that Handler.Lost or Handler.Dropped has named.
//  5. Close and Abort leave no goroutine behind.
//
// # What it refuses
//
// A stream begins with an introduction: version, job, run, incarnation, view and roles. Until it is accepted, at
// most 64 KiB are read from a connection, 10 seconds pass, and 256 connections are open. It is accepted if the
// run is that of Begin, its incarnation that of the last Fence or Replace of each of its roles (0 before), and no
// other process has claimed one of them. A later incarnation waits for the host's word; all else is refused.
//
// Every frame is checked before its payload is read: run, incarnation and view, that its sender is a role of the
// stream and its receiver one of this process, and Options.Limit; then Options.Admit sees the message with its
// payload, and Options.Inbox bounds what waits for the receiver. A process whose frame is refused is dropped: its
// streams are closed, both ways, and Handler.Dropped receives it. The run goes on as far as this package goes.
// Frames of an incarnation that has been replaced are discarded. Refusals are counted; Options.Log receives the
// first of every peer and wire.Reason.
//
// # What it expects
//
// Handler.Deliver must not wait for other messages. A payload that is sent must
// stay unchanged until the receiver answers; one that is received belongs to
// the receiver, numbers and all. Connections are not encrypted.
package transport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"

	"tandem/algo/exec"
	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
	"tandem/runtime/grpcnet"
	"tandem/runtime/wire"
)

// Handler is what a Endpoint reports to. Calls for messages of one
// process come one at a time, in order; those for several come at once.
// No method may call Close or Abort.
type Handler interface {
	// Deliver takes a message to a role of this process. It must not wait for
	// another message.
	Deliver(m msg.Message, payload exec.Payload)
	// Lost reports that a process is gone: messages sent to it from now on do not arrive. It is called once for a
	// process, and not for one that has left.
	Lost(peer string, err error)
	// Dropped reports that a process with some roles has been dropped, because what it sent was refused; messages
	// sent to it from now on do not arrive. It is called once for a process, and Lost is not called for it.
	Dropped(peer string, roles []msg.Address, reason error)
}

// Options say who a Endpoint is and what it lets in.
type Options struct {
	// Roles are those of this process, at least one. The first gives the process
	// its name.
	Roles []msg.Address
	// Job is what processes must have in common to be let in: a digest of the job
	// and of the build. Printable ASCII.
	Job     string
	Handler Handler
	// Admit returns an error for a message that must not be delivered; its sender is dropped. Chunks of an
	// all-reduce come as payloads of type wire.Chunk. Calls are as those of Handler.Deliver. Nil admits all.
	Admit func(m msg.Message, payload exec.Payload) error
	// Limit returns the largest size of a frame with a header, before memory is made for the frame.
	// Nil allows wire.MaxFrame.
	Limit func(h wire.Header) unit.Bytes
	// Inbox is what one role elsewhere may have delivered here and not yet handled, chunks of an all-reduce
	// aside. If it is not zero, Endpoint.Handled must be called for each delivered message.
	Inbox Credit
	// Restartable reports whether a role may come back after a crash of its process. What is sent to it while it
	// is away is discarded. Nil: no role does.
	Restartable func(msg.Address) bool
	// Silence is how long a process may pause; 0 means 3 s.
	Silence time.Duration
	// Log, if not nil, receives the first refusal of each peer and wire.Reason and, at the end, the counts.
	Log func(refused string)
}

// DefaultSilence is how long a process may pause unless Options say otherwise.
const DefaultSilence = 3 * time.Second

// Endpoint is this process among the others. Its methods may be called from any
// goroutine.
type Endpoint struct {
	options    Options
	listener   net.Listener
	server     *grpc.Server
	admission  *admission
	refusals   grpcnet.Refusals
	inbox      inbox
	goroutines sync.WaitGroup
	running    context.Context // ends with Close or Abort
	stop       context.CancelFunc

	mu       sync.Mutex
	identity wire.Identity
	begun    bool
	changed  chan struct{}              // closed and made again when begun or a standing changes
	peers    map[msg.Address]*peer      // of roles elsewhere
	streams  map[*inStream]bool         // streams that have been let in and have not ended
	out      map[msg.Address]*outStream // to the process of every role elsewhere
	gone     map[string]bool            // processes that have left, are lost or dropped
}

// Listen makes a Endpoint that takes streams at address, host:port; port 0 is any
// free one.
//
// The error names the address, and what to do if its port is in use.
func Listen(address string, o Options) (*Endpoint, error) {
	if len(o.Roles) == 0 || o.Handler == nil {
		return nil, errors.New("transport: a node needs roles and a handler")
	}
	if o.Silence == 0 {
		o.Silence = DefaultSilence
	}
	listener, err := grpcnet.Listen(address)
	if err != nil {
		return nil, fmt.Errorf("transport: %w", err)
	}
	n := &Endpoint{
		options: o, listener: listener, changed: make(chan struct{}), peers: map[msg.Address]*peer{},
		streams: map[*inStream]bool{}, out: map[msg.Address]*outStream{}, gone: map[string]bool{},
	}
	n.running, n.stop = context.WithCancel(context.Background())
	if o.Log != nil {
		n.refusals.Log = func(line string) { o.Log("transport: " + line) }
	}
	n.inbox.limit = o.Inbox
	n.admission = newAdmission(n.refuse)
	n.server = newServer(n)
	n.goroutines.Go(func() {
		// Whatever ends it, the streams' own ends tell of it.
		_ = n.server.Serve(listener)
	})
	return n, nil
}

// Address returns where the node listens, as host:port.
func (n *Endpoint) Address() string { return n.listener.Addr().String() }

// Begin sets the run, the incarnation of this process and the view in which it joined. Messages may be delivered
// from now on. It returns an error if it was called before.
func (n *Endpoint) Begin(run wire.RunID, incarnation, view uint32) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.begun {
		return errors.New("transport: Begin was called before")
	}
	n.identity, n.begun = wire.Identity{Run: run, Incarnation: incarnation, View: max(view, n.identity.View)}, true
	n.wakeWaiting()
	if !n.ending() {
		n.goroutines.Go(n.monitor)
	}
	return nil
}

// SetSilence replaces Options.Silence. It must not be called after Begin.
func (n *Endpoint) SetSilence(silence time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.begun {
		panic("transport: SetSilence after Begin")
	}
	n.options.Silence = silence
}

// wakeWaiting wakes the streams that wait for Begin or Fence. The caller holds n.mu.
func (n *Endpoint) wakeWaiting() {
	close(n.changed)
	n.changed = make(chan struct{})
}

// ending reports whether Close or Abort was called.
func (n *Endpoint) ending() bool { return n.running.Err() != nil }

// ErrGone says that the process which a message is for has left, or is gone.
var ErrGone = errors.New("is gone")

// Send has a message and its payload delivered to the role m.To of another
// process. It does not wait: nil says that the message is on its way, and
// Handler.Lost tells if it may not have arrived.
//
// It returns an error if no process with that role is connected, if it has
// left or is gone and cannot come back (ErrGone), or if the payload cannot travel (see wire.Encode).
func (n *Endpoint) Send(m msg.Message, payload exec.Payload) error {
	n.mu.Lock()
	l, id := n.out[m.To], n.identity
	n.mu.Unlock()
	if l == nil {
		if n.mayReturn(m.To) {
			return nil // it was away when this process began
		}
		return fmt.Errorf("transport: %v: no process with that role is connected", m)
	}
	frame, err := wire.Encode(id, m, payload)
	if err != nil {
		return err
	}
	if !l.outbox.add(frame) && !n.mayReturn(m.To) {
		return fmt.Errorf("transport: %v: %s %w", m, l.name, ErrGone)
	}
	return nil
}

// mayReturn reports whether a role may come back after a crash of its process.
func (n *Endpoint) mayReturn(role msg.Address) bool {
	return n.options.Restartable != nil && n.options.Restartable(role)
}

// name returns what others call this process.
func (n *Endpoint) name() string { return n.options.Roles[0].String() }

// left notes that a process has closed its node.
func (n *Endpoint) left(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.gone[name] = true
}

// lost tells the handler that a process is gone, unless that is known or this
// node is going as well. It returns false if Close has yet to tell.
func (n *Endpoint) lost(name string, err error) bool {
	n.mu.Lock()
	ending, known := n.ending(), n.gone[name]
	n.gone[name] = true
	n.mu.Unlock()
	if !ending && !known {
		n.options.Handler.Lost(name, fmt.Errorf("transport: lost %s: %w", name, plainError(err)))
	}
	return known || !ending
}

// refuse counts and logs something from a peer that is refused.
func (n *Endpoint) refuse(peer string, err error) {
	reason := wire.Inadmissible
	if refusal := (*wire.Refusal)(nil); errors.As(err, &refusal) {
		reason = refusal.Reason
	}
	n.refusals.Add(peer, string(reason), err.Error())
}

// Drop closes the streams to and from the process with a role, because what it sent is refused.
func (n *Endpoint) Drop(role msg.Address, reason error) {
	n.mu.Lock()
	c := (*inStream)(nil)
	if s := n.peers[role]; s != nil {
		c = s.stream
	}
	n.mu.Unlock()
	if c == nil {
		n.drop(role.String(), []msg.Address{role}, reason)
		return
	}
	n.drop(c.name(), c.roles, reason)
	c.close()
}

// drop closes the streams to a process and reports it.
func (n *Endpoint) drop(name string, roles []msg.Address, reason error) {
	n.mu.Lock()
	ending, known := n.ending(), n.gone[name]
	n.gone[name] = true
	var links []*outStream
	for _, r := range roles {
		if l := n.out[r]; l != nil {
			links = append(links, l)
		}
	}
	n.mu.Unlock()
	n.refuse(name, reason)
	for _, l := range links {
		l.close()
	}
	if !ending && !known {
		n.options.Handler.Dropped(name, roles, fmt.Errorf("transport: dropped %s: %w", name, reason))
	}
}
