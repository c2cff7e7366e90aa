package tfevents

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tandem/internal/pythontest"
)

// The checksum of RFC 3720, B.4: 32 zeros have the CRC32C 0x8a9136aa. Rotated by 15 bits and moved by the
// constant of TFRecord it is 0x48d354c8 + 0xa282ead8.
func TestMaskedChecksum(t *testing.T) {
	rotated := uint32(0x8a9136aa>>15 | 0x8a9136aa<<17&0xffffffff)
	if got, want := maskedChecksum(make([]byte, 32)), rotated+0xa282ead8; got != want {
		t.Errorf("%08x, want %08x", got, want)
	}
}

type buffer struct{ bytes.Buffer }

func (*buffer) Close() error { return nil }

// The bytes of an event with a scalar, field by field.
func TestScalarBytes(t *testing.T) {
	var file buffer
	w := newWriter(&file)
	if err := w.Scalars(time.Unix(2, 0), 300, Scalar{"a", 1}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	data := "090000000000000040" + // 1, fixed64: 2 s
		"10ac02" + // 2, varint: 300
		"2a0a" + "0a08" + // 5, 10 bytes: 1, 8 bytes
		"0a0161" + "150000803f" // 1: "a"; 2, fixed32: 1
	got := hex.EncodeToString(file.Bytes())
	if !strings.HasPrefix(got, "1800000000000000") || got[24:len(got)-8] != data {
		t.Errorf("record %s, want the length 24 and the data %s", got, data)
	}
}

const reader = `
import json, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
a = EventAccumulator(sys.argv[1], size_guidance={"histograms": 0, "scalars": 0})
a.Reload()
print(json.dumps({
    "scalars": {t: [[s.step, s.value, s.wall_time] for s in a.Scalars(t)] for t in a.Tags()["scalars"]},
    "histograms": {t: [[h.step, h.histogram_value.min, h.histogram_value.max, h.histogram_value.num,
        h.histogram_value.sum, h.histogram_value.sum_squares, list(h.histogram_value.bucket_limit),
        list(h.histogram_value.bucket)] for h in a.Histograms(t)] for t in a.Tags()["histograms"]},
}))
`

// TensorBoard's own reader, which checks the checksums, finds what was written.
func TestTensorBoardReads(t *testing.T) {
	python := pythontest.With(t, "tensorboard")
	folder := filepath.Join(t.TempDir(), "sync")
	w, err := Create(folder, time.Unix(1000, 5e8))
	if err != nil {
		t.Fatal(err)
	}
	for step := range 3 {
		at := time.Unix(int64(1001+step), 0)
		err := w.Scalars(at, step*1000, Scalar{"loss", 0.5 / float64(step+1)}, Scalar{"auc", 0.75})
		if err != nil {
			t.Fatal(err)
		}
	}
	counts := map[int]uint64{0: 7, 3: 2, 10: 1}
	all := func(yield func(int, uint64) bool) {
		for _, value := range slices.Sorted(maps.Keys(counts)) {
			if !yield(value, counts[value]) {
				return
			}
		}
	}
	if err := w.Histogram(time.Unix(1004, 0), 2000, "staleness", all); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	text := python.Run(t, nil, "-c", reader, folder)
	var got struct {
		Scalars    map[string][][]float64
		Histograms map[string][][]any
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	for step, point := range got.Scalars["loss"] {
		if point[0] != float64(step*1000) || math.Abs(point[1]-0.5/float64(step+1)) > 1e-7 ||
			point[2] != float64(1001+step) {
			t.Errorf("loss %d: %v", step, point)
		}
	}
	if len(got.Scalars["loss"]) != 3 || len(got.Scalars["auc"]) != 3 || len(got.Scalars) != 2 {
		t.Errorf("scalars %v", got.Scalars)
	}
	histograms, err := json.Marshal(got.Histograms["staleness"])
	if err != nil {
		t.Fatal(err)
	}
	// 7×0 + 2×3 + 1×10 = 16; 2×9 + 100 = 118
	if want := `[[2000,0,10,10,16,118,[0.5,3.5,10.5],[7,2,1]]]`; string(histograms) != want {
		t.Errorf("histogram %s, want %s", histograms, want)
	}
}

// A histogram without values writes nothing.
func TestEmptyHistogram(t *testing.T) {
	var file buffer
	w := newWriter(&file)
	if err := w.Histogram(time.Unix(1, 0), 1, "none", func(func(int, uint64) bool) {}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil || file.Len() != 0 {
		t.Errorf("%d bytes, error %v", file.Len(), err)
	}
}
