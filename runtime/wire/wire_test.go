package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"tandem/algo/exec"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/compress"
	"tandem/algo/protocol/msg"
)

// Every kind of message decodes to what was encoded, with its payload, in front of any other frame, and
// encodes to the same bytes again.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := msg.Kind(rapid.IntRange(0, int(msg.SlowestClock)).Draw(t, "kind"))
		m := drawMessage(t, kind)
		payload := drawPayload(t, kind, rapid.IntRange(0, 4).Draw(t, "driver") == 0)
		id := drawIdentity(t)
		f, err := Encode(id, m, payload)
		if err != nil {
			t.Fatal(err)
		}
		frame := f.flat()
		if f.Size != len(frame) || f.Size%8 != 0 {
			t.Fatalf("size %d of %d bytes", f.Size, len(frame))
		}
		if payload == nil && f.Size != HeaderSize {
			t.Fatalf("a bare header has %d bytes", f.Size)
		}
		tail := []byte("the next frame")
		h, got, rest, err := Decode(slices.Concat(frame, tail))
		if err != nil {
			t.Fatal(err)
		}
		mustBeEqual(t, h.Message, m)
		mustBeEqual(t, h.Identity, id)
		if _, chunk := payload.(Chunk); h.Chunk() != chunk || h.Size != f.Size {
			t.Fatalf("%T: chunk %t, size %d", payload, h.Chunk(), h.Size)
		}
		mustBeEqual(t, got, travels(payload))
		if !bytes.Equal(rest, tail) {
			t.Fatalf("rest %q", rest)
		}
		again, err := Encode(h.Identity, h.Message, got)
		if err != nil || !bytes.Equal(again.flat(), frame) {
			t.Fatalf("%v: decoded and encoded again, the frame differs", err)
		}
	})
}

// Unaligned memory and big-endian machines copy arrays, to the same values.
func TestCopiesEqualAliases(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		floats := drawFloats(t, "floats", drawLength(t, "n"))
		signs := drawArray(t, "signs", drawLength(t, "n"), rapid.Uint64())
		if !bytes.Equal(bytesOf(floats), copiedBytes(floats)) ||
			!bytes.Equal(bytesOf(signs), copiedBytes(signs)) {
			t.Fatal("bytes differ")
		}
		shift := rapid.IntRange(0, 7).Draw(t, "shift")
		moved := append(make([]byte, shift, shift+8*len(signs)), bytesOf(signs)...)[shift:]
		mustBeEqual(t, arrayOf[uint64](moved), signs)
		mustBeEqual(t, copiedArray[uint64](moved), signs)
		mustBeEqual(t, copiedArray[float32](bytesOf(floats)), floats)
	})
}

// Large arrays are not copied, in either direction.
func TestLargeArraysAreAliased(t *testing.T) {
	if !littleEndian {
		t.Skip("this machine must copy")
	}
	values := make([]float32, 1000)
	f, err := Encode(sender, msg.Message{Kind: msg.Rows}, payloadOf(fp32(values...)))
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Segments) != 3 || unsafe.Pointer(&f.Segments[1][0]) != unsafe.Pointer(&values[0]) {
		t.Errorf("%d segments; want the header, the values themselves, and the rest", len(f.Segments))
	}
	frame := f.flat()
	_, payload, _, err := Decode(frame)
	if err != nil {
		t.Fatal(err)
	}
	if got := payload.(exec.Values).Floats; unsafe.Pointer(&got[0]) != unsafe.Pointer(&frame[HeaderSize+16]) {
		t.Error("the decoded values are not those of the frame")
	}
}

func TestEncodeRefuses(t *testing.T) {
	if _, err := Encode(sender, msg.Message{Kind: msg.Rows}, exec.Travels{}); err == nil ||
		!strings.Contains(err.Error(), "exec.Travels: this type of payload has no encoding") {
		t.Error(err)
	}
	if err := checkSize(msg.Message{Kind: msg.Rows}, MaxFrame); err != nil {
		t.Error(err)
	}
	if err := checkSize(msg.Message{Kind: msg.Rows}, MaxFrame+8); err == nil ||
		!strings.Contains(err.Error(),
			"has 1073741832 bytes, more than the 1073741824 of the largest frame") {
		t.Error(err)
	}
}

func plain(signs ...uint64) compress.Signs { return compress.Signs{Plain: signs} }

// damage returns a good frame with one 64-bit number changed.
func damage(t *testing.T, kind msg.Kind, payload any, at int, v uint64) []byte {
	frame := mustEncode(t, msg.Message{Kind: kind}, payload)
	binary.LittleEndian.PutUint64(frame[at:], v)
	return frame
}

func TestDecodeRefuses(t *testing.T) {
	put := &exec.Put{Signs: plain(1, 2), Sums: fp32(1, 2, 3, 4)}
	packed := compress.Signs{Packed: []byte{8, 1}}
	half := compress.Pack(compress.FP16, []float32{1})
	floats := []float32{1, 2, 3}
	frame := mustEncode(t, msg.Message{Kind: msg.Params}, floats)
	with := func(at int, b byte) []byte { c := slices.Clone(frame); c[at] = b; return c }
	for _, c := range []struct {
		frame []byte
		want  string
	}{
		{nil, "frame of 0 bytes ends within its header"},
		{frame[:71], "frame of 71 bytes ends within its header"},
		{frame[:len(frame)-8], "frame length 96, but only 88 bytes"},
		{with(0, 9), "frame of version 9, want 5; run the same build everywhere"},
		{with(1, 99), "payload of unknown code 99"},
		{with(2, 99), "frame of unknown kind 99 or role 0 or 0"},
		{with(3, 99), "unknown kind 14 or role 99 or 0"},
		{with(4, 99), "unknown kind 14 or role 0 or 99"},
		{with(15, 0x80), "invalid address: from data-loader -2147483648, to data-loader 0"},
		{with(6, 1), "whose padding is not zero"},
		{with(len(frame)-1, 1), "the padding of an array of 12 bytes is not zero"},
		{with(lengthAt, 71), "frame length 71"},
		{with(lengthAt+3, 0x80), "want a multiple of 8 from 72 to 1073741824"},
		{damage(t, msg.Params, floats, 72, 1<<40), "number 1099511627776, want at most 2147483647"},
		{damage(t, msg.Params, floats, 72, 5), "5 × 4 bytes announced, but only 16 follow"},
		{damage(t, msg.Params, make([]float32, 3), 72, 1), "8 bytes after the end"},
		{damage(t, msg.Put, put, 80, 3), "payload put"},
		{damage(t, msg.Rows, half, 72, 4), "values of form 4, want at most 3"},
		{damage(t, msg.Rows, half, 72, 1), `0 values and 2 bytes are not of form "fp32"`},
		{damage(t, msg.Rows, fp32(1), 72, 0), `1 values and 0 bytes are not of form ""`},
		{mustEncode(t, msg.Message{Kind: msg.Lookup},
			compress.Signs{Plain: []uint64{1}, Packed: packed.Packed}), "signs are both plain and packed"},
		{mustEncode(t, msg.Message{Kind: msg.IDFeatures},
			&exec.IDs{Bounds: []int{0}, Columns: make([]batch.Jagged, 1), Packed: packed.Packed}),
			"offsets do not cut"},
		{mustEncode(t, msg.Message{Kind: msg.IDFeatures},
			&exec.IDs{Bounds: []int{0}, Columns: []batch.Jagged{{Offsets: []int32{0}}},
				Packed: packed.Packed}), "both raw and compressed"},
		{damage(t, msg.Samples, seedPart(), 0, Version|2<<8|uint64(msg.IDFeatures)<<16),
			"payload samples: this payload belongs to another kind of message"},
	} {
		_, _, _, err := Decode(c.frame)
		refused := new(Refusal)
		if !errors.As(err, &refused) || refused.Reason != Malformed ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}
