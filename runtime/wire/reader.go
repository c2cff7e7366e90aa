package wire

import (
	"encoding/binary"
	"fmt"
	"math"
)

// reader takes a payload apart. After the first error, which it keeps, it gives
// zeros.
type reader struct {
	rest []byte // what is not read, a multiple of 8 bytes
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
		r.fail("it ends too early")
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

// count reads the number of things that follow, each of at least size bytes.
// What it returns may be allocated.
func (r *reader) count(size int) int {
	n := r.number()
	if n > len(r.rest)/size {
		r.fail("%d × %d bytes announced, %d are there", n, size, len(r.rest))
		return 0
	}
	return n
}

// readArray reads what section wrote. The result may alias the frame.
func readArray[T element](r *reader) []T {
	size := r.count(sizeOf[T]()) * sizeOf[T]()
	padded := size + padding(size) // ≤ len(r.rest), as both are multiples of 8
	b := r.rest[:size]
	for _, zero := range r.rest[size:padded] {
		if zero != 0 {
			r.fail("an array of %d bytes is not filled with zeros", size)
			return nil
		}
	}
	r.rest = r.rest[padded:]
	return arrayOf[T](b)
}
