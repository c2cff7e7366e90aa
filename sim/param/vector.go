package param

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"tandem/algo/job"
	"tandem/algo/quantity"
	"tandem/algo/unit"
)

var (
	// ErrUnknown is wrapped by the error about a name that no parameter has.
	ErrUnknown = errors.New("unknown parameter")
	// ErrValue is wrapped by the error about a value that a parameter cannot have.
	ErrValue = errors.New("bad value")
)

// Entry is one parameter of a vector.
type Entry struct {
	quantity.Parameter
	// Name is the path of YAML keys to the parameter, such as "embedding-ps.memory-bandwidth".
	Name string
	// Group is the name of what the parameter is part of, and what can be bought or improved as a whole: a
	// resource, such as "PS memory". Empty if nothing can: the parameter describes a fact.
	Group string
}

// Vector is a list of parameters, in the order of their declaration. Entries with different names never
// share a quantity.
type Vector []Entry

// Collect returns the given quantities of the struct that root points to, recursively. The name of a quantity
// is the prefix and the path of YAML keys, joined by dots; an inlined struct adds nothing to it. The group is
// that of the tag `group` of the quantity's field or, if it has none, of the nearest enclosing field that has
// one; the tag "-" ends a group, and "+ x" adds x to that of the enclosing field. The elements of a slice are
// named by their positions.
//
// It does not look into maps, pointers and unexported fields.
func Collect(prefix string, root any) Vector {
	v := reflect.ValueOf(root)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		panic(fmt.Sprintf("param: root is %T, want a pointer to a struct", root))
	}
	return collect(nil, prefix, "", v.Elem())
}

func collect(list Vector, prefix, group string, v reflect.Value) Vector {
	if q, ok := v.Addr().Interface().(quantity.Parameter); ok {
		if q.Given() {
			list = append(list, Entry{q, prefix, group})
		}
		return list
	}
	switch v.Kind() {
	case reflect.Slice:
		for i := range v.Len() {
			list = collect(list, fmt.Sprintf("%s.%d", prefix, i), group, v.Index(i))
		}
		return list
	case reflect.Struct:
	default:
		return list
	}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() {
			continue
		}
		name, inside := prefix, group
		key, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if key == "-" {
			continue
		}
		if key != "" && options != "inline" {
			name = key
			if prefix != "" {
				name = prefix + "." + key
			}
		}
		switch g := f.Tag.Get("group"); g {
		case "":
		case "-":
			inside = ""
		default:
			if more, ok := strings.CutPrefix(g, "+"); ok {
				g = inside + more
			}
			inside = g
		}
		list = collect(list, name, inside, v.Field(i))
	}
	return list
}

// Names returns the names of all parameters.
func (v Vector) Names() []string {
	names := make([]string, len(v))
	for i, e := range v {
		names[i] = e.Name
	}
	return names
}

// Find returns the parameter of a name. The error about a name that there is not wraps ErrUnknown and has the
// nearest name.
func (v Vector) Find(name string) (Entry, error) {
	for _, e := range v {
		if e.Name == name {
			return e, nil
		}
	}
	if nearest := job.Nearest(name, v.Names()); nearest != "" {
		return Entry{}, fmt.Errorf("%w %q; the nearest is %q", ErrUnknown, name, nearest)
	}
	var like []string
	last := name[strings.LastIndex(name, ".")+1:]
	for _, known := range v.Names() {
		if last != "" && strings.Contains(known, last) {
			like = append(like, known)
		}
	}
	if len(like) > 0 {
		return Entry{}, fmt.Errorf("%w %q; like it are %s", ErrUnknown, name, strings.Join(like, ", "))
	}
	return Entry{}, fmt.Errorf("%w %q", ErrUnknown, name)
}

// Set gives the parameter of a name a value with its unit, such as "25Gbps", without a range. Source is who
// says so. The error wraps ErrUnknown or ErrValue.
func (v Vector) Set(name, text, source string) error {
	e, err := v.Find(name)
	if err != nil {
		return err
	}
	value, err := e.Parse(text)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w: %w", name, ErrValue, err)
	case value < 0:
		return fmt.Errorf("%s: %w: %s is negative; want 0 or more", name, ErrValue, text)
	}
	if e.isCount() && value > countMost {
		return fmt.Errorf("%s: %w: %s; want at most %d", name, ErrValue, text, countMost)
	}
	if _, rate := e.Parameter.(*quantity.Value[unit.BytesPerSec]); rate && value > float64(job.RateMax) {
		return fmt.Errorf("%s: %w: %s; want at most %v", name, ErrValue, text, job.RateMax)
	}
	if low, _, _ := e.Span(); value == 0 && low > 0 && !e.LessIsBetter() {
		return fmt.Errorf("%s: %w: %s; want more than 0", name, ErrValue, text) // a rate, a size or a count
	}
	e.Replace(value, quantity.Default, source)
	return nil
}

// isCount reports whether the parameter is a whole number without a unit.
func (e Entry) isCount() bool {
	_, whole := e.Parse("1")
	_, fraction := e.Parse("0.5")
	return whole == nil && fraction != nil
}

// countMost is the largest number of anything that is counted, such as hosts.
const countMost = 1 << 20

// Groups returns the groups of the parameters, each once, in the order of the vector.
func (v Vector) Groups() (groups []string) {
	seen := map[string]bool{"": true}
	for _, e := range v {
		if !seen[e.Group] {
			seen[e.Group] = true
			groups = append(groups, e.Group)
		}
	}
	return groups
}

// Improve makes all parameters of a group better by a factor: larger or, where less is better, smaller.
func (v Vector) Improve(group string, factor float64) {
	for _, e := range v {
		if e.Group == group {
			e.Parameter.Improve(factor)
		}
	}
}

// Validate checks all quantities of the struct that root points to, as far as they are given, and reports
// the first fault by its name.
func Validate(root any) error {
	for _, e := range Collect("", root) {
		if err := e.Parameter.Validate(); err != nil {
			return fmt.Errorf("%s: %w", e.Name, err)
		}
	}
	return nil
}
