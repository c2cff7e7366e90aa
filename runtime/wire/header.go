package wire

import (
	"encoding/binary"

	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
)

// The offsets of the fields in a header are, in bytes:
//
//	0 Version  1 code of the payload  2 Kind  3 From.Role  4 To.Role  5 zero
//	8 length of the frame  12 From.Index  16 To.Index  20 Rank  24 Step
//	28 Floor  32 Samples  36 StepSamples  40 Bytes  48 Run  64 Incarnation  68 View
const (
	lengthAt = 8
	runAt    = 48
)

// HeaderSize is the size of a frame's header, in bytes.
const HeaderSize = int(msg.HeaderBytes)

// Header is the header of a frame.
type Header struct {
	Identity
	Message msg.Message
	// Size is the size of the frame in bytes, from HeaderSize to MaxFrame, a multiple of 8.
	Size int
	code uint8 // of the payload
}

// Chunk reports whether the payload of the frame is a Chunk.
func (h *Header) Chunk() bool { return codecs[h.code].name == chunkName }

// appendHeader appends the header of a frame whose length is not known yet.
func appendHeader(b []byte, id *Identity, code uint8, m *msg.Message) []byte {
	b = append(b, Version, code, uint8(m.Kind), uint8(m.From.Role), uint8(m.To.Role), 0, 0, 0, 0, 0, 0, 0)
	for _, v := range [...]int32{m.From.Index, m.To.Index, m.Rank, m.Step, m.Floor, m.Samples,
		m.StepSamples} {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	b = binary.LittleEndian.AppendUint64(b, uint64(m.Bytes))
	b = append(b, id.Run[:]...)
	b = binary.LittleEndian.AppendUint32(b, id.Incarnation)
	return binary.LittleEndian.AppendUint32(b, id.View)
}

// ParseHeader decodes the header of the frame at the beginning of data. data need not hold the rest of the
// frame.
//
// The error is a *Refusal with reason Malformed that names the field.
func ParseHeader(data []byte) (h Header, err error) {
	if len(data) > 0 && data[0] != Version {
		return h, malformed("frame of version %d, want %d; run the same build everywhere", data[0], Version)
	}
	if len(data) < HeaderSize {
		return h, malformed("frame of %d bytes ends within its header", len(data))
	}
	length := unit.Bytes(binary.LittleEndian.Uint32(data[lengthAt:]))
	if length < msg.HeaderBytes || length > MaxFrame || length%8 != 0 {
		return h, malformed("frame length %d; want a multiple of 8 from %d to %d", length, HeaderSize,
			MaxFrame)
	}
	number := func(i int) uint32 { return binary.LittleEndian.Uint32(data[i:]) }
	at := func(i int) int32 { return int32(number(i)) }
	h = Header{
		Message: msg.Message{
			Kind: msg.Kind(data[2]),
			From: msg.Address{Role: msg.Role(data[3]), Index: at(12)},
			To:   msg.Address{Role: msg.Role(data[4]), Index: at(16)},
			Rank: at(20), Step: at(24), Floor: at(28), Samples: at(32), StepSamples: at(36),
			Bytes: unit.Bytes(binary.LittleEndian.Uint64(data[40:])),
		},
		Identity: Identity{RunID(data[runAt : runAt+16]), number(64), number(68)},
		Size:     int(length), code: data[1],
	}
	m := &h.Message
	if !m.Kind.Known() || !m.From.Role.Known() || !m.To.Role.Known() {
		return h, malformed("frame of unknown kind %d or role %d or %d", data[2], data[3], data[4])
	}
	if m.From.Index < 0 || m.To.Index < 0 {
		return h, malformed("frame has an invalid address: from %v, to %v", m.From, m.To)
	}
	if int(h.code) >= len(codecs) {
		return h, malformed("%v has a payload of unknown code %d", *m, data[1])
	}
	if data[5]|data[6]|data[7] != 0 {
		return h, malformed("frame has a header whose padding is not zero")
	}
	return h, nil
}

func malformed(format string, args ...any) error { return Refusef(Malformed, format, args...) }
