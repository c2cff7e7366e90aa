package transport

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"google.golang.org/grpc/mem"

	"tandem/algo/exec"
	"tandem/algo/numeric/compress"
	"tandem/algo/protocol/msg"
	"tandem/runtime/wire"
)

// packets cuts a stream of bytes: each packet is preceded by two bytes, its length in units of 997 bytes.
func packets(data []byte) (all [][]byte) {
	for len(data) >= 2 {
		n := min(997*(int(data[0])<<8|int(data[1])), packetMax, len(data)-2)
		all = append(all, data[2:2+n])
		data = data[2+n:]
	}
	return all
}

// FuzzStream delivers any packets of a stream. This must neither panic nor keep more than a few times their
// bytes.
func FuzzStream(f *testing.F) {
	id := wire.Identity{Run: run}
	small := encoded(f, id, rows(1, 0, 1),
		exec.Values{Values: compress.Pack(compress.FP32, []float32{1, 2, 3})})
	large := encoded(f, id, rows(1, 0, 2),
		exec.Values{Values: compress.Pack(compress.FP32, make([]float32, 300<<10))})
	f.Add(slices.Concat([]byte{0, 1}, small))
	f.Add(slices.Concat([]byte{0, 9}, small, small))
	f.Add(slices.Concat([]byte{4, 0}, large[:997<<10], []byte{4, 0}, large[997<<10:]))
	f.Fuzz(func(t *testing.T, data []byte) {
		n := &Endpoint{options: Options{Roles: []msg.Address{worker(0)}, Handler: newMailbox()}}
		c := &inStream{introduction: introduction{Identity: id, roles: []msg.Address{worker(1)}}}
		a := &assembler{memory: &memory{}, check: func(h *wire.Header) error { return n.check(c, h) }}
		come := 0
		for _, p := range packets(data) {
			come += len(p)
			a.add(mem.BufferSlice{mem.SliceBuffer(p)})
			if cap(a.partial) > 4*come+reserveMax {
				t.Fatalf("%d bytes are kept of %d", cap(a.partial), come)
			}
			if a.err != nil || n.deliver(c, a.complete) != nil {
				return
			}
		}
	})
}

// A frame of any size arrives unchanged, however it is cut.
func TestFramesTravelInPieces(t *testing.T) {
	for _, values := range []int{0, 10, packetSize / 4, packetMax/4 - 40, packetMax / 4, packetMax,
		3*packetMax + 5} {
		box, id := newOutbox(), wire.Identity{Run: run}
		payload := make([]float32, values)
		for i := range payload {
			payload[i] = float32(i)
		}
		frame, err := wire.Encode(id, rows(1, 0, 1),
			exec.Values{Values: compress.Pack(compress.FP32, payload)})
		if err != nil {
			t.Fatal(err)
		}
		box.add(outFrame{Frame: frame})
		box.add(outFrame{Frame: frame})
		a := &assembler{memory: &memory{}, check: func(*wire.Header) error { return nil }}
		var got []byte
		for want := 2 * frame.Size; len(got) < want; {
			p, ok := box.next()
			size := 0
			for _, s := range p.segments {
				size += len(s)
			}
			if !ok || size == 0 || size > packetMax {
				t.Fatalf("%d values: a packet of %d bytes, %t", values, size, ok)
			}
			data, err := codec{}.Marshal(p)
			if err != nil {
				t.Fatal(err)
			}
			a.add(data)
			if a.err != nil {
				t.Fatal(a.err)
			}
			got = append(got, a.complete...)
		}
		one := slices.Concat(frame.Segments...)
		if !bytes.Equal(got, slices.Concat(one, one)) || a.checkEnd() != nil {
			t.Errorf("%d values: other bytes arrive", values)
		}
	}
}

// A header alone makes the receiver allocate little memory for its frame, and a packet that is not a piece of
// the frame is refused.
func TestPiecesAreChecked(t *testing.T) {
	first := make([]byte, packetMax)
	copy(first, encoded(t, wire.Identity{}, rows(1, 0, 1), nil))
	for size, bad := range map[uint32]int{1 << 30: 0, packetMax + 8: 16} {
		binary.LittleEndian.PutUint32(first[8:], size)
		a := &assembler{memory: &memory{}, check: func(*wire.Header) error { return nil }}
		a.add(mem.BufferSlice{mem.SliceBuffer(first)})
		if a.err != nil || cap(a.partial) > reserveMax+packetMax || a.checkEnd() == nil {
			t.Errorf("%v, %d bytes are kept, %v", a.err, cap(a.partial), a.checkEnd())
		}
		if a.add(mem.BufferSlice{mem.SliceBuffer(make([]byte, bad))}); (a.err == nil) != (bad == 0) {
			t.Errorf("%d bytes behind a piece: %v", bad, a.err)
		}
	}
}
