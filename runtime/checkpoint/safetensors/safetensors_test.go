package safetensors_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"tandem/internal/pythontest"
	"tandem/runtime/checkpoint/safetensors"
)

// sample returns tensors of several types, and their file.
func sample(t testing.TB) ([]safetensors.Tensor, []byte) {
	t.Helper()
	tensors := []safetensors.Tensor{
		safetensors.Floats("layer.0 \"weight\"", []float32{1, -2, 0.5, 3, 4, -0.25}, 2, 3),
		{Name: "steps", Type: safetensors.I64, Shape: []int{}, Data: []byte{7, 0, 0, 0, 0, 0, 0, 0}},
		{Name: "half", Type: safetensors.F16, Shape: []int{1, 2}, Data: []byte{0, 0x3c, 0, 0xc0}},
		{Name: "brain", Type: safetensors.BF16, Shape: []int{1}, Data: []byte{0x80, 0x3f}},
		{Name: "marks", Type: safetensors.U8, Shape: []int{3}, Data: []byte{1, 0, 1}},
		safetensors.Floats("nothing", nil, 0),
	}
	var out bytes.Buffer
	if err := safetensors.Write(&out, tensors, map[string]string{"mode": "sync"}); err != nil {
		t.Fatal(err)
	}
	return tensors, out.Bytes()
}

func TestReadReturnsWhatWasWritten(t *testing.T) {
	tensors, data := sample(t)
	f, err := safetensors.Read(data)
	if err != nil {
		t.Fatal(err)
	}
	if f.Metadata["mode"] != "sync" || len(f.Tensors) != len(tensors) {
		t.Fatalf("%d tensors, metadata %v", len(f.Tensors), f.Metadata)
	}
	for _, want := range tensors {
		got, err := f.Tensor(want.Name)
		if err != nil {
			t.Fatal(err)
		}
		if got.Type != want.Type || !reflect.DeepEqual(got.Shape, want.Shape) ||
			!bytes.Equal(got.Data, want.Data) {
			t.Errorf("%+v, want %+v", *got, want)
		}
	}
	if values, err := f.Tensors[0].Floats(); err != nil || values[1] != -2 {
		t.Errorf("%v, error %v", values, err)
	}
	if _, err := f.Tensors[1].Floats(); err == nil {
		t.Error("whole numbers are read as float32")
	}
}

func TestWriteRefuses(t *testing.T) {
	one := safetensors.Floats("a", []float32{1}, 1)
	for name, tensors := range map[string][]safetensors.Tensor{
		"a name twice":         {one, one},
		"a wrong length":       {{Name: "a", Type: safetensors.F32, Shape: []int{2}, Data: make([]byte, 4)}},
		"an unknown type":      {{Name: "a", Type: "F8", Shape: []int{1}, Data: make([]byte, 1)}},
		"the name of metadata": {safetensors.Floats("__metadata__", []float32{1}, 1)},
	} {
		if err := safetensors.Write(&bytes.Buffer{}, tensors, nil); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// The safetensors module of Python reads the same numbers.
func TestPythonReadsFiles(t *testing.T) {
	python := pythontest.With(t, "safetensors, torch")
	_, data := sample(t)
	name := filepath.Join(t.TempDir(), "dense.safetensors")
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
	const script = `
import json, sys
from safetensors import safe_open
with safe_open(sys.argv[1], "pt") as f:
    print(json.dumps({k: [str(f.get_tensor(k).dtype), f.get_tensor(k).tolist()] for k in f.keys()}
        | {"mode": [f.metadata()["mode"]]}))
`
	out := python.Run(t, nil, "-c", script, name)
	var got map[string]any
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	list := func(v ...any) []any { return v }
	want := map[string]any{
		"mode":               list("sync"),
		"layer.0 \"weight\"": list("torch.float32", list(list(1., -2., .5), list(3., 4., -.25))),
		"steps":              list("torch.int64", 7.),
		"half":               list("torch.float16", list(list(1., -2.))),
		"brain":              list("torch.bfloat16", list(1.)),
		"marks":              list("torch.uint8", list(1., 0., 1.)),
		"nothing":            list("torch.float32", []any{}),
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("Python reads %v, want %v", got, want)
	}
}

// Damaged files are an error or have tensors that fit their shapes; no input crashes the reader.
func FuzzRead(f *testing.F) {
	_, data := sample(f)
	f.Add(data)
	f.Add([]byte("\x02\x00\x00\x00\x00\x00\x00\x00{}"))
	for at := 0; at < len(data); at += 7 {
		broken := bytes.Clone(data)
		broken[at] ^= 0x11
		f.Add(broken)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := safetensors.Read(data)
		if err != nil {
			return
		}
		for _, tensor := range file.Tensors {
			n := tensor.Type.Size()
			for _, size := range tensor.Shape {
				n *= size
			}
			if n != len(tensor.Data) {
				t.Fatalf("%d bytes of %s %v", len(tensor.Data), tensor.Type, tensor.Shape)
			}
		}
	})
}
