package replay

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/protocol/role"
)

// types are what the codec is for.
var types = []reflect.Type{
	reflect.TypeFor[role.Input](), reflect.TypeFor[role.Output](), reflect.TypeFor[prelude](),
	reflect.TypeFor[end](),
}

// fill draws a value of any type of the list; half of the fields are left zero.
func fill(t *rapid.T, v reflect.Value) {
	if rapid.Bool().Draw(t, "zero") {
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString(rapid.String().Draw(t, "string"))
	case reflect.Slice:
		n := rapid.IntRange(0, 3).Draw(t, "length")
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(t, v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i))
		}
	case reflect.Interface:
		if v.Type() == errorType {
			v.Set(reflect.ValueOf(errors.New(rapid.String().Draw(t, "error"))))
		}
	default:
		if v.CanInt() {
			v.SetInt(rapid.Int64Range(-1<<(v.Type().Bits()-1), 1<<(v.Type().Bits()-1)-1).Draw(t, "int"))
		} else {
			v.SetUint(rapid.Uint64Range(0, 1<<v.Type().Bits()-1).Draw(t, "uint"))
		}
	}
}

// Decoding returns the encoded value, and a value has one encoding: a decoded value is encoded in the same
// bytes.
func TestCodecKeepsValues(t *testing.T) {
	for _, typ := range types {
		rapid.Check(t, func(t *rapid.T) {
			value, back := reflect.New(typ).Elem(), reflect.New(typ).Elem()
			fill(t, value)
			encoded := appendValue(nil, value)
			d := decoder{src: encoded}
			d.value(back)
			if d.failed || len(d.src) > 0 {
				t.Fatalf("cannot read %x back", encoded)
			}
			if !reflect.DeepEqual(value.Interface(), back.Interface()) {
				t.Fatalf("%+v came back as %+v", value, back)
			}
			if again := appendValue(nil, back); !bytes.Equal(again, encoded) {
				t.Fatalf("encoded as %x, then as %x", encoded, again)
			}
			if d := compare("", value, back); d != nil {
				t.Fatalf("%+v between equal values", d)
			}
		})
	}
}

// Any bytes decode to a value or a failure, without a panic and without much memory.
func TestDecoderTakesAnyBytes(t *testing.T) {
	for _, typ := range types {
		rapid.Check(t, func(t *rapid.T) {
			d := decoder{src: rapid.SliceOfN(rapid.Byte(), 0, 60).Draw(t, "bytes")}
			d.value(reflect.New(typ).Elem())
		})
	}
}

// leaves calls visit for every field of v that has no fields of its own.
func leaves(v reflect.Value, path string, visit func(path string, v reflect.Value)) {
	switch {
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			leaves(v.Field(i), path+"."+v.Type().Field(i).Name, visit)
		}
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		leaves(v.Index(0), path+"[0]", visit)
	case v.Kind() == reflect.Interface && v.Type() != errorType: // a Rule is not recorded
	default:
		visit(path, v)
	}
}

// Every field of every type is encoded, including fields added later, and a change of it is found under its
// name.
func TestNoFieldIsForgotten(t *testing.T) {
	for _, typ := range types {
		value, fields := reflect.New(typ).Elem(), 0
		leaves(value, "it", func(path string, v reflect.Value) {
			was := reflect.New(typ).Elem()
			d := decoder{src: appendValue(nil, value)}
			d.value(was)
			before := appendValue(nil, value)
			switch {
			case v.CanInt():
				v.SetInt(1)
			case v.CanUint():
				v.SetUint(1)
			case v.Kind() == reflect.Bool:
				v.SetBool(true)
			case v.Kind() == reflect.String:
				v.SetString("x")
			default:
				v.Set(reflect.ValueOf(errors.New("x")))
			}
			if bytes.Equal(before, appendValue(nil, value)) {
				t.Errorf("%v: %s is not encoded", typ, path)
			}
			if d := compare("it", was, value); d == nil || d.field != path {
				t.Errorf("%v: a change of %s is found as %+v", typ, path, d)
			}
			fields++
		})
		if fields < 2 {
			t.Errorf("%v: %d fields", typ, fields)
		}
	}
}

// Types with different fields have different shapes.
func TestShapes(t *testing.T) {
	type a struct{ X, Y int32 }
	type b struct {
		X int32
		Y int64
	}
	type c struct{ X, Z int32 }
	seen := map[string]bool{}
	for _, typ := range []reflect.Type{reflect.TypeFor[a](), reflect.TypeFor[b](), reflect.TypeFor[c](),
		reflect.TypeFor[[]a]()} {
		seen[shapeOf(typ)] = true
	}
	if len(seen) != 4 {
		t.Errorf("shapes %v", seen)
	}
	if s := shapeOf(reflect.TypeFor[role.Input]()); !strings.Contains(s, "From {Role uint8;Index int32}") {
		t.Errorf("shape of an input: %s", s)
	}
}

func TestCompareNamesTheLength(t *testing.T) {
	a, b := []role.Output{{}, {}}, []role.Output{{}}
	d := compare("outputs", reflect.ValueOf(a), reflect.ValueOf(b))
	if got, want := fmt.Sprint(*d), "{the length of outputs 2 1}"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
