package job

import (
	"encoding"
	"errors"
	"math"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
)

// leaf decodes a node that has no fields of ours below it.
func (d *decoder) leaf(node *yaml.Node, path string, target reflect.Value) error {
	pointer := target.Addr().Interface()
	if _, own := pointer.(yaml.Unmarshaler); !own {
		if text, ok := pointer.(encoding.TextUnmarshaler); ok {
			if node.Kind != yaml.ScalarNode {
				return d.fault(node, path, ErrValue, "%s where one value belongs", describe(node))
			}
			if err := text.UnmarshalText([]byte(node.Value)); err != nil {
				return d.fault(node, path, ErrValue, "%v", err)
			}
			return nil
		}
	}
	if !whole(node, target.Kind()) {
		return d.fault(node, path, ErrValue, "%s where %s belongs", describe(node), expected(target.Type()))
	}
	err := node.Decode(pointer)
	if err == nil {
		if target.CanFloat() && target.Float()-target.Float() != 0 { // NaN, or infinite
			return d.fault(node, path, ErrValue, "%s where a finite number belongs", describe(node))
		}
		return nil
	}
	var mismatch *yaml.TypeError
	if !errors.As(err, &mismatch) {
		return d.fault(node, path, ErrValue, "%v", err)
	}
	return d.fault(node, path, ErrValue, "%s where %s belongs", describe(node), expected(target.Type()))
}

// whole reports whether a node that is a number with a point or an exponent can become an integer, if the
// target is one: package yaml would cut off a fraction, and wrap a number that does not fit, without a word.
// Other nodes are left to that package.
func whole(node *yaml.Node, kind reflect.Kind) bool {
	if kind < reflect.Int || kind > reflect.Uint64 || node.ShortTag() != "!!float" {
		return true
	}
	var value float64
	least, most := -0x1p63, 0x1p63
	if kind >= reflect.Uint {
		least, most = 0, 0x1p64
	}
	err := node.Decode(&value)
	return err == nil && value == math.Trunc(value) && least <= value && value < most
}

// describe names what a node holds, for messages.
func describe(node *yaml.Node) string {
	switch node.Kind {
	case yaml.MappingNode:
		return "keys with values"
	case yaml.SequenceNode:
		return "a list"
	}
	return `"` + strings.ReplaceAll(shortened(node.Value), "\n", " ") + `"`
}

// shortened returns at most 40 letters of a text, for messages.
func shortened(text string) string {
	const longest = 40
	if letters := []rune(text); len(letters) > longest {
		return string(letters[:longest]) + "…"
	}
	return text
}

// expected names what a type reads, for messages.
func expected(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "a whole number (" + t.Kind().String() + ")"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number from 0 (" + t.Kind().String() + ")"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.String:
		return "text"
	}
	return "a value of " + t.String()
}
