package transport

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"slices"
	"testing"

	"tandem/algo/exec"
	"tandem/algo/protocol/msg"
	"tandem/runtime/wire"
)

// The budget beside bare TCP framing in the same run: payloads of 1 MiB in one direction, at least 40 % of
// its speed; small calls, with 16 in flight and one at a time, at least 60 %. The bare form writes length and
// bytes to a buffered socket, and reads into memory that it uses again, as receivers of rings and streams do.

const inFlight = 16

// answering is a handler that answers requests and counts answers.
type answering struct {
	node    *Endpoint
	answers chan struct{}
}

func (a *answering) Deliver(m msg.Message, payload exec.Payload, free func()) {
	if free != nil {
		free()
	}
	if m.Kind == msg.GetEmbeddings {
		// The benchmark would miss an answer that fails.
		_ = a.node.Send(msg.Message{Kind: msg.Embeddings, From: m.To, To: m.From},
			exec.DenseShard{1, 2, 3, 4})
		return
	}
	a.answers <- struct{}{}
}

func (a *answering) Lost(_ string, err error) { panic(err) }

func (a *answering) Dropped(_ string, _ []msg.Address, err error) { panic(err) }

// overRingAndTCP runs a benchmark with endpoints that use rings, and with endpoints that use TCP.
func overRingAndTCP(b *testing.B, run func(b *testing.B, ends []*answering)) {
	for _, way := range []string{"ring", "tcp"} { // see listenAs
		b.Run(way, func(b *testing.B) { run(b, benchmarkCluster(b)) })
	}
}

func benchmarkCluster(b *testing.B) []*answering {
	ends := []*answering{{answers: make(chan struct{}, 1<<16)}, {answers: make(chan struct{}, 1<<16)}}
	nodes := cluster(b, ends[0], ends[1])
	for i, n := range nodes {
		ends[i].node = n
	}
	b.Cleanup(func() { closeAll(b, nodes) })
	return ends
}

// BenchmarkLarge sends 1 MiB a time, at most inFlight ahead of what has arrived.
func BenchmarkLarge(b *testing.B) {
	const size = 1 << 20
	overRingAndTCP(b, func(b *testing.B, ends []*answering) {
		payload := make(exec.DenseShard, size/4)
		pipelined(b, inFlight, ends[1].answers, func() {
			if err := ends[0].node.Send(rows(0, 1, 0), payload); err != nil {
				b.Fatal(err)
			}
		})
		b.SetBytes(size)
	})
	b.Run("bare", func(b *testing.B) {
		arrived := make(chan struct{}, 1<<16)
		c := bare(b, func([]byte, *bufio.Writer) { arrived <- struct{}{} })
		frame := make([]byte, size)
		pipelined(b, inFlight, arrived, func() { c.write(b, frame) })
		b.SetBytes(size)
	})
}

// BenchmarkSmallCalls asks with a bare header and is answered with 16 bytes, at most inFlight ahead of the
// answers.
func BenchmarkSmallCalls(b *testing.B) { smallCalls(b, inFlight) }

// BenchmarkRoundTrip is BenchmarkSmallCalls, one call at a time.
func BenchmarkRoundTrip(b *testing.B) { smallCalls(b, 1) }

func smallCalls(b *testing.B, ahead int) {
	overRingAndTCP(b, func(b *testing.B, ends []*answering) {
		pipelined(b, ahead, ends[0].answers, func() {
			if err := ends[0].node.Send(msg.Message{Kind: msg.GetEmbeddings, From: worker(0), To: worker(1)},
				nil); err != nil {
				b.Fatal(err)
			}
		})
	})
	b.Run("bare", func(b *testing.B) {
		answer := make([]byte, wire.HeaderSize+24)
		c := bare(b, func(_ []byte, w *bufio.Writer) { writeFrame(w, answer) })
		answers := make(chan struct{}, 1<<16)
		go func() {
			var memory []byte
			for readFrame(c.reader, &memory) != nil {
				answers <- struct{}{}
			}
		}()
		ask := make([]byte, msg.HeaderBytes)
		pipelined(b, ahead, answers, func() { c.write(b, ask) })
	})
}

// pipelined does b.N things of which at most ahead are unanswered.
func pipelined(b *testing.B, ahead int, answers <-chan struct{}, do func()) {
	b.ReportAllocs()
	under := 0
	for b.Loop() {
		if under == ahead {
			<-answers
			under--
		}
		do()
		under++
	}
	for ; under > 0; under-- {
		<-answers
	}
}

// bareConn is one end of a TCP connection that frames are written to.
type bareConn struct {
	reader *bufio.Reader
	writer *bufio.Writer
}

// write sends a frame at once.
func (c *bareConn) write(b *testing.B, frame []byte) {
	writeFrame(c.writer, frame)
	if err := c.writer.Flush(); err != nil {
		b.Fatal(err)
	}
}

// bare connects to a server that hands every frame to do, which may write
// answers; they are sent before the server waits for more.
func bare(b *testing.B, do func(frame []byte, w *bufio.Writer)) *bareConn {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		r, w := bufio.NewReaderSize(conn, 64<<10), bufio.NewWriterSize(conn, 64<<10)
		var memory []byte
		for frame := readFrame(r, &memory); frame != nil; frame = readFrame(r, &memory) {
			do(frame, w)
			if r.Buffered() == 0 && w.Flush() != nil {
				return
			}
		}
	}()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if conn.Close() != nil || l.Close() != nil {
			b.Error("cannot close")
		}
	})
	return &bareConn{bufio.NewReaderSize(conn, 64<<10), bufio.NewWriterSize(conn, 64<<10)}
}

// writeFrame leaves errors to the flush.
func writeFrame(w *bufio.Writer, frame []byte) {
	_, _ = w.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(frame))))
	_, _ = w.Write(frame)
}

// readFrame reads a frame into memory, which it enlarges if it must. It returns nil at the end.
func readFrame(r *bufio.Reader, memory *[]byte) []byte {
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil
	}
	*memory = slices.Grow((*memory)[:0], int(binary.LittleEndian.Uint32(length[:])))
	frame := (*memory)[:binary.LittleEndian.Uint32(length[:])]
	if _, err := io.ReadFull(r, frame); err != nil {
		return nil
	}
	return frame
}

// BenchmarkOutbox is what a small message costs before gRPC sees it.
func BenchmarkOutbox(b *testing.B) {
	for _, count := range []int{1, inFlight} {
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			box := newOutbox()
			b.ReportAllocs()
			for b.Loop() {
				for range count {
					f, err := wire.Encode(wire.Identity{}, rows(0, 1, 0), nil)
					if err != nil || !box.add(outFrame{Frame: f}) {
						b.Fatal(err)
					}
				}
				box.next()
			}
		})
	}
}
