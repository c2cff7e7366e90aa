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
	"tandem/runtime/identity"
	"tandem/runtime/wire"
)

// Handler receives what arrives at an Endpoint. Calls for messages of one process come one at a time, in
// order; calls for several processes come concurrently. No method may call Close or Abort.
type Handler interface {
	// Deliver passes a message to a role of this process. It must not wait for another message. If free is
	// not nil, it may be called, once and from any goroutine, when payload and its arrays are no longer used:
	// their memory is then used for other messages. Otherwise they are garbage collected.
	Deliver(m msg.Message, payload exec.Payload, free func())
	// Lost reports that a process is gone: messages sent to it from now on do not arrive. It is called once
	// for a process, and not for a process that has left.
	Lost(peer string, err error)
	// Dropped reports that a process with these roles was dropped because a frame of it was refused. Messages
	// sent to it from now on do not arrive. Dropped is called once for a process, and Lost is not called for
	// it.
	Dropped(peer string, roles []msg.Address, reason error)
}

// Options identify an Endpoint and say what it accepts.
type Options struct {
	// Roles are the roles of this process, at least one. The first one is the name of the process.
	Roles []msg.Address
	// Job is what all processes must have in common: a digest of the job and the build, in printable ASCII.
	Job     string
	Handler Handler
	// Admit returns an error for a message that must not be delivered; the sender is then dropped. Chunks of
	// an all-reduce arrive as payloads of type wire.Chunk. Admit is called as Handler.Deliver is. Nil admits
	// all messages.
	Admit func(m msg.Message, payload exec.Payload) error
	// Limit returns the largest size of a frame with a given header. It is called before memory is allocated
	// for the frame. Nil stands for wire.MaxFrame.
	Limit func(h wire.Header) unit.Bytes
	// Inbox bounds the messages that one remote role may have delivered to this process and that are not yet
	// handled, except for chunks of an all-reduce. Unless it is zero, Endpoint.Handled must be called for
	// each delivered message.
	Inbox Credit
	// Restartable reports whether a role may come back after a crash of its process. Messages sent to it
	// while it is away are discarded. Nil stands for no role.
	Restartable func(msg.Address) bool
	// Silence is how long a process may pause; 0 stands for DefaultSilence.
	Silence time.Duration
	// TCP makes messages to and from other processes of this machine travel by TCP, as those of other
	// machines do. Otherwise they travel through shared memory, if there is enough of it.
	TCP bool
	// Identity, if not nil, makes every connection one of TLS, and admits only processes of its run. Each
	// must have a certificate of the roles that it introduces.
	Identity *identity.Identity
	// Refused, if not nil, receives the wire.Reason of everything that is refused.
	Refused func(reason string)
	// Log, if not nil, receives a line for the first refusal of each peer and wire.Reason and, at the end,
	// lines with the counts. It also receives a line if there is no shared memory.
	Log func(line string)
}

// DefaultSilence is the default of Options.Silence.
const DefaultSilence = 3 * time.Second

// Endpoint is the end of this process's streams. Its methods may be called from any goroutine.
type Endpoint struct {
	options    Options
	listener   net.Listener
	server     *grpc.Server
	admission  *admission
	refusals   grpcnet.Refusals
	tcpLogged  sync.Once
	memory     memory
	inbox      inbox
	goroutines sync.WaitGroup
	running    context.Context // until Close or Abort
	stop       context.CancelFunc

	mu       sync.Mutex
	identity wire.Identity
	begun    bool
	changed  chan struct{}              // closed and replaced when begun or a peer changes
	peers    map[msg.Address]*peer      // the roles of other processes
	streams  map[*inStream]bool         // admitted streams that have not ended
	out      map[msg.Address]*outStream // the stream to the process of each remote role
	gone     map[string]bool            // processes that have left, were lost or dropped
}

// Listen returns an Endpoint that accepts streams at address, HOST:PORT; port 0 is any free port.
func Listen(address string, o Options) (*Endpoint, error) {
	if len(o.Roles) == 0 || o.Handler == nil {
		return nil, errors.New("transport: an endpoint needs roles and a handler")
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
	n.refusals.Counted = o.Refused
	n.inbox.limit = o.Inbox
	n.admission = newAdmission(n.refuse)
	n.admission.identity = o.Identity
	n.server = newServer(n)
	n.goroutines.Go(func() {
		// When Serve fails, the streams end too, which is handled there.
		_ = n.server.Serve(listener)
	})
	return n, nil
}

// Address returns the HOST:PORT where the endpoint listens.
func (n *Endpoint) Address() string { return n.listener.Addr().String() }

// Begin sets the run, the incarnation of this process and the view in which it joined. From now on messages
// may be delivered. Begin must be called once.
func (n *Endpoint) Begin(run wire.RunID, incarnation, view uint32) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.begun {
		return errors.New("transport: Begin was called twice")
	}
	n.identity, n.begun = wire.Identity{Run: run, Incarnation: incarnation,
		View: max(view, n.identity.View)}, true
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

// SetRoles replaces Options.Roles. It must not be called after Begin.
func (n *Endpoint) SetRoles(roles []msg.Address) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.begun {
		panic("transport: SetRoles after Begin")
	}
	n.options.Roles = roles
}

// wakeWaiting wakes the streams that wait for Begin or Fence. The caller holds n.mu.
func (n *Endpoint) wakeWaiting() {
	close(n.changed)
	n.changed = make(chan struct{})
}

// ending reports whether Close or Abort was called.
func (n *Endpoint) ending() bool { return n.running.Err() != nil }

// ErrGone says that the process of a message's receiver has left or is gone.
var ErrGone = errors.New("is gone")

// mayReturn reports whether a role may come back after a crash of its process.
func (n *Endpoint) mayReturn(role msg.Address) bool {
	return n.options.Restartable != nil && n.options.Restartable(role)
}

// name returns the name of this process.
func (n *Endpoint) name() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.options.Roles[0].String()
}

// left notes that a process has closed its endpoint.
func (n *Endpoint) left(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.gone[name] = true
}

// lost reports to the handler that a process is gone, unless that is known or this endpoint is closing. It
// returns false if Close must still report it.
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
	if refused := (*identity.Refused)(nil); errors.As(err, &refused) {
		reason = wire.Reason(refused.Reason)
	}
	n.refusals.Add(peer, string(reason), err.Error())
}

// Drop closes the streams to and from the process of a role, because something from it was refused.
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

// drop closes the streams to a process and reports that it was dropped.
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
