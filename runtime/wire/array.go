package wire

import (
	"encoding/binary"
	"unsafe"
)

// element is an element type of the arrays in a frame.
type element interface {
	byte | uint16 | int32 | uint32 | float32 | uint64
}

// littleEndian reports whether this machine's numbers have the byte order of a frame.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

func sizeOf[T element]() int {
	var zero T
	return int(unsafe.Sizeof(zero))
}

// bytesOf returns the bytes of an array in a frame. The result aliases the array on little-endian machines.
func bytesOf[T element](values []T) []byte {
	if !littleEndian {
		return copiedBytes(values)
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), len(values)*sizeOf[T]())
}

// arrayOf is the inverse of bytesOf. The length of b is a multiple of the element's size.
func arrayOf[T element](b []byte) []T {
	size := sizeOf[T]()
	start := unsafe.Pointer(unsafe.SliceData(b))
	if !littleEndian || uintptr(start)%uintptr(size) != 0 {
		return copiedArray[T](b)
	}
	if len(b) == 0 {
		return nil
	}
	return unsafe.Slice((*T)(start), len(b)/size)
}

// copiedBytes is bytesOf for any byte order.
func copiedBytes[T element](values []T) []byte {
	b, err := binary.Append(make([]byte, 0, len(values)*sizeOf[T]()), binary.LittleEndian, values)
	if err != nil {
		panic(err) // an element always has a fixed size
	}
	return b
}

// copiedArray is arrayOf for any byte order and alignment.
func copiedArray[T element](b []byte) []T {
	if len(b) == 0 {
		return nil
	}
	values := make([]T, len(b)/sizeOf[T]())
	if _, err := binary.Decode(b, binary.LittleEndian, values); err != nil {
		panic(err) // as above
	}
	return values
}
