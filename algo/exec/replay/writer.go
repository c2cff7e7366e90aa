package replay

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"reflect"

	"tandem/algo/exec"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
)

// Writer writes the stream of one role. It writes whole blocks of about blockSize, so that w needs no buffer;
// a crash loses the block that is not yet written. It is not safe for concurrent use.
type Writer struct {
	// Through makes every step a block that is written at once, so that a process that is killed has recorded
	// all that it has acted on. The price: a write and 9 bytes for every input.
	Through bool
	w       io.Writer
	crc     uint32
	now     unit.Tick // of the last step
	inputs  uint64
	block   []byte // being filled; begins with room for its head
	out     []byte // scratch
}

const (
	blockSize = 64 << 10
	blockHead = 5
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// NewWriter writes the header of a stream, without the Rule of its Config, and returns the writer of its
// steps.
func NewWriter(w io.Writer, h Header) (*Writer, error) {
	if _, err := io.WriteString(w, title+version+"\n"); err != nil {
		return nil, err
	}
	h.Config.Rule = nil
	writer := &Writer{w: w, block: make([]byte, blockHead, 2*blockSize)}
	first := prelude{shape, h}
	writer.block = appendValue(writer.block, reflect.ValueOf(&first).Elem())
	return writer, writer.flush(headerBlock)
}

// Step appends one step: an input, the payload of its message or nil, and the outputs of the role. It retains
// none of them. Cost: about a microsecond, and the fingerprint of the payload.
func (w *Writer) Step(now unit.Tick, in *role.Input, payload exec.Payload, out []role.Output) error {
	fingerprint := uint64(0)
	if paid(in) {
		fingerprint = exec.Fingerprint(in.Message, payload)
	}
	w.out = appendOutputs(w.out[:0], out)
	return w.add(now, in, fingerprint, w.out)
}

// add appends one step.
func (w *Writer) add(now unit.Tick, in *role.Input, payload uint64, outputs []byte) error {
	w.block = appendStep(w.block, now-w.now, in, payload, outputs)
	w.now = now
	w.inputs++
	if len(w.block) < blockSize && !w.Through {
		return nil
	}
	return w.flush(stepsBlock)
}

// appendStep appends the encoding of one step:
//
//	time since the last step · input · fingerprint, 8 bytes · length of the outputs · outputs
func appendStep(dst []byte, since unit.Tick, in *role.Input, payload uint64, outputs []byte) []byte {
	dst = binary.AppendVarint(dst, int64(since))
	dst = appendValue(dst, reflect.ValueOf(in).Elem())
	if paid(in) {
		dst = binary.LittleEndian.AppendUint64(dst, payload)
	}
	dst = binary.AppendUvarint(dst, uint64(len(outputs)))
	return append(dst, outputs...)
}

// Finish writes the last block and the end mark, with the digest of the role's parameters: see
// exec.RecordedDigest.
func (w *Writer) Finish(digest uint64) error {
	if len(w.block) > blockHead {
		if err := w.flush(stepsBlock); err != nil {
			return err
		}
	}
	w.block = appendValue(w.block, reflect.ValueOf(&end{w.inputs, digest}).Elem())
	err := w.flush(endBlock)
	w.w = ended{}
	return err
}

// flush writes the block and begins another.
func (w *Writer) flush(kind byte) error {
	w.block[0] = kind
	binary.LittleEndian.PutUint32(w.block[1:], uint32(len(w.block)-blockHead))
	w.crc = crc32.Update(w.crc, castagnoli, w.block)
	w.block = binary.LittleEndian.AppendUint32(w.block, w.crc)
	_, err := w.w.Write(w.block)
	w.block = w.block[:blockHead]
	return err
}

// ended refuses writes after the end mark.
type ended struct{}

func (ended) Write([]byte) (int, error) { return 0, errors.New("replay: the stream has ended") }
