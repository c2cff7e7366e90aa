package transport

import (
	"testing"
	"unsafe"

	"tandem/algo/exec"
	"tandem/algo/protocol/msg"
	"tandem/runtime/wire"
)

// freeing is a handler that passes on the memory of every message with the function that frees it.
type freeing struct {
	*mailbox
	memory chan freeable
}

type freeable struct {
	first unsafe.Pointer // of the payload's values
	free  func()
}

func (f freeing) Deliver(_ msg.Message, payload exec.Payload, free func()) {
	f.memory <- freeable{unsafe.Pointer(unsafe.SliceData(payload.(exec.DenseShard))), free}
}

// The memory of a frame is used for the next one of its size when the receiver has freed it, and not before.
func TestMemoryIsUsedAgain(t *testing.T) { overEach(t, testMemoryIsUsedAgain) }

func testMemoryIsUsedAgain(t *testing.T) {
	for _, bytes := range []int{2 * packetSize, 2 * packetMax} { // in one piece, and in several
		in := freeing{newMailbox(), make(chan freeable, 1)}
		nodes := cluster(t, newMailbox(), in)
		send := func(step int) freeable {
			if err := nodes[0].Send(rows(0, 1, step), make(exec.DenseShard, bytes/4)); err != nil {
				t.Fatal(err)
			}
			return <-in.memory
		}
		first, second := send(0), send(1)
		if first.first == second.first {
			t.Error("memory that was not freed is used again")
		}
		first.free()
		if third := send(2); third.first != first.first {
			t.Error("memory that was freed is not used again")
		}
		closeAll(t, nodes)
	}
}

// Frames that share memory cannot be freed one by one, and small ones need not be.
func TestSharedMemoryIsNotFreed(t *testing.T) {
	in := freeing{newMailbox(), make(chan freeable, 2)}
	n := &Endpoint{options: Options{Roles: []msg.Address{worker(0)}, Handler: in}}
	id := wire.Identity{Run: run}
	c := &inStream{introduction: introduction{Identity: id, roles: []msg.Address{worker(1)}}}
	large := encoded(t, id, rows(1, 0, 1), make(exec.DenseShard, reuseMin/4))
	for _, data := range [][]byte{append(append([]byte{}, large...), large...),
		encoded(t, id, rows(1, 0, 1), make(exec.DenseShard, 10))} {
		if err := n.deliver(c, data); err != nil {
			t.Fatal(err)
		}
		for range len(in.memory) {
			if (<-in.memory).free != nil {
				t.Errorf("a frame in %d bytes can be freed", len(data))
			}
		}
	}
}

// Spare memory is bounded, and only memory of about the right size is used.
func TestSpareMemoryIsBounded(t *testing.T) {
	var m memory
	for range 3 {
		m.giveBack(make([]byte, spareBytesMax/2))
	}
	if len(m.spare) != 2 || m.bytes != spareBytesMax {
		t.Errorf("%d pieces of %d bytes are spare", len(m.spare), m.bytes)
	}
	for range 2 * spareMax {
		m.giveBack(make([]byte, 4*reuseMin))
	}
	if len(m.spare) != spareMax || m.bytes != 4*reuseMin*spareMax {
		t.Errorf("%d pieces of %d bytes are spare", len(m.spare), m.bytes)
	}
	for size, want := range map[int]bool{
		2*reuseMin - 1: false, 2 * reuseMin: true, 4 * reuseMin: true, 4*reuseMin + 1: false,
	} {
		b := m.take(size)
		if (b != nil) != want || b != nil && len(b) != size {
			t.Errorf("%d bytes of %d: %d", size, 4*reuseMin, len(b))
		}
	}
	if m.bytes != 4*reuseMin*(spareMax-2) {
		t.Errorf("%d bytes are spare", m.bytes)
	}
	m.giveBack(make([]byte, reuseMin))
	if m.take(reuseMin-1) != nil {
		t.Error("memory is spent on a small frame, which does not give it back")
	}
}
