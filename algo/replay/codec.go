package replay

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
)

// The codec writes the plain values that roles deal in, field by field, so that
// a kind or field that is new to them needs nothing here:
//
//	integers: varints, zigzag if signed     bool: a byte     float: 8 bytes
//	string, slice: length, elements         error: its text
//	struct: a bit for every field, lowest first, 1 if it is not zero; then those
//
// A value has exactly one encoding, so equal bytes and equal values are one. An
// interface other than error must be nil.

// errEncoding says that bytes are not an encoding of the type.
var errEncoding = errors.New("bytes that no value of this Tandem is encoded as")

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

// decoder reads values back. After a failure it gives zeros.
type decoder struct {
	src    []byte
	failed bool
}

// fail ends the decoding.
func (d *decoder) fail() { d.src, d.failed = nil, true }

// take returns the next n bytes, none if there are fewer.
func (d *decoder) take(n uint64) []byte {
	if n > uint64(len(d.src)) {
		d.fail()
		return nil
	}
	taken := d.src[:n]
	d.src = d.src[n:]
	return taken
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.src)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.src = d.src[n:]
	return v
}

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.src)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.src = d.src[n:]
	return v
}

// value reads into v, which must be zero.
func (d *decoder) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		x := d.varint()
		if v.OverflowInt(x) {
			d.fail()
			return
		}
		v.SetInt(x)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		x := d.uvarint()
		if v.OverflowUint(x) {
			d.fail()
			return
		}
		v.SetUint(x)
	case reflect.Bool:
		b := d.take(1)
		v.SetBool(len(b) == 1 && b[0] == 1)
	case reflect.Float32, reflect.Float64:
		if b := d.take(8); b != nil {
			v.SetFloat(math.Float64frombits(binary.LittleEndian.Uint64(b)))
		}
	case reflect.String:
		v.SetString(string(d.take(d.uvarint())))
	case reflect.Slice:
		n := d.uvarint()
		if n > uint64(len(d.src)) { // an element takes a byte at least
			d.fail()
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), int(n), int(n)))
		for i := range v.Len() {
			d.value(v.Index(i))
		}
	case reflect.Struct:
		bits := d.take(uint64(v.NumField()+7) / 8)
		for i := range v.NumField() {
			if bits != nil && bits[i/8]>>(i%8)&1 == 1 {
				d.value(v.Field(i))
			}
		}
	case reflect.Interface:
		if v.Type() != errorType {
			d.fail()
			return
		}
		v.Set(reflect.ValueOf(errors.New(string(d.take(d.uvarint())))))
	}
}

var errorType = reflect.TypeFor[error]()

// shapeOf writes a type as the codec sees it: two types of one shape have the
// same encodings.
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
	was, is := fmt.Sprint(recorded.Interface()), fmt.Sprint(replayed.Interface())
	if was == is {
		return nil
	}
	return &disagreement{name, was, is}
}
