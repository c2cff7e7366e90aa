package batch

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
)

// Numbers are found by their ids, others are 0, and all of it survives JSON.
func TestIDValues(t *testing.T) {
	of := map[uint64]float32{0: 2, 7: -1.5, math.MaxUint64: 0.25, 1 << 40: 3}
	v := NewIDValues(of)
	text, err := json.Marshal(struct {
		V IDValues `json:"v,omitempty"`
	}{v})
	if err != nil {
		t.Fatal(err)
	}
	var read struct{ V IDValues }
	if err := json.Unmarshal(text, &read); err != nil || read.V != v || v.Len() != len(of) {
		t.Fatalf("%s: %v, equal: %t", text, err, read.V == v)
	}
	for id, want := range of {
		if got := read.V.Of(id); got != want {
			t.Errorf("id %d: %v, want %v", id, got, want)
		}
	}
	for _, id := range []uint64{1, 6, 8, math.MaxUint64 - 1} {
		if got := read.V.Of(id); got != 0 {
			t.Errorf("id %d: %v, want 0", id, got)
		}
	}
	if got := IDValues("").Of(3); got != 0 {
		t.Errorf("of no ids: %v", got)
	}
}

// A damaged text is an error.
func TestIDValuesAreChecked(t *testing.T) {
	good := string(NewIDValues(map[uint64]float32{1: 1, 2: 2}))
	for want, text := range map[string]string{
		"13 bytes": good[:13], "ascend": good[12:] + good[:12],
		"NaN": string(NewIDValues(map[uint64]float32{1: float32(math.NaN())})),
	} {
		coded, err := IDValues(text).MarshalText()
		var v IDValues
		if err == nil {
			err = v.UnmarshalText(coded)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if err := new(IDValues).UnmarshalText([]byte("!")); err == nil {
		t.Error("no error for a text that is not base64")
	}
}
