package wire

import (
	"encoding/binary"
	"fmt"
	"math"
)

// reader decodes a payload. It stores its first error, after which it returns zeros.
type reader struct {
	rest []byte // the bytes that are not read yet, a multiple of 8
	err  error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
	r.rest = nil
}

// uint64 reads one number.
func (r *reader) uint64() uint64 {
	if len(r.rest) < 8 {
		r.fail("the payload ends too early")
		return 0
	}
	v := binary.LittleEndian.Uint64(r.rest)
	r.rest = r.rest[8:]
	return v
}

// number reads a count or an index, from 0 to 2³¹−1.
func (r *reader) number() int {
	v := r.uint64()
	if v > math.MaxInt32 {
		r.fail("number %d, want at most %d", v, math.MaxInt32)
		return 0
	}
	return int(v)
}

// count reads the number of elements that follow, each of at least size bytes. The caller may allocate that
// many.
func (r *reader) count(size int) int {
	n := r.number()
	if n > len(r.rest)/size {
		r.fail("%d × %d bytes announced, but only %d follow", n, size, len(r.rest))
		return 0
	}
	return n
}

// readArray reads an array that writeArray has written. The result may alias the frame.
func readArray[T element](r *reader) []T {
	size := r.count(sizeOf[T]()) * sizeOf[T]()
	padded := size + padding(size) // ≤ len(r.rest), as both are multiples of 8
	b := r.rest[:size]
	for _, zero := range r.rest[size:padded] {
		if zero != 0 {
			r.fail("the padding of an array of %d bytes is not zero", size)
			return nil
		}
	}
	r.rest = r.rest[padded:]
	return arrayOf[T](b)
}
