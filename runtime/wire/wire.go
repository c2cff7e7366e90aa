package wire

import (
	"encoding/binary"
	"fmt"

	"tandem/algo/exec"
	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
)

// Version is the first byte of every frame. It changes when the meaning of any byte changes.
const Version = 5

// MaxFrame is the size of the largest frame.
const MaxFrame unit.Bytes = 1 << 30

// Frame is an encoded message.
type Frame struct {
	// Segments are the bytes of the frame, in order. Most alias the payload.
	Segments [][]byte
	// Size is the sum of the segments' lengths, a multiple of 8.
	Size int
}

// Encode returns the frame of a message from the process with an identity. The payload is nil or of a type in
// payload.go; it must stay unchanged for as long as the frame is in use.
//
// Encode returns an error if the payload is of another type or the frame would exceed MaxFrame. It makes
// three allocations and copies the small arrays.
func Encode(id Identity, m msg.Message, payload exec.Payload) (Frame, error) {
	code, err := codeOf(m.Kind, payload)
	if err != nil {
		return Frame{}, fmt.Errorf("wire: %v: %w", m, err)
	}
	w := newWriter()
	w.tail = appendHeader(w.tail, &id, code, &m)
	if payload != nil {
		codecs[code].encode(w, payload)
	}
	w.flush()
	if err := checkSize(m, unit.Bytes(w.size)); err != nil {
		return Frame{}, err
	}
	binary.LittleEndian.PutUint32(w.segments[0][lengthAt:], uint32(w.size))
	return Frame{w.segments, w.size}, nil
}

func checkSize(m msg.Message, size unit.Bytes) error {
	if size > MaxFrame {
		return fmt.Errorf("wire: %v has %d bytes, more than the %d of the largest frame; use smaller "+
			"batches or more PSs", m, size, MaxFrame)
	}
	return nil
}

// Decode decodes the first frame of data and returns the bytes after it. It calls ParseHeader and then
// Header.Payload.
func Decode(data []byte) (h Header, payload exec.Payload, rest []byte, err error) {
	if h, err = ParseHeader(data); err == nil {
		payload, err = h.Payload(data)
	}
	if err != nil {
		return Header{}, nil, nil, err
	}
	return h, payload, data[h.Size:], nil
}

// Payload decodes the payload of the frame at the beginning of data, whose header is h. The payload may alias
// data. The first byte of data should lie at a multiple of 8 in memory; otherwise arrays are copied.
//
// data may hold any bytes: Payload checks every length against data before using it, and allocates at most
// three times the size of data. The error is a *Refusal with reason Malformed that says what is wrong.
func (h *Header) Payload(data []byte) (payload exec.Payload, err error) {
	if h.Size > len(data) {
		return nil, malformed("frame length %d, but only %d bytes", h.Size, len(data))
	}
	r := &reader{rest: data[HeaderSize:h.Size:h.Size]}
	payload = codecs[h.code].decode(r)
	if r.err == nil && len(r.rest) > 0 {
		r.fail("%d bytes after the end", len(r.rest))
	}
	if r.err == nil && !codecs[h.code].serves(h.Message.Kind) {
		r.fail("this payload belongs to another kind of message")
	}
	if r.err != nil {
		return nil, malformed("%v, payload %s: %w", h.Message, codecs[h.code].name, r.err)
	}
	return payload, nil
}
