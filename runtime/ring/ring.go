package ring

import (
	"errors"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// DefaultSize is the capacity of a ring, in bytes. It holds what one process sends another in a small step,
// and both ends of the copy stay in the second-level cache of a core. More arrives in pieces.
const DefaultSize = 1 << 20

// The bounds of the capacity of a ring, which is a power of two.
const (
	sizeMin = 4 << 10
	sizeMax = 64 << 20
)

var (
	// ErrClosed says that this end of the ring was closed.
	ErrClosed = errors.New("ring: this end is closed")
	// ErrCorrupt says that the other end has written positions that cannot be.
	ErrCorrupt = errors.New("ring: the other end has written invalid positions")
	// ErrElsewhere says that a ring was offered by a process of another machine.
	ErrElsewhere = errors.New("ring: the process is on another machine")
)

// header is the first page of the memory. Positions are numbers of bytes since the beginning. Fields that
// different ends write lie in different cache lines.
type header struct {
	magic    uint64
	capacity uint64
	// The pipes of the bells: of the reader's the end to read, of the writer's the end to write.
	readerPipe, writerPipe pipeName

	_       [16]byte
	written atomic.Uint64 // position of the writer
	_       [56]byte
	read    atomic.Uint64 // position of the reader
	_       [56]byte
	// The bells of the reader, which waits for bytes, and of the writer, which waits for room.
	readerBell atomic.Uint32
	_          [60]byte
	writerBell atomic.Uint32
}

const (
	magic      = 0x32676e696d646e74 // "tndming2", little endian; another layout has another number
	headerSize = 4 << 10            // a page
)

// end is what both ends of a ring have.
type end struct {
	mu       sync.Mutex // held while the memory is used, but for a wait
	memory   []byte     // nil when it is unmapped
	closed   bool
	waiting  bool // this end waits at its bell, which keeps the memory mapped
	own      bell
	other    bell   // of the other end
	position uint64 // of this end
	seen     uint64 // the last position of the other end
	capacity uint64
}

func newEnd(memory []byte) end {
	return end{memory: memory, capacity: uint64(len(memory) - headerSize)}
}

func (e *end) header() *header { return (*header)(unsafe.Pointer(unsafe.SliceData(e.memory))) }

func (e *end) bytes() []byte { return e.memory[headerSize:] }

// wait waits until the bell of this end is rung, or for nothing. ready, which is called with e.mu held,
// reports that there is nothing to wait for.
func (e *end) wait(ready func() bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return
	}
	e.own.prepare()
	if ready() { // the other end may have changed its position before it could see the announcement
		e.own.cancel()
		return
	}
	e.waiting = true
	e.mu.Unlock()
	e.own.wait()
	e.mu.Lock()
	e.waiting = false
	e.unmap()
}

// close closes this end, and wakes it.
func (e *end) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return
	}
	e.closed = true
	if e.waiting {
		e.own.wake()
	}
	e.unmap()
}

// unmap unmaps the memory and closes the pipes if this end is closed and does not wait. The caller holds
// e.mu.
func (e *end) unmap() {
	if e.closed && !e.waiting && e.memory != nil {
		unmap(e.memory)
		e.memory = nil
		e.own.pipe.close()
		e.other.pipe.close()
	}
}

// Writer is the sending end of a ring. One goroutine at a time may call TryWrite, and one WaitForRoom.
type Writer struct {
	end
	offer    string
	accepted func()
}

// New makes a ring of a capacity in bytes, a power of two from 4 KiB to 64 MiB; other capacities panic. The
// error says why there can be no ring; outside Linux it is errors.ErrUnsupported.
func New(capacity int) (*Writer, error) {
	if capacity < sizeMin || capacity > sizeMax || capacity&(capacity-1) != 0 {
		panic("ring: the capacity must be a power of two from 4 KiB to 64 MiB")
	}
	return create(capacity)
}

// Offer returns the text with which a process of this machine can open the ring, until Accepted is called.
func (w *Writer) Offer() string { return w.offer }

// Accepted says that the Reader is open. It frees what only Open needs.
func (w *Writer) Accepted() { w.accepted() }

// TryWrite writes as many bytes of consecutive segments as there is room for, and wakes the Reader. It leaves
// out the first skip bytes, and returns the number of bytes written. It returns ErrClosed after Close, and
// ErrCorrupt.
func (w *Writer) TryWrite(segments [][]byte, skip int) (n int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	free, err := w.room()
	if err != nil {
		return 0, err
	}
	room, ring := int(free), w.bytes()
	for _, s := range segments {
		if skip >= len(s) {
			skip -= len(s)
			continue
		}
		part := s[skip:min(len(s), skip+room-n)]
		skip = 0
		at := int((w.position + uint64(n)) & (w.capacity - 1))
		copy(ring, part[copy(ring[at:], part):])
		n += len(part)
		if n == room {
			break
		}
	}
	if n > 0 {
		w.publish(n)
	}
	return n, nil
}

// publish lets the Reader have n more bytes. The caller holds w.mu.
func (w *Writer) publish(n int) {
	w.position += uint64(n)
	fence()
	w.header().written.Store(w.position)
	w.other.ring()
}

// room returns the number of bytes that fit. The caller holds w.mu.
func (w *Writer) room() (uint64, error) {
	if w.closed {
		return 0, ErrClosed
	}
	read := w.header().read.Load()
	fence()
	used := w.position - read
	if read < w.seen || used > w.capacity {
		return 0, ErrCorrupt
	}
	w.seen = read
	return w.capacity - used, nil
}

// WaitForRoom waits until at least a quarter of the ring is free, so that a writer of much wakes up seldom.
// It returns ErrClosed after Close, and ErrCorrupt.
func (w *Writer) WaitForRoom() error {
	for {
		var err error
		enough := func() bool {
			var room uint64
			room, err = w.room()
			return err != nil || room >= w.capacity/4
		}
		if _, found := look(1, func() bool {
			w.mu.Lock()
			defer w.mu.Unlock()
			return enough()
		}); found {
			return err
		}
		w.wait(enough)
	}
}

// Close closes this end. WaitForRoom returns. The Reader does not notice it.
func (w *Writer) Close() {
	w.accepted()
	w.close()
}

// Reader is the receiving end of a ring. One goroutine may call Read.
type Reader struct {
	end
	idle  atomic.Bool
	ended bool   // guarded by mu
	last  uint64 // position of the last byte to be read, once ended
	// spins is how often Read looks again before it waits, and spinsMax its bound.
	spins, spinsMax int
}

// Open opens the ring that was offered. The error is ErrElsewhere if the offer comes from another machine;
// otherwise it says why the ring of a process of this machine cannot be used.
func Open(offer string) (*Reader, error) { return open(offer) }

// spinsMax bounds how often Read looks again, while no other goroutine of the process waits for a processor,
// before it waits: all these looks take less time than it takes to wake a thread.
const spinsMax = 64

// spinsAllowed returns how often a Reader of this process may look again. Where goroutines have one
// processor, the others have their turn once.
func spinsAllowed() int {
	if runtime.GOMAXPROCS(0) == 1 {
		return 1
	}
	return spinsMax
}

// Read reads the bytes that are there, at most len(b), and waits while there are none. It returns io.EOF if
// all bytes were read that had been written before End, ErrClosed after Close, and ErrCorrupt.
func (r *Reader) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	if n, err := r.tryRead(b); n > 0 || err != nil {
		return n, err
	}
	r.idle.Store(true)
	defer r.idle.Store(false)
	for {
		if n, err := r.spin(b); n > 0 || err != nil {
			return n, err
		}
		r.wait(func() bool {
			available, err := r.available()
			return err != nil || available > 0
		})
	}
}

// spin looks for bytes as often as has helped lately: twice as often after a success, half as often after a
// failure.
func (r *Reader) spin(b []byte) (n int, err error) {
	looks, found := look(r.spins, func() bool {
		n, err = r.tryRead(b)
		return n > 0 || err != nil
	})
	switch {
	case !found:
		r.spins = min(max(r.spins/2, 1), r.spinsMax)
	case looks > 0:
		r.spins = min(2*r.spins, r.spinsMax)
	}
	return n, err
}

// busy is how long a look takes at least if other goroutines had the processor. If none waits for it, a look
// takes some 0.2 µs.
const busy = 5 * time.Microsecond

// look calls ready until it returns true. Between two calls other goroutines run. It gives up after a number
// of looks for which no other goroutine had the processor; the others cost nothing. While all processors are
// busy, a goroutine that looks notices a change before one that waits for a pipe: Go then looks at its pipes
// every 10 ms.
func look(most int, ready func() bool) (looks int, found bool) {
	for !ready() {
		if looks >= most {
			return looks, false
		}
		before := time.Now()
		if runtime.Gosched(); time.Since(before) < busy {
			looks++
		}
	}
	return looks, true
}

// Waiting reports whether Read waits for bytes.
func (r *Reader) Waiting() bool { return r.idle.Load() }

// tryRead is Read without the wait: it returns 0 if there are no bytes.
func (r *Reader) tryRead(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	available, err := r.available()
	if err != nil || available == 0 {
		return 0, err
	}
	ring := r.bytes()
	n := min(len(b), int(available))
	at := int(r.position & (r.capacity - 1))
	if first := copy(b[:n], ring[at:]); first < n {
		copy(b[first:n], ring)
	}
	r.position += uint64(n)
	fence()
	r.header().read.Store(r.position)
	free := r.capacity - (available - uint64(n))
	if free >= r.capacity/4 {
		r.other.ring()
	}
	return n, nil
}

// available returns the number of bytes that can be read. The caller holds r.mu.
func (r *Reader) available() (uint64, error) {
	if r.closed {
		return 0, ErrClosed
	}
	written := r.last
	if !r.ended {
		written = r.header().written.Load()
		fence()
	}
	available := written - r.position
	switch {
	case written < r.seen || available > r.capacity:
		return 0, ErrCorrupt
	case available == 0 && r.ended:
		return 0, io.EOF
	}
	r.seen = written
	return available, nil
}

// End says that the Writer has written everything. Read returns io.EOF after the bytes that are there now.
func (r *Reader) End() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.ended {
		return
	}
	r.ended, r.last = true, r.header().written.Load()
	if r.waiting {
		r.own.wake()
	}
}

// Close closes this end. Read returns. The Writer does not notice it.
func (r *Reader) Close() { r.close() }
