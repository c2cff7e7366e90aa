package wire

import "encoding/binary"

// aliasMin is the size in bytes from which an array is aliased as a segment of its own. Smaller arrays are
// cheaper to copy.
const aliasMin = 1024

// writer encodes a frame.
type writer struct {
	segments [][]byte
	tail     []byte // bytes after the last segment
	size     int    // of the segments
}

func newWriter() *writer { return &writer{tail: make([]byte, 0, 256)} }

// uint64 writes one number.
func (w *writer) uint64(v uint64) { w.tail = binary.LittleEndian.AppendUint64(w.tail, v) }

// number writes a count or an index.
func (w *writer) number(v int) { w.uint64(uint64(v)) }

// writeArray writes an array: its length, its elements, and zeros up to a multiple of 8 bytes.
func writeArray[T element](w *writer, values []T) {
	w.number(len(values))
	b := bytesOf(values)
	if len(b) < aliasMin {
		w.tail = append(w.tail, b...)
	} else {
		w.flush()
		w.segments, w.size = append(w.segments, b), w.size+len(b)
	}
	w.tail = append(w.tail, zeros[:padding(len(b))]...)
}

var zeros [8]byte

// padding returns the number of bytes from n to the next multiple of 8.
func padding(n int) int { return -n & 7 }

// flush turns the tail into a segment.
func (w *writer) flush() {
	if len(w.tail) > 0 {
		w.segments, w.size = append(w.segments, w.tail), w.size+len(w.tail)
		w.tail = w.tail[len(w.tail):]
	}
}
