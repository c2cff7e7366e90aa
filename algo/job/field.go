package job

import (
	"reflect"
	"strings"
)

// field is a place of a struct that a key names.
type field struct {
	key   string
	value reflect.Value
}

// fieldsOf lists the fields of a struct in the order of their declaration,
// with those of inlined structs in their place.
func fieldsOf(structure reflect.Value) []field {
	var fields []field
	for i := range structure.NumField() {
		declared := structure.Type().Field(i)
		if !declared.IsExported() {
			continue
		}
		key, options, _ := strings.Cut(declared.Tag.Get("yaml"), ",")
		switch {
		case key == "-":
		case options == "inline":
			fields = append(fields, fieldsOf(structure.Field(i))...)
		case key == "":
			fields = append(fields, field{strings.ToLower(declared.Name), structure.Field(i)})
		default:
			fields = append(fields, field{key, structure.Field(i)})
		}
	}
	return fields
}

// join appends a key to a path.
func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
