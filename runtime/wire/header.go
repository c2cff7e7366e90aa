package wire

import (
	"encoding/binary"
	"errors"
	"fmt"

	"tandem/algo/msg"
	"tandem/algo/unit"
)

// The header of a frame, by byte:
//
//	0 Version  1 code of the payload  2 Kind  3 From.Role  4 To.Role  5 zero
//	8 length of the frame  12 From.Index  16 To.Index  20 Rank  24 Step
//	28 Floor  32 Samples  36 StepSamples  40 Bytes
const lengthAt = 8

// appendHeader appends the header of a frame whose length is not known yet.
func appendHeader(b []byte, code uint8, m msg.Message) []byte {
	b = append(b, Version, code, uint8(m.Kind), uint8(m.From.Role), uint8(m.To.Role), 0, 0, 0, 0, 0, 0, 0)
	for _, v := range [...]int32{m.From.Index, m.To.Index, m.Rank, m.Step, m.Floor, m.Samples, m.StepSamples} {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	return binary.LittleEndian.AppendUint64(b, uint64(m.Bytes))
}

// parseHeader reads the header of the frame that data begins with, which data
// is long enough for.
func parseHeader(data []byte) (code uint8, m msg.Message, size int, err error) {
	if len(data) > 0 && data[0] != Version {
		return 0, m, 0, fmt.Errorf("frame of version %d, want %d; run the same build everywhere", data[0], Version)
	}
	if len(data) < headerSize {
		return 0, m, 0, fmt.Errorf("frame of %d bytes ends within its header", len(data))
	}
	length := unit.Bytes(binary.LittleEndian.Uint32(data[lengthAt:]))
	if length < msg.HeaderBytes || length > MaxFrame || length%8 != 0 {
		return 0, m, 0, fmt.Errorf("frame says it has %d bytes; want a multiple of 8 from %d to %d", length, headerSize, MaxFrame)
	}
	if length > unit.Bytes(len(data)) {
		return 0, m, 0, fmt.Errorf("frame says it has %d bytes, %d are there", length, len(data))
	}
	at := func(i int) int32 { return int32(binary.LittleEndian.Uint32(data[i:])) }
	m = msg.Message{
		Kind: msg.Kind(data[2]),
		From: msg.Address{Role: msg.Role(data[3]), Index: at(12)}, To: msg.Address{Role: msg.Role(data[4]), Index: at(16)},
		Rank: at(20), Step: at(24), Floor: at(28), Samples: at(32), StepSamples: at(36),
		Bytes: unit.Bytes(binary.LittleEndian.Uint64(data[40:])),
	}
	if !m.Kind.Known() || !m.From.Role.Known() || !m.To.Role.Known() {
		return 0, m, 0, fmt.Errorf("frame of kind %d from role %d to role %d, of which one is unknown", data[2], data[3], data[4])
	}
	if m.From.Index < 0 || m.To.Index < 0 {
		return 0, m, 0, fmt.Errorf("frame from %v to %v, of which one cannot be", m.From, m.To)
	}
	if int(data[1]) >= len(codecs) {
		return 0, m, 0, fmt.Errorf("%v has a payload of unknown code %d", m, data[1])
	}
	if data[5]|data[6]|data[7] != 0 {
		return 0, m, 0, errors.New("frame with a header that is not filled with zeros")
	}
	return data[1], m, int(length), nil
}
