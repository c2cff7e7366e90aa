package safetensors_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
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

// What a header says of the data is checked: types, shapes, and that the tensors are all of the data, one
// behind the other.
func TestReadRefuses(t *testing.T) {
	one := func(shape, offsets string) string {
		return `"a":{"dtype":"F32","shape":` + shape + `,"data_offsets":` + offsets + `}`
	}
	two := one("[1]", "[0,4]") + `,"b":{"dtype":"U8","shape":[4],"data_offsets":`
	for _, c := range []struct {
		header string
		bytes  int
		want   string // "" if the file is valid
	}{
		{"{" + one("[2]", "[0,8]") + "}", 8, ""},
		{"{" + two + "[4,8]}}", 8, ""},
		{"{" + one("[0]", "[0,0]") + "}", 0, ""},
		{"{" + one("[1099511627776,0]", "[0,0]") + "}", 0, ""},
		{"{}", 0, ""},
		{"{}", 1, "the tensors take 0 bytes, and the file has 1"},
		{"{" + one("[2]", "[0,8]") + "}", 9, "the tensors take 8 bytes, and the file has 9"},
		{"{" + one("[2]", "[0,8]") + "}", 7, `tensor "a" of type F32 and shape [2] at bytes 0 to 8 of 7`},
		{"{" + one("[2]", "[-4,4]") + "}", 8, "at bytes -4 to 4 of 8"},
		{"{" + one("[2]", "[0,4]") + "}", 4, "shape [2] at bytes 0 to 4"},
		{"{" + one("[-2]", "[8,0]") + "}", 8, "shape [-2]"},
		{"{" + one("[1099511627777,0]", "[0,0]") + "}", 0, "shape [1099511627777 0]"},
		{"{" + one("[4294967296,4294967296]", "[0,0]") + "}", 0, "shape [4294967296 4294967296]"},
		{"{" + two + "[5,9]}}", 9, `the data of tensor "b" start at 5, want 4`},
		{"{" + two + "[3,7]}}", 8, `the data of tensor "b" start at 3, want 4`},
		{`{"a":{"dtype":"F8","shape":[1],"data_offsets":[0,1]}}`, 1, "of type F8"},
		{`{"a":7}`, 0, `the entry of tensor "a" is damaged`},
		{`{"__metadata__":7}`, 0, "the metadata are damaged"},
		{`[]`, 0, "the header is damaged"},
	} {
		file := binary.LittleEndian.AppendUint64(nil, uint64(len(c.header)))
		file = append(append(file, c.header...), make([]byte, c.bytes)...)
		_, err := safetensors.Read(file)
		if c.want == "" && err != nil || c.want != "" &&
			(err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s and %d bytes: error %v, want %q", c.header, c.bytes, err, c.want)
		}
	}
	_, data := sample(t)
	for n := range data {
		if _, err := safetensors.Read(data[:n]); err == nil {
			t.Fatalf("%d of %d bytes are a file", n, len(data))
		}
	}
}

// An error of the disk is returned, wherever in the file it comes.
func TestErrorsOfTheDiskAreReturned(t *testing.T) {
	tensors, data := sample(t)
	metadata := map[string]string{"mode": "sync"}
	for n := range data {
		if err := safetensors.Write(&disk{left: n}, tensors, metadata); err == nil {
			t.Fatalf("%d bytes were written on a disk of %d", len(data), n)
		}
	}
}

// disk is a writer with room for some bytes.
type disk struct{ left int }

func (d *disk) Write(p []byte) (int, error) {
	n := min(len(p), d.left)
	if d.left -= n; n < len(p) {
		return n, io.ErrShortWrite
	}
	return n, nil
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
