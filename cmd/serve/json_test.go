package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

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
