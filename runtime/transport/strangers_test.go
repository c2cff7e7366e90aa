package transport

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"tandem/algo/protocol/msg"
	"tandem/runtime/wire"
)

// dialRaw opens a connection to an endpoint.
func dialRaw(t testing.TB, n *Endpoint) net.Conn {
	c, err := net.Dial("tcp", n.Address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() }) // the node may have closed it
	return c
}

// pushed sends 1 GiB of garbage, or as much as an endpoint reads before it closes the connection, and returns
// the number of bytes.
func pushed(c net.Conn) (count int) {
	garbage := bytes.Repeat([]byte("garbage "), 2048)
	for count < 1<<30 {
		n, err := c.Write(garbage)
		count += n
		if err != nil {
			break
		}
	}
	return count
}

// Kinds and flags of HTTP/2 frames.
const (
	dataFrame, headersFrame, settingsFrame, continuationFrame = 0, 1, 4, 9

	endHeaders = 4
)

// stream is an HTTP/2 connection whose frames the test makes.
type stream struct{ net.Conn }

// opened begins HTTP/2 on a connection.
func opened(t testing.TB, n *Endpoint) stream {
	s := stream{dialRaw(t, n)}
	if _, err := io.WriteString(s, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if err := s.write(settingsFrame, 0, nil); err != nil {
		t.Fatal(err)
	}
	return s
}

// write sends a frame, of stream 1 unless it holds settings.
func (s stream) write(kind, flags byte, payload []byte) error {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(payload))<<8|uint32(kind))
	b = append(b, flags, 0, 0, 0, 1)
	if kind == settingsFrame {
		b[8] = 0
	}
	_, err := s.Write(append(b, payload...))
	return err
}

// writeAll sends the same frame until 1 GiB has been sent or the endpoint closes the connection, and returns
// the bytes.
func (s stream) writeAll(kind byte, payload []byte) (count int) {
	for count < 1<<30 && s.write(kind, 0, payload) == nil {
		count += len(payload)
	}
	return count
}

// headers returns the HTTP/2 headers that open a stream, with some more: names and values in turn.
func headers(more ...string) (b []byte) {
	fields := append([]string{
		":method", "POST", ":scheme", "http", ":path", "/" + serviceName + "/" + methodName, ":authority",
		"x",
		"content-type", "application/grpc", "te", "trailers",
	}, more...)
	for i, text := range fields {
		if i%2 == 0 {
			b = append(b, 0) // a literal that is not to be kept
		}
		if len(text) < 127 {
			b = append(b, byte(len(text)))
		} else {
			b = binary.AppendUvarint(append(b, 127), uint64(len(text)-127))
		}
		b = append(b, text...)
	}
	return b
}

// said returns the headers of an introduction of worker 2.
func said() []byte {
	return headers(versionKey, fmt.Sprint(wire.Version), jobKey, "a job", runKey, run.String(),
		incarnationKey, "0", viewKey, "0", roleKey, "3/2")
}

// An endpoint reads at most 64 KiB from a process that it has not admitted. Its memory stays bounded, and
// admitted peers go on.
func TestUnadmittedConnectionsAreBounded(t *testing.T) {
	in := newMailbox()
	nodes := cluster(t, in, newMailbox())
	bounded, good := mustStayBounded(t), undisturbed(t, nodes[1], in)
	for name, attack := range map[string]func(t *testing.T) int{
		"garbage": func(t *testing.T) int { return pushed(dialRaw(t, nodes[0])) },
		"1 GiB of headers": func(t *testing.T) int {
			s := opened(t, nodes[0])
			if err := s.write(headersFrame, 0, headers()); err != nil {
				t.Fatal(err)
			}
			return s.writeAll(continuationFrame, headers("x", strings.Repeat("v", 14000)))
		},
		"1 GiB before its admission": func(t *testing.T) int {
			s := opened(t, nodes[0])
			if err := s.write(headersFrame, endHeaders, headers()); err != nil {
				t.Fatal(err)
			}
			return s.writeAll(dataFrame, make([]byte, 16<<10))
		},
	} {
		t.Run(name, func(t *testing.T) {
			// What the kernel holds on both sides of the connection is taken, too.
			if count := attack(t); count > 32<<20 {
				t.Errorf("%d bytes were taken", count)
			}
		})
	}
	good()
	bounded()
	closeAll(t, nodes)
}

// Connections that send nothing give way to those that do, and are closed in time.
func TestSilentConnectionsGiveWay(t *testing.T) {
	in := newMailbox()
	n := listen(t, 0, in)
	bounded := mustStayBounded(t)
	for range 2 * pendingMax {
		dialRaw(t, n)
	}
	peer := listen(t, 1, newMailbox())
	if err := peer.Connect(within(t, 5*time.Second),
		map[msg.Address]string{worker(0): n.Address()}); err != nil {
		t.Fatal(err)
	}
	if err := peer.Send(rows(1, 0, 1), nil); err != nil {
		t.Error(err)
	}
	in.next(t)
	n.admission.mu.Lock()
	if pending := len(n.admission.pending); pending > pendingMax {
		t.Errorf("%d connections wait", pending)
	}
	n.admission.mu.Unlock()
	bounded()
	start := time.Now()
	closeAll(t, []*Endpoint{n, peer})
	if took := time.Since(start); took > leaveTimeout {
		t.Errorf("closing took %v", took)
	}
}

// A connection that sends nothing is closed after a while, and so is one that waits for Begin.
func TestSilentConnectionsEnd(t *testing.T) {
	n, err := Listen("127.0.0.1:0", Options{Roles: []msg.Address{worker(0)}, Job: "a job",
		Handler: newMailbox()})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Abort()
	n.admission.mu.Lock()
	n.admission.wait = 50 * time.Millisecond
	n.admission.mu.Unlock()
	s := opened(t, n)
	if err := s.write(headersFrame, endHeaders, said()); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, s) // ends when the node closes the connection
	_, _ = io.Copy(io.Discard, dialRaw(t, n))
	if c := refusalsOf(n, wire.Introduced); c != 2 {
		t.Errorf("%d refusals are counted", c)
	}
}

// From a stream that waits for Begin and floods meanwhile, no more is read than from others.
func TestFloodBeforeBegin(t *testing.T) {
	n, err := Listen("127.0.0.1:0", Options{Roles: []msg.Address{worker(0)}, Job: "a job",
		Handler: newMailbox()})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Abort()
	bounded := mustStayBounded(t)
	s := opened(t, n)
	if err := s.write(headersFrame, endHeaders, said()); err != nil {
		t.Fatal(err)
	}
	for !hasIntroduced(n) {
		time.Sleep(time.Millisecond)
	}
	count := s.writeAll(dataFrame, make([]byte, 16<<10))
	if count > 32<<20 {
		t.Errorf("%d bytes were taken", count)
	}
	bounded()
}
