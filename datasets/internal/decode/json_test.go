package decode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"tandem/datasets/internal/input"
)

// members reads an object with encoding/json, for which splitting is wrong unless it says the same. It
// reports false if a member that is read is there twice.
func members(t interface{ Fatal(...any) }, line []byte, names []string) (all map[string]any, once bool) {
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	if err := d.Decode(&all); err != nil {
		t.Fatal(err)
	}
	d = json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	d.Token() // {
	seen := map[string]bool{}
	for d.More() {
		key, _ := d.Token()
		if name := key.(string); slices.Contains(names, name) && seen[name] {
			return nil, false
		} else {
			seen[name] = true
		}
		var skipped json.RawMessage
		if err := d.Decode(&skipped); err != nil {
			t.Fatal(err)
		}
	}
	return all, true
}

// field returns what a value is as a field. It reports false if it is none.
func field(value any, separator string) (string, bool) {
	switch v := value.(type) {
	case nil:
		return "", true
	case string:
		return strings.TrimSpace(v), true
	case json.Number:
		return v.String(), true
	case bool:
		return map[bool]string{true: "true", false: "false"}[v], true
	case []any:
		var texts []string
		for _, element := range v {
			if _, isList := element.([]any); isList {
				return "", false
			}
			text, ok := field(element, "")
			if !ok || separator == "" || strings.Contains(text, separator) {
				return "", false
			}
			texts = append(texts, text)
		}
		return strings.Join(texts, separator), separator != ""
	}
	return "", false
}

var splitNames, splitSeparators = []string{"user", "tags", "click"}, []string{"", "|", ""}

// checkSplit compares the fields of a line with those that encoding/json finds.
func checkSplit(t interface {
	Fatal(...any)
	Fatalf(string, ...any)
}, line []byte) {
	columns := newJSONColumns(splitNames, splitSeparators)
	got, bad := columns.split(line, nil, nil)
	if begin := bytes.TrimLeft(line, blanks); !json.Valid(line) || begin[0] != '{' || !utf8.Valid(line) {
		if bad == nil {
			t.Fatalf("%q is taken for an object", line)
		}
		return
	}
	all, ok := members(t, line, splitNames)
	var want []string
	for i, name := range splitNames {
		text, isField := field(all[name], splitSeparators[i])
		want, ok = append(want, text), ok && isField
	}
	if ok != (bad == nil) || ok && !slices.Equal(got, want) {
		t.Fatalf("%q has the fields %q, error %v, want %q, %v", line, got, bad, want, ok)
	}
}

func TestObjectsAreThoseOfEncodingJSON(t *testing.T) {
	text := rapid.OneOf(rapid.StringN(0, 6, 20),
		rapid.SampledFrom([]string{"user", "tags", "click", "a|b", `"`, `\`, "}", "]", " é ", "\u2028"}))
	key := rapid.OneOf(text, rapid.SampledFrom(splitNames))
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		scalars := []*rapid.Generator[any]{text.AsAny(), rapid.Float64().AsAny(), rapid.Bool().AsAny(),
			rapid.Int().AsAny(), rapid.Just[any](nil)}
		if depth == 0 {
			return rapid.OneOf(scalars...)
		}
		return rapid.OneOf(append(scalars, rapid.SliceOfN(value(depth-1), 0, 3).AsAny(),
			rapid.MapOfN(key, value(depth-1), 0, 3).AsAny())...)
	}
	rapid.Check(t, func(t *rapid.T) {
		var line bytes.Buffer
		line.WriteString(rapid.SampledFrom([]string{"{", " {", "{ "}).Draw(t, "begin"))
		for n := rapid.IntRange(0, 5).Draw(t, "members"); n > 0; n-- {
			for i, part := range []any{key.Draw(t, "key"), value(2).Draw(t, "value")} {
				encoded, err := json.Marshal(part)
				if err != nil {
					t.Skip()
				}
				blank := rapid.SampledFrom([]string{"", " ", "\t "}).Draw(t, "blank")
				line.WriteString(blank + string(encoded) + blank + []string{":", ","}[i])
			}
		}
		if bytes.HasSuffix(line.Bytes(), []byte{','}) {
			line.Truncate(line.Len() - 1)
		}
		line.WriteString(rapid.SampledFrom([]string{"}", "} ", "]", ""}).Draw(t, "end"))
		checkSplit(t, line.Bytes())
	})
}

func FuzzObjects(f *testing.F) {
	for _, seed := range []string{`{"user":"u","tags":["a","b"],"click":1}`, `{}`, `[1]`, `"user"`, `1`, ``,
		`{"user":"\u00e9\"","tags":[],"x":{"y":[1,"}",{}]}}`, `{"user":1,"user":2}`, `{"click":[1]}`,
		"{\"tags\":[\"\xfc\"]}",
		`{"tags":["a|b"]}`, `{"tags":[[1]]}`, `{"tags":{"a":1}}`, `{"user":-1.5e+9 , "click":null}`,
		`{"us\u0065r":true}`, strings.Repeat(`{"user":`, 20_000)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) { checkSplit(t, line) })
}

// The columns of lines that no job describes are the members of the first thousand rows, in the order in
// which they come first. Objects are a problem of their column, not of the row.
func TestColumnsOfJSONLines(t *testing.T) {
	text := strings.Join([]string{`{"b":1,"a":["x","y"]}`, ``, `{"c":{"d":1},"a":[],"b":[[1]]}`, `no`,
		`{"a":"z"}`}, "\n")
	in := input.Plain("x", strings.NewReader(text))
	in.JSON = true
	r, err := NewRecordReader(in, "", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"b", "a", "c"}; !slices.Equal(r.Columns, want) {
		t.Errorf("columns %q, want %q", r.Columns, want)
	}
	for _, want := range []struct {
		line   int
		fields []string
	}{{1, []string{"1", "x|y", ""}}, {3, []string{"", "", ""}}, {4, nil}, {5, []string{"", "z", ""}}} {
		fields, err := r.NextRecord()
		if _, bad := err.(*BadRow); bad != (want.fields == nil) || r.Line() != want.line ||
			!slices.Equal(fields, want.fields) {
			t.Errorf("line %d: %q, error %v, want %v", r.Line(), fields, err, want)
		}
	}
	if _, err := r.NextRecord(); err != io.EOF {
		t.Error(err)
	}
	for i, want := range []struct {
		kind   ValueKind
		usable bool
	}{{AnyText, false}, {List, true}, {AnyText, false}} {
		if kind, problem := r.Kind(i); kind != want.kind || (problem == "") != want.usable {
			t.Errorf("column %s: kind %v, problem %q", r.Columns[i], kind, problem)
		}
	}
}

// The head of JSON lines has a bound, and so have the names in it: a file of ids as names is refused.
func TestTheHeadOfJSONLinesIsBounded(t *testing.T) {
	open := func(lines int, line func(n int) string) (*jsonReader, error) {
		var text strings.Builder
		for n := range lines {
			text.WriteString(line(n))
		}
		in := input.Plain("x", strings.NewReader(text.String()))
		in.JSON = true
		return newJSONReader(in)
	}
	long := `{"a":"` + strings.Repeat("x", jsonHeadBytes/20) + "\"}\n"
	if r, err := open(25, func(int) string { return long }); err != nil || len(r.head) != 20 {
		t.Fatalf("a head of %v, error %v", r, err)
	}
	_, err := open(jsonHead, func(n int) string {
		var line strings.Builder
		for i := range jsonColumnsMax / 100 {
			fmt.Fprintf(&line, `,"%d-%d":1`, n, i)
		}
		return "{" + line.String()[1:] + "}\n"
	})
	if err == nil || !strings.HasPrefix(err.Error(), "x:101: the objects up to here have members of more") {
		t.Error(err)
	}
}
