package job

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Errors that a caller may test for; an Error wraps one of them.
var (
	// ErrSyntax says that the text is not one YAML document of plain values.
	ErrSyntax = errors.New("not a job file")
	// ErrUnknownKey says that a key belongs to no field.
	ErrUnknownKey = errors.New("unknown key")
	// ErrValue says that a value does not fit its field.
	ErrValue = errors.New("bad value")
)

// Error is a fault in a file, with its place.
type Error struct {
	File    string
	Line    int    // from 1; 0 if the parser's message holds it
	Path    string // of the field, as "cluster.links[2].rate"; "" for the top
	Problem string
	Kind    error // ErrSyntax, ErrUnknownKey or ErrValue
}

// Error returns one line: file, line, path and problem.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	if e.Path != "" {
		fmt.Fprintf(&b, ": %s", e.Path)
	}
	fmt.Fprintf(&b, ": %s", e.Problem)
	return b.String()
}

// Unwrap returns the kind of the error.
func (e *Error) Unwrap() error { return e.Kind }

// Limits of a document.
const (
	// DocumentBytesMax is the size of the longest document that Decode reads.
	DocumentBytesMax = 1 << 20
	depthMax         = 32 // of keys and lists within each other
)

// Decode reads YAML into dst, a pointer to a struct, and names the file in its
// errors, which are of type *Error. Fields are named by their yaml tag, else by
// the field's name in lower case, as package yaml does; "-" leaves a field out
// and ",inline" puts a struct's fields at the level of the struct around it.
//
// Values that are absent or null keep what dst held; maps and structs are
// merged into, slices are replaced. Types with UnmarshalText read their own
// text, numbers included; types with UnmarshalYAML read their own node. On an
// error dst holds part of the file. An empty file is no error.
//
// A document longer than DocumentBytesMax or deeper than 32 levels is refused, as are
// anchors and aliases, with which a short text can stand for a huge one. Numbers must
// be finite.
//
// It panics if dst is not a pointer that can be set.
func Decode(data []byte, file string, dst any) error { return decodeFrom(data, file, dst) }

// decodeFrom is Decode. A pointer that is nil, to a type that one of the values has, begins with this value
// where the file has a value for it.
func decodeFrom(data []byte, file string, dst any, begin ...any) error {
	target := reflect.ValueOf(dst)
	if target.Kind() != reflect.Pointer || target.IsNil() {
		panic(fmt.Sprintf("job: dst is %T, want a pointer", dst))
	}
	d := decoder{file: file, begin: begin}
	if len(data) > DocumentBytesMax {
		return &Error{File: file, Kind: ErrSyntax,
			Problem: fmt.Sprintf("longer than %d bytes: a job names its data, it does not hold them",
				DocumentBytesMax)}
	}
	source := yaml.NewDecoder(bytes.NewReader(data))
	var document, second yaml.Node
	if err := source.Decode(&document); err != nil {
		if errors.Is(err, io.EOF) {
			return nil
		}
		return d.syntax(err)
	}
	switch err := source.Decode(&second); {
	case err == nil:
		return d.fault(&second, "", ErrSyntax, "a second document begins here: a job is one document")
	case !errors.Is(err, io.EOF):
		return d.syntax(err)
	}
	if err := d.plain(document.Content[0], "", 1); err != nil {
		return err
	}
	return d.value(document.Content[0], "", target.Elem())
}

// decoder holds what all levels of one Decode share.
type decoder struct {
	file  string
	begin []any // see decodeFrom
}

func (d *decoder) fault(node *yaml.Node, path string, kind error, format string, args ...any) error {
	return &Error{File: d.file, Line: node.Line, Path: path, Kind: kind,
		Problem: fmt.Sprintf(format, args...)}
}

// syntax wraps an error of the parser, whose text names the line.
func (d *decoder) syntax(err error) error {
	return &Error{File: d.file, Kind: ErrSyntax, Problem: strings.TrimPrefix(err.Error(), "yaml: ")}
}

// plain reports what must be nowhere in a document: anchors, aliases and deep nesting.
func (d *decoder) plain(node *yaml.Node, path string, depth int) error {
	switch {
	case node.Kind == yaml.AliasNode || node.Anchor != "":
		return d.fault(node, path, ErrSyntax, "anchors and aliases are not supported: write the value out")
	case depth > depthMax:
		return d.fault(node, "", ErrSyntax, "nested deeper than %d levels", depthMax)
	}
	for i, child := range node.Content {
		below := path
		switch {
		case node.Kind == yaml.SequenceNode:
			below = fmt.Sprintf("%s[%d]", path, i)
		case i%2 == 1: // a value, behind its key
			below = join(path, shortened(node.Content[i-1].Value))
		}
		if err := d.plain(child, below, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// value decodes one node of any kind.
func (d *decoder) value(node *yaml.Node, path string, target reflect.Value) error {
	if node.ShortTag() == "!!null" {
		return nil
	}
	if target.Kind() == reflect.Pointer {
		if target.IsNil() {
			target.Set(reflect.New(target.Type().Elem()))
			for _, value := range d.begin {
				if reflect.TypeOf(value) == target.Type().Elem() {
					target.Elem().Set(reflect.ValueOf(value))
				}
			}
		}
		return d.value(node, path, target.Elem())
	}
	switch target.Addr().Interface().(type) {
	case yaml.Unmarshaler, encoding.TextUnmarshaler:
		return d.leaf(node, path, target)
	}
	switch target.Kind() {
	case reflect.Struct:
		return d.structure(node, path, target)
	case reflect.Map:
		return d.mapping(node, path, target)
	case reflect.Slice:
		return d.sequence(node, path, target)
	}
	return d.leaf(node, path, target)
}

// structure decodes a mapping into the fields of a struct.
func (d *decoder) structure(node *yaml.Node, path string, target reflect.Value) error {
	fields := fieldsOf(target)
	return d.entries(node, path, func(key string, keyNode, valueNode *yaml.Node) error {
		for _, f := range fields {
			if f.key == key {
				return d.value(valueNode, join(path, key), f.value)
			}
		}
		if moved, ok := target.Addr().Interface().(formerKeyer); ok {
			if now := moved.formerKey(key); now != "" {
				return d.fault(keyNode, path, ErrUnknownKey, "unknown key %q: %[1]s is now %s", key, now)
			}
		}
		if _, ok := target.Addr().Interface().(*IDColumn); ok && isSlotKey(key) {
			return d.fault(keyNode, path, ErrUnknownKey, "unknown key %q: how a column's ids are looked up "+
				"is said in data.slots, beside slot: and its name", key)
		}
		return d.fault(keyNode, path, ErrUnknownKey, "unknown key %q: %s", shortened(key),
			suggestion(key, fields))
	})
}

// suggestion tells what to write instead of an unknown key.
func suggestion(key string, fields []field) string {
	known := make([]string, len(fields))
	for i, f := range fields {
		known[i] = f.key
	}
	if nearest := Nearest(key, known); nearest != "" {
		return fmt.Sprintf("did you mean %q?", nearest)
	}
	return "use one of " + strings.Join(known, ", ")
}

// mapping decodes a mapping into a map, one key after the other.
func (d *decoder) mapping(node *yaml.Node, path string, target reflect.Value) error {
	if target.IsNil() {
		target.Set(reflect.MakeMap(target.Type()))
	}
	return d.entries(node, path, func(key string, keyNode, valueNode *yaml.Node) error {
		keyValue := reflect.New(target.Type().Key()).Elem()
		if err := d.leaf(keyNode, join(path, key), keyValue); err != nil {
			return err
		}
		value := reflect.New(target.Type().Elem()).Elem()
		if old := target.MapIndex(keyValue); old.IsValid() {
			value.Set(old)
		} else if valueNode.ShortTag() == "!!null" {
			return d.fault(valueNode, join(path, key), ErrValue, "no value: write one, or leave the key out")
		}
		if err := d.value(valueNode, join(path, key), value); err != nil {
			return err
		}
		target.SetMapIndex(keyValue, value)
		return nil
	})
}

// entries calls visit for every key of a mapping in the order of the file.
func (d *decoder) entries(node *yaml.Node, path string,
	visit func(key string, keyNode, valueNode *yaml.Node) error) error {
	if node.Kind != yaml.MappingNode {
		return d.fault(node, path, ErrValue, "%s where keys with values belong", describe(node))
	}
	seen := make(map[string]int, len(node.Content)/2)
	for i := 0; i < len(node.Content); i += 2 {
		keyNode := node.Content[i]
		if keyNode.Kind != yaml.ScalarNode {
			return d.fault(keyNode, path, ErrSyntax, "%s where a key belongs", describe(keyNode))
		}
		key := keyNode.Value
		if line, again := seen[key]; again {
			return d.fault(keyNode, path, ErrSyntax, "key %q is given twice, first in line %d",
				shortened(key), line)
		}
		seen[key] = keyNode.Line
		if err := visit(key, keyNode, node.Content[i+1]); err != nil {
			return err
		}
	}
	return nil
}

// sequence decodes a list into a new slice.
func (d *decoder) sequence(node *yaml.Node, path string, target reflect.Value) error {
	if node.Kind != yaml.SequenceNode {
		return d.fault(node, path, ErrValue, "%s where a list belongs", describe(node))
	}
	values := reflect.MakeSlice(target.Type(), len(node.Content), len(node.Content))
	for i, item := range node.Content {
		if err := d.value(item, fmt.Sprintf("%s[%d]", path, i), values.Index(i)); err != nil {
			return err
		}
	}
	target.Set(values)
	return nil
}
