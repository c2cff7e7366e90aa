package transport

import (
	"fmt"

	"google.golang.org/grpc/mem"
)

// packetSize is the size in bytes up to which frames share a packet: gRPC's work
// a packet is worth that of many small frames. A larger frame has a packet of
// its own.
const packetSize = 64 << 10

// packet is one message of gRPC: frames, one after the other.
type packet struct {
	segments [][]byte // to be sent
	data     []byte   // received
}

// codec is how gRPC writes and reads packets: out of the payloads' memory, and
// into memory of the packet's own, which decoded payloads alias.
type codec struct{}

// Name implements encoding.CodecV2.
func (codec) Name() string { return "tandem-frames" }

// Marshal implements encoding.CodecV2.
func (codec) Marshal(v any) (mem.BufferSlice, error) {
	p, ok := v.(*packet)
	if !ok {
		return nil, fmt.Errorf("transport: %T is no packet", v)
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
		return fmt.Errorf("transport: %T is no packet", v)
	}
	p.data = data.Materialize()
	return nil
}
