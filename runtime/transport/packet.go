package transport

import (
	"fmt"
	"slices"

	"google.golang.org/grpc/mem"

	"tandem/runtime/wire"
)

const (
	// packetSize is the size in bytes up to which frames share a packet: gRPC's work for a packet costs as
	// much as many small frames.
	packetSize = 64 << 10
	// packetMax is the size of the largest packet: 1 MiB and some lengths. A larger frame travels in several
	// packets that carry nothing else, so that its header is checked before memory is allocated for the rest.
	packetMax = 1<<20 + 4<<10
	// reserveMax is how much memory is allocated for a frame because its header announces it. More is
	// allocated as the frame arrives.
	reserveMax = 8 << 20
)

// packet is one gRPC message: consecutive frames, or a piece of one frame.
type packet struct {
	segments [][]byte   // to be sent
	frames   *assembler // receives the content; nil drops it
	size     int        // of the content that has arrived
}

// codec encodes packets from the payloads' memory and decodes them into memory of the packet's own, which
// decoded payloads alias.
type codec struct{}

// Name implements encoding.CodecV2.
func (codec) Name() string { return "tandem-frames" }

// Marshal implements encoding.CodecV2.
func (codec) Marshal(v any) (mem.BufferSlice, error) {
	p, ok := v.(*packet)
	if !ok {
		return nil, fmt.Errorf("transport: %T is not a packet", v)
	}
	out := make(mem.BufferSlice, len(p.segments))
	for i, s := range p.segments {
		out[i] = mem.SliceBuffer(s)
	}
	return out, nil
}

// Unmarshal implements encoding.CodecV2.
func (codec) Unmarshal(data mem.BufferSlice, v any) error {
	p, ok := v.(*packet)
	if !ok {
		return fmt.Errorf("transport: %T is not a packet", v)
	}
	p.size = data.Len()
	if p.frames != nil {
		p.frames.add(data)
	}
	return nil
}

// assembler assembles the packets of a stream to frames.
type assembler struct {
	memory *memory                  // of large frames
	check  func(*wire.Header) error // checks the header of a large frame

	partial  []byte // the part of a large frame that has arrived
	size     int    // of that frame; 0 if there is none
	complete []byte // frames that the last packet completed
	err      error  // why the last packet was refused
}

// add adds a packet.
func (a *assembler) add(data mem.BufferSlice) {
	a.complete = nil
	length := data.Len()
	if a.size == 0 {
		if length <= packetSize || !a.startFrame(data, length) {
			a.complete = a.copyOf(data, length)
			return
		}
		if a.err != nil {
			return
		}
	}
	if len(a.partial)+length > a.size {
		a.err = wire.Refusef(wire.Malformed, "packet: %d bytes, but only %d of its frame are missing", length,
			a.size-len(a.partial))
		return
	}
	a.partial = slices.Grow(a.partial, length)
	for _, b := range data {
		a.partial = append(a.partial, b.ReadOnlyData()...)
	}
	if len(a.partial) == a.size {
		a.complete, a.partial, a.size = a.partial, nil, 0
	}
}

// startFrame reports whether a packet of some length is the first piece of a frame, and prepares for the
// others.
func (a *assembler) startFrame(data mem.BufferSlice, length int) bool {
	var header [wire.HeaderSize]byte
	n := 0
	for _, b := range data {
		n += copy(header[n:], b.ReadOnlyData())
	}
	h, err := wire.ParseHeader(header[:n])
	if err != nil || h.Size <= length {
		return false
	}
	if a.err = a.check(&h); a.err == nil {
		a.size = h.Size
		if spare := a.memory.take(h.Size); spare != nil {
			a.partial = spare[:0]
		} else {
			a.partial = allocate(min(h.Size, reserveMax))[:0]
		}
	}
	return true
}

// copyOf returns the bytes of a packet of some length, in memory of their own.
func (a *assembler) copyOf(data mem.BufferSlice, length int) []byte {
	b := a.memory.take(length)
	if b == nil {
		b = allocate(length)
	}
	data.CopyTo(b)
	return b
}

// checkEnd returns an error if the stream must not end now.
func (a *assembler) checkEnd() error {
	if a.size > 0 {
		return wire.Refusef(wire.Malformed, "the stream ends within a frame")
	}
	return nil
}
