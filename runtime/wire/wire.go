// Package wire answers one question: which bytes is a message, with its
// payload, between processes?
//
// A frame is one message: a header of msg.HeaderBytes and the payload, little
// endian, its length a multiple of 8. Frames may follow each other; every array
// in a frame starts at a multiple of 8 of the frame's first byte. So, on a
// little-endian machine, neither way copies numbers: an encoded frame aliases
// the arrays of the payload, a decoded payload aliases the frame.
//
// A frame has one form only: what decodes, encodes to the same bytes again.
//
// To let another type of payload travel, add a file with its two functions,
// written with the section, number and uint64 methods that are there, and a
// line to the table in payload.go.
package wire

import (
	"encoding/binary"
	"fmt"

	"tandem/algo/exec"
	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
)

// Version is the first byte of every frame. It changes when the meaning of any
// byte does.
const Version = 2

// MaxFrame is the largest size of a frame.
const MaxFrame unit.Bytes = 1 << 30

// Frame is one encoded message.
type Frame struct {
	// Segments are the bytes of the frame, in order. Most alias the payload.
	Segments [][]byte
	// Size is the sum of the segments' lengths, a multiple of 8.
	Size int
}

// Encode returns the frame of a message from a process. payload is nil or of a type that
// payload.go lists; it must stay unchanged for as long as the frame is in use.
//
// It returns an error if the payload is of another type or the frame would
// exceed MaxFrame. Cost: three allocations and a copy of the small arrays.
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
		return fmt.Errorf("wire: %v has %d bytes, more than the %d of the largest frame; use smaller batches or more PSs", m, size, MaxFrame)
	}
	return nil
}

// Decode reads the first frame of data and returns what follows it: ParseHeader, then Payload.
func Decode(data []byte) (h Header, payload exec.Payload, rest []byte, err error) {
	if h, err = ParseHeader(data); err == nil {
		payload, err = h.Payload(data)
	}
	if err != nil {
		return Header{}, nil, nil, err
	}
	return h, payload, data[h.Size:], nil
}

// Payload reads the payload of the frame that data begins with, whose header is h. The payload may alias data,
// whose first byte should lie at a multiple of 8 in memory: arrays are copied otherwise.
//
// Anything may be in data: every length is checked against it before it is used, and memory is made for no
// more than three times its bytes. The error is a *Refusal of kind Malformed that says what is wrong.
func (h *Header) Payload(data []byte) (payload exec.Payload, err error) {
	if h.Size > len(data) {
		return nil, malformed("frame length %d, but %d bytes are there", h.Size, len(data))
	}
	r := &reader{rest: data[HeaderSize:h.Size:h.Size]}
	payload = codecs[h.code].decode(r)
	if r.err == nil && len(r.rest) > 0 {
		r.fail("%d bytes too many", len(r.rest))
	}
	if r.err == nil && !codecs[h.code].serves(h.Message.Kind) {
		r.fail("it belongs to another kind of message")
	}
	if r.err != nil {
		return nil, malformed("%v, payload %s: %w", h.Message, codecs[h.code].name, r.err)
	}
	return payload, nil
}
