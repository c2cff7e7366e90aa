package main

import (
	"encoding"
	"fmt"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"

	"tandem/algo/job"
	"tandem/algo/numeric/opt"
)

// key is one key of the job file.
type key struct {
	path     string // as data.csv.slots[].column
	meaning  string
	kind     kind
	form     string // of a text with a form of its own
	initial  string // the default, as YAML; "" where there is none
	allowed  string // the range in words
	children []*key
}

// forget removes the defaults of the keys below.
func (k *key) forget() {
	for _, child := range k.children {
		child.initial = ""
		child.forget()
	}
}

// kind is what a key holds.
type kind string

const (
	mapping  kind = "keys"
	list     kind = "list"
	names    kind = "names with values"
	free     kind = "names with values or lists"
	text     kind = "text"
	number   kind = "number"
	whole    kind = "whole number"
	yesOrNo  kind = "true or false"
	formed   kind = "text of a form"
	anything kind = "text or list"
)

// allKeys returns the sections of a job file with all keys below them.
func allKeys(root string) ([]*key, error) {
	w := &walk{comments: newComments(root), ranges: probeRanges()}
	start := job.Default()
	start.Cluster = job.Cluster{} // its defaults are those of the preset
	return w.fields("", reflect.ValueOf(&start).Elem())
}

// walk visits the types of a job.
type walk struct {
	comments *comments
	ranges   map[string]string
}

// fields returns the keys of a struct.
func (w *walk) fields(path string, structure reflect.Value) ([]*key, error) {
	var keys []*key
	for i := range structure.NumField() {
		declared := structure.Type().Field(i)
		if !declared.IsExported() {
			continue
		}
		name, options, _ := strings.Cut(declared.Tag.Get("yaml"), ",")
		if options == "inline" {
			inlined, err := w.fields(path, structure.Field(i))
			if err != nil {
				return nil, err
			}
			keys = append(keys, inlined...)
			continue
		}
		if name == "" || name == "-" {
			return nil, fmt.Errorf("%s.%s has no key", structure.Type(), declared.Name)
		}
		meaning, err := w.comments.of(structure.Type(), declared.Name)
		if err != nil {
			return nil, err
		}
		k := &key{path: join(path, name), meaning: meaning}
		if err := w.value(k, structure.Field(i)); err != nil {
			return nil, err
		}
		keys = append(keys, k)
	}
	return keys, nil
}

// value describes the value of a key.
func (w *walk) value(k *key, v reflect.Value) error {
	k.allowed = w.ranges[k.path]
	if own, form := formOf(v); own {
		k.kind, k.form = formed, form
		if _, node := v.Addr().Interface().(yaml.Unmarshaler); node && v.Kind() == reflect.Struct {
			k.kind = anything
		}
		return setDefault(k, v)
	}
	var err error
	switch v.Kind() {
	case reflect.Pointer:
		if err := w.value(k, reflect.New(v.Type().Elem()).Elem()); err != nil {
			return err
		}
		k.initial = ""
		if v.Type().Elem() == reflect.TypeFor[opt.RowSpec]() { // what is left out is as in section rows
			k.forget()
		}
	case reflect.Struct:
		k.kind = mapping
		k.children, err = w.fields(k.path, v)
		return err
	case reflect.Slice:
		k.kind = list
		element := &key{path: k.path + "[]"}
		err = w.value(element, reflect.New(v.Type().Elem()).Elem())
		element.initial = ""
		k.children = []*key{element}
		if v.Len() > 0 {
			return setDefault(k, v)
		}
	case reflect.Map:
		k.kind = names
		if v.Type().Elem().Kind() == reflect.Interface {
			k.kind = free
		}
	case reflect.String:
		k.kind = text
		return setDefault(k, v)
	case reflect.Bool:
		k.kind = yesOrNo
		return setDefault(k, v)
	case reflect.Float32, reflect.Float64:
		k.kind = number
		return setDefault(k, v)
	default:
		k.kind = whole
		return setDefault(k, v)
	}
	return err
}

// formOf reports whether a type reads a text of its own, and what the type says of its form; "" if the type
// reads a node of its own.
func formOf(v reflect.Value) (own bool, form string) {
	pointer := reflect.New(v.Type()).Interface()
	reader, ok := pointer.(encoding.TextUnmarshaler)
	if !ok {
		_, own = pointer.(yaml.Unmarshaler)
		return own, ""
	}
	err := reader.UnmarshalText([]byte("?"))
	if err == nil {
		return false, "" // any text will do
	}
	return true, wanted(err.Error())
}

// setDefault sets the default of a key, unless it is the zero value of a key that may be left out.
func setDefault(k *key, v reflect.Value) error {
	if v.IsZero() && v.Kind() == reflect.String {
		return nil
	}
	node := new(yaml.Node)
	if err := node.Encode(v.Interface()); err != nil {
		return err
	}
	node.Style = yaml.FlowStyle
	written, err := yaml.Marshal(node)
	k.initial = strings.TrimSpace(string(written))
	return err
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
