package transport

import (
	"fmt"

	"tandem/algo/exec"
	"tandem/algo/protocol/msg"
	"tandem/runtime/wire"
)

// SendAll sends messages in their order, as Send does for each. Those to one process are handed over
// together: they share packets while they fit, and wake the writer of its stream once.
//
// SendAll returns Send's error for the first message that has one. It sends none if a receiver is not
// connected or a payload cannot be encoded. If a process is gone, the messages to the others are sent.
func (n *Endpoint) SendAll(letters []exec.Letter) error {
	var all []shipment
	for _, l := range letters {
		stream, id := n.streamTo(l.Message.To)
		if stream == nil {
			if n.mayReturn(l.Message.To) {
				continue // the process was away when this one began
			}
			return fmt.Errorf("transport: %v: no process with this role is connected", l.Message)
		}
		frame, err := wire.Encode(id, l.Message, l.Payload)
		if err != nil {
			return err
		}
		all = load(all, stream, l.Message, outFrame{frame, l.Free})
	}
	var gone error
	for _, s := range all {
		if !s.stream.outbox.add(s.frames...) && !n.mayReturn(s.first.To) && gone == nil {
			gone = fmt.Errorf("transport: %v: %s %w", s.first, s.stream.name, ErrGone)
		}
	}
	return gone
}

// shipment is what one call of SendAll sends on one stream.
type shipment struct {
	stream *outStream
	first  msg.Message
	frames []outFrame
}

// load adds a frame to the shipment of its stream. There are few streams.
func load(all []shipment, stream *outStream, m msg.Message, frame outFrame) []shipment {
	for i := range all {
		if all[i].stream == stream {
			all[i].frames = append(all[i].frames, frame)
			return all
		}
	}
	return append(all, shipment{stream, m, []outFrame{frame}})
}

// streamTo returns the stream to the process of a role, or nil, and the identity of this process.
func (n *Endpoint) streamTo(role msg.Address) (*outStream, wire.Identity) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.out[role], n.identity
}
