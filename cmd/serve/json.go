package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// jsonValues are the values of a tensor in JSON, in a list or in lists of one value each.
type jsonValues struct {
	texts   []string
	numbers []float32 // NaN for null
	written []string  // the numbers as the request has them
	truths  int       // how many of the numbers are written as true or false
	err     error     // why the values are neither texts nor numbers
}

// jsonReader reads JSON from a text. The texts that it returns alias the text. It reads the many values of a
// tensor without copying them and without a pass to validate them first; encoding/json reads the few others.
type jsonReader struct {
	text string
	at   int
}

var errJSON = errors.New("malformed JSON")

// fail returns an error with the place.
func (r *jsonReader) fail() error { return fmt.Errorf("%w at byte %d", errJSON, r.at+1) }

// next skips white space, and returns the byte after it, or 0 at the end.
func (r *jsonReader) next() byte {
	for ; r.at < len(r.text); r.at++ {
		switch c := r.text[r.at]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// take skips white space and a byte, if that is the next one.
func (r *jsonReader) take(c byte) bool {
	if r.next() != c {
		return false
	}
	r.at++
	return true
}

// object reads an object; member reads the value of each key.
func (r *jsonReader) object(member func(key string) error) error {
	if !r.take('{') {
		return r.fail()
	}
	return r.list('}', func() error {
		key, err := r.string()
		if err != nil {
			return err
		}
		if !r.take(':') {
			return r.fail()
		}
		return member(key)
	})
}

// array reads an array.
func (r *jsonReader) array(element func() error) error {
	if !r.take('[') {
		return r.fail()
	}
	return r.list(']', element)
}

// list reads elements with commas between them until the end.
func (r *jsonReader) list(end byte, element func() error) error {
	if r.take(end) {
		return nil
	}
	for {
		if err := element(); err != nil {
			return err
		}
		if r.take(end) {
			return nil
		}
		if !r.take(',') {
			return r.fail()
		}
	}
}

// string reads a string.
func (r *jsonReader) string() (string, error) {
	if r.next() != '"' {
		return "", r.fail()
	}
	begin := r.at + 1
	if n := strings.IndexByte(r.text[begin:], '"'); n >= 0 && isPlain(r.text[begin:begin+n]) {
		r.at = begin + n + 1
		return r.text[begin : begin+n], nil
	}
	for i := begin; i < len(r.text); i++ {
		switch r.text[i] {
		case '"':
			var s string
			if err := json.Unmarshal([]byte(r.text[begin-1:i+1]), &s); err != nil {
				return "", r.fail()
			}
			r.at = i + 1
			return s, nil
		case '\\':
			i++
		}
	}
	return "", r.fail()
}

// isPlain says whether a text is the same in JSON, without looking at more than its bytes.
func isPlain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c == '\\' || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// depthMax is how many lists and objects may be in each other. The protocol needs four.
const depthMax = 32

// value reads a value of any kind into v, by encoding/json.
func (r *jsonReader) value(v any) error {
	r.next()
	begin, depth := r.at, 0
	for r.at < len(r.text) {
		switch c := r.text[r.at]; c {
		case '"':
			if _, err := r.string(); err != nil {
				return err
			}
			continue
		case '[', '{':
			if depth++; depth > depthMax {
				return fmt.Errorf("more than %d lists and objects in each other at byte %d", depthMax, r.at+1)
			}
		case ']', '}', ',':
			if depth == 0 {
				return json.Unmarshal([]byte(r.text[begin:r.at]), v)
			}
			if c != ',' {
				depth--
			}
		}
		r.at++
	}
	return json.Unmarshal([]byte(r.text[begin:]), v)
}

// skip reads a value of any kind, and keeps nothing of it.
func (r *jsonReader) skip() error { return r.value(new(json.RawMessage)) }

// values reads the values of a tensor.
func (r *jsonReader) values() (v *jsonValues, err error) {
	v = &jsonValues{}
	if r.next() != '[' {
		v.err = errors.New("data: want a list")
		return v, r.skip()
	}
	row := 0
	return v, r.array(func() error {
		row++
		if r.next() != '[' {
			return r.element(v)
		}
		before := len(v.texts) + len(v.numbers)
		if err := r.array(func() error { return r.element(v) }); err != nil {
			return err
		}
		if n := len(v.texts) + len(v.numbers) - before; n != 1 && v.err == nil {
			v.err = fmt.Errorf("data: %d values in row %d, want 1", n, row)
		}
		return nil
	})
}

// element reads one value of a tensor.
func (r *jsonReader) element(v *jsonValues) error {
	c := r.next()
	switch {
	case v.err != nil: // the rest must still be JSON
		return r.skip()
	case c == '"':
		s, err := r.string()
		v.texts = append(v.texts, s)
		return err
	case c == '-' || '0' <= c && c <= '9':
		begin := r.at
		for r.at < len(r.text) && strings.IndexByte("+-.eE0123456789", r.text[r.at]) >= 0 {
			r.at++
		}
		number := r.text[begin:r.at]
		x, err := strconv.ParseFloat(number, 32)
		if !isJSONNumber(number) {
			r.at = begin
			return r.fail()
		}
		if err != nil {
			v.err = fmt.Errorf("data: %s is no FP32", shortened(number))
		}
		v.numbers, v.written = append(v.numbers, float32(x)), append(v.written, number)
		return nil
	case strings.HasPrefix(r.text[r.at:], "true"), strings.HasPrefix(r.text[r.at:], "false"):
		v.truths++
		isTrue, x := r.text[r.at] == 't', float32(0)
		if r.at += len("false"); isTrue {
			r.at, x = r.at-1, 1
		}
		v.numbers, v.written = append(v.numbers, x), append(v.written, strconv.FormatBool(isTrue))
		return nil
	case strings.HasPrefix(r.text[r.at:], "null"):
		r.at += len("null")
		v.numbers, v.written = append(v.numbers, float32(math.NaN())), append(v.written, "null")
		return nil
	}
	v.err = fmt.Errorf("data: value %d is neither a text nor a number", len(v.texts)+len(v.numbers)+1)
	return r.skip()
}

// isJSONNumber says whether a text is a number in JSON's grammar, which has no +1, 01, 1. and .5.
func isJSONNumber(text string) bool {
	digits := func() (n int) {
		for ; n < len(text) && '0' <= text[n] && text[n] <= '9'; n++ {
		}
		return n
	}
	text = strings.TrimPrefix(text, "-")
	n := digits()
	if n == 0 || n > 1 && text[0] == '0' {
		return false
	}
	text = text[n:]
	if rest, ok := strings.CutPrefix(text, "."); ok {
		if text = rest; digits() == 0 {
			return false
		}
		text = text[digits():]
	}
	if text != "" && (text[0] == 'e' || text[0] == 'E') {
		if text = text[1:]; text != "" && (text[0] == '+' || text[0] == '-') {
			text = text[1:]
		}
		n = digits()
		return n > 0 && n == len(text)
	}
	return text == ""
}

// shortened returns at most 40 bytes of a number, for messages.
func shortened(number string) string {
	const longest = 40
	if len(number) > longest {
		return number[:longest] + "…"
	}
	return number
}

// textsOf returns the texts, if all values are.
func (v *jsonValues) textsOf() ([]string, error) {
	if v.err == nil && len(v.numbers) > 0 {
		return nil, errors.New("data: a value is a number, true, false or null, want texts")
	}
	return v.texts, v.err
}

// numbersOf returns the numbers, if all values are.
func (v *jsonValues) numbersOf() ([]float32, error) {
	switch {
	case v.err == nil && len(v.texts) > 0:
		return nil, errors.New("data: a value is a text, want numbers")
	case v.err == nil && v.truths > 0:
		return nil, errors.New("data: a value is true or false, want numbers")
	}
	return v.numbers, v.err
}

// appendJSON appends numbers in JSON, with null for what JSON has no number for.
func appendJSON(to []byte, values []float32) []byte {
	to = append(to, '[')
	for i, value := range values {
		if i > 0 {
			to = append(to, ',')
		}
		if x := float64(value); math.IsNaN(x) || math.IsInf(x, 0) {
			to = append(to, "null"...)
		} else {
			to = strconv.AppendFloat(to, x, 'g', -1, 32)
		}
	}
	return append(to, ']')
}
