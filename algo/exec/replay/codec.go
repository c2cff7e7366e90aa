package replay

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
)

// The codec encodes the plain values of package role field by field, by reflection, so that a new kind or
// field needs no change here:
//
//	integers: varints, zigzag if signed     bool: a byte     float: 8 bytes
//	string, slice: length, elements         error: its text
//	struct: a bit for every field, lowest first, 1 if it is not zero; then those
//
// A value has exactly one encoding, so equal bytes and equal values are one. An
// interface other than error must be nil.

// appendValue appends the encoding of a value. It panics on types that are not
// listed above. Cost: about 10 ns a field that is not zero.
func appendValue(dst []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return binary.AppendVarint(dst, v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return binary.AppendUvarint(dst, v.Uint())
	case reflect.Bool:
		if v.Bool() {
			return append(dst, 1)
		}
		return append(dst, 0)
	case reflect.Float32, reflect.Float64:
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v.Float()))
	case reflect.String:
		return appendText(dst, v.String())
	case reflect.Slice:
		dst = binary.AppendUvarint(dst, uint64(v.Len()))
		for i := range v.Len() {
			dst = appendValue(dst, v.Index(i))
		}
		return dst
	case reflect.Struct:
		return appendStruct(dst, v)
	case reflect.Interface:
		if err, ok := v.Interface().(error); ok {
			return appendText(dst, err.Error())
		}
	}
	panic(fmt.Sprintf("replay: no encoding of %v", v.Type()))
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

func appendStruct(dst []byte, v reflect.Value) []byte {
	fields := v.NumField()
	bits := len(dst)
	for range (fields + 7) / 8 {
		dst = append(dst, 0)
	}
	for i := range fields {
		if f := v.Field(i); !f.IsZero() {
			dst[bits+i/8] |= 1 << (i % 8)
			dst = appendValue(dst, f)
		}
	}
	return dst
}

// decoder reads values back. It accepts what appendValue writes and nothing else: a length beyond the end, a
// number that has a shorter form or does not fit, or a zero that is marked as none fails it. After a failure
// it gives zeros.
//
// Memory: a slice takes at most 12 bytes for every byte of its encoding, as long as its elements are numbers
// or handles; outputs are read one at a time (Step.Outputs).
type decoder struct {
	src    []byte
	size   int // of src at the beginning
	failed bool
	at     int    // of the failure, from the beginning
	field  string // that failed, with the fields around it; empty at the top
	why    string
}

func decode(src []byte) decoder { return decoder{src: src, size: len(src)} }

// fail ends the decoding.
func (d *decoder) fail(why string) {
	if !d.failed {
		d.at, d.why = d.size-len(d.src), why
	}
	d.src, d.failed = nil, true
}

// inside prefixes the name of the failed field, if a field failed.
func (d *decoder) inside(name string) {
	switch {
	case !d.failed:
	case d.field == "" || d.field[0] == '[':
		d.field = name + d.field
	default:
		d.field = name + "." + d.field
	}
}

// next returns the next n bytes, none if there are fewer.
func (d *decoder) next(n uint64) []byte {
	if n > uint64(len(d.src)) {
		d.fail(fmt.Sprintf("%d bytes, of which %d are there", n, len(d.src)))
		return nil
	}
	taken := d.src[:n]
	d.src = d.src[n:]
	return taken
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.src)
	if !d.skipNumber(n) {
		return 0
	}
	return v
}

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.src)
	if !d.skipNumber(n) {
		return 0
	}
	return v
}

// skipNumber takes the n bytes of a number, which must have no shorter form.
func (d *decoder) skipNumber(n int) bool {
	if n <= 0 || n > 1 && d.src[n-1] == 0 {
		d.fail("not a number")
		return false
	}
	d.src = d.src[n:]
	return true
}

// whole reads the rest of the bytes into v, which must be zero.
func (d *decoder) whole(v reflect.Value) error {
	if d.value(v); !d.failed && len(d.src) > 0 {
		d.fail(fmt.Sprintf("%d bytes too many", len(d.src)))
	}
	if !d.failed {
		return nil
	}
	return fmt.Errorf("%s: %s", cmp.Or(d.field, "the whole"), d.why)
}

// value reads into v, which must be zero.
func (d *decoder) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		x := d.varint()
		if v.OverflowInt(x) {
			d.fail(fmt.Sprintf("%d does not fit", x))
			return
		}
		v.SetInt(x)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		x := d.uvarint()
		if v.OverflowUint(x) {
			d.fail(fmt.Sprintf("%d does not fit", x))
			return
		}
		v.SetUint(x)
	case reflect.Bool:
		if b := d.next(1); b != nil {
			if b[0] > 1 {
				d.fail(fmt.Sprintf("%d is neither true nor false", b[0]))
				return
			}
			v.SetBool(b[0] == 1)
		}
	case reflect.Float32, reflect.Float64:
		if b := d.next(8); b != nil {
			v.SetFloat(math.Float64frombits(binary.LittleEndian.Uint64(b)))
		}
	case reflect.String:
		v.SetString(string(d.next(d.uvarint())))
	case reflect.Slice:
		d.slice(v)
	case reflect.Struct:
		d.structure(v)
	case reflect.Interface:
		if v.Type() != errorType {
			d.fail("a value where none can be")
			return
		}
		if text := string(d.next(d.uvarint())); !d.failed {
			v.Set(reflect.ValueOf(errors.New(text)))
		}
	}
}

func (d *decoder) slice(v reflect.Value) {
	n := d.uvarint()
	if n > uint64(len(d.src)) { // an element takes a byte at least
		d.fail(fmt.Sprintf("%d elements in %d bytes", n, len(d.src)))
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), int(n), int(n)))
	for i := range v.Len() {
		if d.value(v.Index(i)); d.failed {
			d.inside(fmt.Sprintf("[%d]", i))
			return
		}
	}
}

func (d *decoder) structure(v reflect.Value) {
	fields := v.NumField()
	bits := d.next(uint64(fields+7) / 8)
	if bits == nil {
		return
	}
	if spare := fields % 8; spare > 0 && bits[len(bits)-1]>>spare != 0 {
		d.fail(fmt.Sprintf("more than %d fields", fields))
		return
	}
	for i := range fields {
		if bits[i/8]>>(i%8)&1 == 0 {
			continue
		}
		if d.value(v.Field(i)); !d.failed && v.Field(i).IsZero() {
			d.fail("zero, and marked as another value")
		}
		if d.failed {
			d.inside(v.Type().Field(i).Name)
			return
		}
	}
}

var errorType = reflect.TypeFor[error]()

// shapeOf describes a type for the codec: two types of one shape have the same encodings.
func shapeOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice:
		return "[]" + shapeOf(t.Elem())
	case reflect.Struct:
		var fields []string
		for i := range t.NumField() {
			fields = append(fields, t.Field(i).Name+" "+shapeOf(t.Field(i).Type))
		}
		return "{" + strings.Join(fields, ";") + "}"
	}
	return t.Kind().String()
}

// disagreement is the first field in which two values differ.
type disagreement struct{ field, recorded, replayed string }

// compare returns the first field in which two values of one type differ, below
// a name; nil if they are equal.
func compare(name string, recorded, replayed reflect.Value) *disagreement {
	switch recorded.Kind() {
	case reflect.Struct:
		for i := range recorded.NumField() {
			field := recorded.Type().Field(i).Name
			if name != "" {
				field = name + "." + field
			}
			if d := compare(field, recorded.Field(i), replayed.Field(i)); d != nil {
				return d
			}
		}
		return nil
	case reflect.Slice:
		for i := range min(recorded.Len(), replayed.Len()) {
			if d := compare(fmt.Sprintf("%s[%d]", name, i), recorded.Index(i), replayed.Index(i)); d != nil {
				return d
			}
		}
		if recorded.Len() == replayed.Len() {
			return nil
		}
		return &disagreement{"the length of " + name, fmt.Sprint(recorded.Len()), fmt.Sprint(replayed.Len())}
	}
	whole := recorded.Kind() >= reflect.Bool && recorded.Kind() <= reflect.Uintptr
	if whole && recorded.Equal(replayed) { // spares the texts, which take most of the time of a replay
		return nil
	}
	was, is := fmt.Sprint(recorded.Interface()), fmt.Sprint(replayed.Interface())
	if was == is {
		return nil
	}
	return &disagreement{name, was, is}
}
