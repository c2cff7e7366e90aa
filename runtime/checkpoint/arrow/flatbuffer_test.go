package arrow

import (
	"encoding/binary"
	"errors"
	"testing"
)

// A table whose place is outside of its bytes, or partly, is an error, and every later read is 0.
func TestTablesOutsideOfTheirBytes(t *testing.T) {
	whole := encodeRoot(record{int64(7), int64(8)})
	if v := readRoot(whole); v.scalar(1, 8) != 8 || v.source.err != nil {
		t.Fatalf("field 1 is %d, %v", v.scalar(1, 8), v.source.err)
	}
	for _, at := range []uint32{1 << 31, uint32(len(whole)), uint32(len(whole)) - 3} {
		damaged := append([]byte(nil), whole...)
		binary.LittleEndian.PutUint32(damaged, at)
		v := readRoot(damaged)
		if x := v.scalar(1, 8); x != 0 || !errors.Is(v.source.err, errMetadata) {
			t.Errorf("root at %d: field 1 is %d, %v", at, x, v.source.err)
		}
	}
}
