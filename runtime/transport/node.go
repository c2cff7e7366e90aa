// Package transport answers one question: how do messages of roles reach roles
// of other processes?
//
// Every process has one Node. It listens, and it opens one gRPC stream to every
// process that it sends to: a stream has one direction, so two processes that
// talk have two. The frames of runtime/wire travel on it, without passing
// through protobuf.
//
// # How it is used
//
//	n, err := transport.Listen("127.0.0.1:7000", transport.Options{Roles: mine, Job: digest, Handler: h})
//	err = n.Connect(ctx, addresses) // every role of the job, by host:port; ctx bounds the wait for those that start later
//	err = n.Send(message, payload)  // the handler of message.To's process is given both
//	err = n.Close()                 // at a good end; n.Abort() at a bad one
//
// # What it promises
//
//  1. Messages from one process to another arrive in the order of Send, each
//     once, until the stream breaks; then none does.
//  2. Send never waits, and a full stream never stops this process from taking
//     messages: what is not sent yet is in a queue, which the credit of roles
//     bounds.
//  3. A process that is killed is noticed at once, one that hangs or whose
//     machine is gone within 5 seconds, if it has connected to this one. Handler
//     is told once, by the name of its first role. A process that has connected
//     to this one and closes its Node is not lost: it has left.
//  4. After Close has returned nil, everything that was sent has been delivered,
//     except to processes that had left, or of whose loss Handler was told.
//  5. Close and Abort leave no goroutine behind.
//
// # What it expects
//
// Handler.Deliver must not wait for other messages. A payload that is sent must
// stay unchanged until the receiver answers; one that is received belongs to
// the receiver, numbers and all. Connections are not encrypted.
package transport

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"syscall"

	"google.golang.org/grpc"

	"tandem/algo/msg"
	"tandem/runtime/wire"
)

// Handler is what a Node tells about the world. Calls for messages of one
// process come one at a time, in order; those for several come at once.
type Handler interface {
	// Deliver takes a message to a role of this process. It must not wait for
	// another message, nor call Close or Abort.
	Deliver(m msg.Message, payload any)
	// Lost says that a process is gone, or talks nonsense: nothing that is sent to
	// it from now on arrives. It is called once a process, and not for one that has
	// left. It must not call Close or Abort.
	Lost(peer string, err error)
}

// Options say who a Node is.
type Options struct {
	// Roles are those of this process, at least one. The first gives the process
	// its name.
	Roles []msg.Address
	// Job is what processes must have in common to be let in: a digest of the job
	// and of the build. Printable ASCII.
	Job     string
	Handler Handler
}

// Node is this process among the others. Its methods may be called from any
// goroutine.
type Node struct {
	options    Options
	listener   net.Listener
	server     *grpc.Server
	goroutines sync.WaitGroup

	mu     sync.Mutex
	links  map[msg.Address]*link // to the process of every role elsewhere
	gone   map[string]bool       // processes that have left or are lost
	ending bool                  // Close or Abort was called
}

// Listen makes a Node that takes streams at address, host:port; port 0 is any
// free one. Messages may be delivered from now on.
//
// The error names the address, and what to do if its port is in use.
func Listen(address string, o Options) (*Node, error) {
	if len(o.Roles) == 0 || o.Handler == nil {
		return nil, errors.New("transport: a node needs roles and a handler")
	}
	listener, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("transport: cannot listen on %s: %w; stop the process that holds the port (`ss -ltnp` names it), or give %v another",
			address, syscall.EADDRINUSE, o.Roles[0])
	}
	if err != nil {
		return nil, fmt.Errorf("transport: cannot listen on %s: %w", address, err)
	}
	n := &Node{options: o, listener: listener, links: map[msg.Address]*link{}, gone: map[string]bool{}}
	n.server = newServer(n)
	n.goroutines.Go(func() {
		// Whatever ends it, the streams' own ends tell of it.
		_ = n.server.Serve(listener)
	})
	return n, nil
}

// Address returns where the node listens, as host:port.
func (n *Node) Address() string { return n.listener.Addr().String() }

// Send has a message and its payload delivered to the role m.To of another
// process. It does not wait: nil says that the message is on its way, and
// Handler.Lost tells if it may not have arrived.
//
// It returns an error if no process with that role is connected, if it has
// left, or if the payload cannot travel (see wire.Encode).
func (n *Node) Send(m msg.Message, payload any) error {
	n.mu.Lock()
	l := n.links[m.To]
	n.mu.Unlock()
	if l == nil {
		return fmt.Errorf("transport: %v: no process with that role is connected", m)
	}
	frame, err := wire.Encode(m, payload)
	if err != nil {
		return err
	}
	if !l.box.put(frame) {
		return fmt.Errorf("transport: %v: %s is gone", m, l.name)
	}
	return nil
}

// deliver hands over the messages of a packet.
func (n *Node) deliver(data []byte) error {
	for len(data) > 0 {
		m, payload, rest, err := wire.Decode(data)
		if err != nil {
			return err
		}
		if !slices.Contains(n.options.Roles, m.To) {
			return fmt.Errorf("transport: %v, which is not here but at %s", m, n.name())
		}
		n.options.Handler.Deliver(m, payload)
		data = rest
	}
	return nil
}

// name returns what others call this process.
func (n *Node) name() string { return n.options.Roles[0].String() }

// left notes that a process has closed its node.
func (n *Node) left(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.gone[name] = true
}

// lost tells the handler that a process is gone, unless that is known or this
// node is going as well. It returns false if Close has yet to tell.
func (n *Node) lost(name string, err error) bool {
	n.mu.Lock()
	ending, known := n.ending, n.gone[name]
	n.gone[name] = true
	n.mu.Unlock()
	if !ending && !known {
		n.options.Handler.Lost(name, fmt.Errorf("transport: lost %s: %w", name, plain(err)))
	}
	return known || !ending
}
