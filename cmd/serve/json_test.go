package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// Values that mean nothing are not kept, and what is kept takes at most twenty times the bytes of a request.
func TestMemoryOfRequests(t *testing.T) {
	const size = 1 << 20
	for _, c := range []struct {
		begin, value, end string
		most              uint64 // bytes allocated for each byte of the request, garbage included
		want              string
	}{
		{`{"more":[`, "[],", "0]}", 4, ""},
		{`{"inputs":[{"data":{"more":[`, "[],", "0]}}]}", 4, ""},
		{`{"inputs":[{"more":[`, "[],", "0]}]}", 4, ""},
		{`{"inputs":[{"data":[`, "0,", "0]}]}", 100, ""},
		{`{"inputs":[{"data":[`, `"",`, `""]}]}`, 100, ""},
		{`{"outputs":[`, "{},", "{}]}", 100, ""},
		{`{"inputs":[`, "{},", "{}]}", 100, "more than 100000 inputs"},
	} {
		text := c.begin + strings.Repeat(c.value, size/len(c.value)) + c.end
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		q, inputs, sizes, err := readRequest(text)
		runtime.ReadMemStats(&after)
		if got := (after.TotalAlloc - before.TotalAlloc) / size; got > c.most {
			t.Errorf("%s%s…: %d bytes for each of the request, want %d", c.begin, c.value, got, c.most)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		if got := int64(after.HeapAlloc-before.HeapAlloc) / size; got > 20 {
			t.Errorf("%s%s…: %d bytes are kept for each of the request", c.begin, c.value, got)
		}
		if (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
			t.Errorf("%s%s…: %v", c.begin, c.value, err)
		}
		runtime.KeepAlive([]any{text, q, inputs, sizes})
	}
}

// A number is one if encoding/json takes it, for all texts of up to six characters that numbers have.
func TestNumbersAreThoseOfJSON(t *testing.T) {
	texts, numbers := []string{""}, 0
	for at := 0; at < len(texts); at++ {
		text := texts[at]
		want := json.Valid([]byte(text))
		if got := isJSONNumber(text); got != want {
			t.Errorf("%q is a number: %t, want %t", text, got, want)
		}
		if want {
			numbers++
		}
		for _, c := range "01.e+-" {
			if len(text) < 6 {
				texts = append(texts, text+string(c))
			}
		}
	}
	if numbers < 100 {
		t.Errorf("%d of %d texts are numbers", numbers, len(texts))
	}
}

// What reading a tensor of 1000 texts costs, here and by encoding/json.
func BenchmarkTexts(b *testing.B) {
	var texts []string
	for i := range 1000 {
		texts = append(texts, fmt.Sprintf(`"%016x"`, uint64(i)*0x9e3779b97f4a7c15))
	}
	text := "[" + strings.Join(texts, ",") + "]"
	b.Run("here", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			if v, err := (&jsonReader{text: text}).values(); err != nil || len(v.texts) != 1000 {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding/json", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			var all []string
			if err := json.Unmarshal([]byte(text), &all); err != nil {
				b.Fatal(err)
			}
		}
	})
}
