// Package safetensors writes and reads files of the safetensors format: named arrays of numbers behind a
// header in JSON.
//
// The data of a file begin at a multiple of 64 bytes, so that a file that is mapped into memory can be read
// in place.
//
// Source: "Safetensors", https://huggingface.co/docs/safetensors, section "Format".
package safetensors

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// Type is the type of the numbers of a tensor, by the name that the format gives it.
type Type string

// The types that this package knows.
const (
	F64  Type = "F64"
	F32  Type = "F32"
	F16  Type = "F16"
	BF16 Type = "BF16"
	I64  Type = "I64"
	I32  Type = "I32"
	U64  Type = "U64"
	U32  Type = "U32"
	U16  Type = "U16"
	U8   Type = "U8"
)

// Size returns the bytes of a number, or 0 for an unknown type.
func (t Type) Size() int {
	switch t {
	case F64, I64, U64:
		return 8
	case F32, I32, U32:
		return 4
	case F16, BF16, U16:
		return 2
	case U8:
		return 1
	}
	return 0
}

// Tensor is a named array.
type Tensor struct {
	Name  string
	Type  Type
	Shape []int
	Data  []byte // numbers in little-endian order, row-major
}

// Floats returns a tensor of float32 numbers. It panics if the shape has another number of elements.
func Floats(name string, values []float32, shape ...int) Tensor {
	if n, _ := elements(shape); n != len(values) {
		panic(fmt.Sprintf("safetensors: %d values of shape %v", len(values), shape))
	}
	data := make([]byte, 0, 4*len(values))
	for _, v := range values {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	return Tensor{name, F32, shape, data}
}

// Floats returns the values of a tensor of float32 numbers.
func (t *Tensor) Floats() ([]float32, error) {
	if t.Type != F32 {
		return nil, fmt.Errorf("tensor %s has type %s, want %s", t.Name, t.Type, F32)
	}
	values := make([]float32, len(t.Data)/4)
	for i := range values {
		values[i] = math.Float32frombits(binary.LittleEndian.Uint32(t.Data[4*i:]))
	}
	return values, nil
}

// elements returns the number of elements of a shape; false if it is not valid or above 2⁴⁰.
func elements(shape []int) (n int, ok bool) {
	n = 1
	for _, size := range shape {
		if size < 0 || size > 1<<40 || n > 0 && size > (1<<40)/n {
			return 0, false
		}
		n *= size
	}
	return n, true
}

// metadataKey is the name in the header that holds no tensor.
const metadataKey = "__metadata__"

// entry is what the header says of a tensor.
type entry struct {
	Type    Type   `json:"dtype"`
	Shape   []int  `json:"shape"`
	Offsets [2]int `json:"data_offsets"`
}

// headerLimit is the largest header that the format allows.
const headerLimit = 100_000_000

// Write writes a file of tensors, in their order, with metadata.
func Write(out io.Writer, tensors []Tensor, metadata map[string]string) error {
	var header bytes.Buffer
	header.WriteByte('{')
	put := func(name string, value any) error {
		if header.Len() > 1 {
			header.WriteByte(',')
		}
		key, _ := json.Marshal(name) // a string is always valid
		text, err := json.Marshal(value)
		header.Write(append(append(key, ':'), text...))
		return err
	}
	if len(metadata) > 0 {
		if err := put(metadataKey, metadata); err != nil {
			return err
		}
	}
	at, seen := 0, map[string]bool{metadataKey: true}
	for _, t := range tensors {
		if n, ok := elements(t.Shape); !ok || n*t.Type.Size() != len(t.Data) || seen[t.Name] {
			return fmt.Errorf("safetensors: tensor %q of type %s, shape %v and %d bytes", t.Name, t.Type,
				t.Shape, len(t.Data))
		}
		seen[t.Name] = true
		shape := append([]int{}, t.Shape...) // [] for a number, not null
		if err := put(t.Name, entry{t.Type, shape, [2]int{at, at + len(t.Data)}}); err != nil {
			return err
		}
		at += len(t.Data)
	}
	header.WriteByte('}')
	header.WriteString(strings.Repeat(" ", -(8+header.Len())&63))
	if _, err := out.Write(binary.LittleEndian.AppendUint64(nil, uint64(header.Len()))); err != nil {
		return err
	}
	if _, err := out.Write(header.Bytes()); err != nil {
		return err
	}
	for _, t := range tensors {
		if _, err := out.Write(t.Data); err != nil {
			return err
		}
	}
	return nil
}

// File is a file that is read.
type File struct {
	Metadata map[string]string
	Tensors  []Tensor // in the order of their data
}

// Tensor returns the tensor of a name, or an error.
func (f *File) Tensor(name string) (*Tensor, error) {
	i := slices.IndexFunc(f.Tensors, func(t Tensor) bool { return t.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("there is no tensor %s", name)
	}
	return &f.Tensors[i], nil
}

// Read returns the tensors of a file, which it checks but does not copy: data must not change while the
// result is in use.
func Read(data []byte) (*File, error) {
	if len(data) < 8 {
		return nil, errors.New("this is not a safetensors file: it has no header")
	}
	length := binary.LittleEndian.Uint64(data)
	if length > headerLimit || length > uint64(len(data)-8) {
		return nil, fmt.Errorf("this is not a safetensors file: a header of %d bytes in %d", length,
			len(data))
	}
	header, body := data[8:8+length], data[8+length:]
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(header, &raw); err != nil {
		return nil, fmt.Errorf("the header is damaged: %w", err)
	}
	f, starts := new(File), []int{}
	for name, text := range raw { // order-free: sorted below
		if name == metadataKey {
			if err := json.Unmarshal(text, &f.Metadata); err != nil {
				return nil, fmt.Errorf("the metadata are damaged: %w", err)
			}
			continue
		}
		var e entry
		if err := json.Unmarshal(text, &e); err != nil {
			return nil, fmt.Errorf("the entry of tensor %q is damaged: %w", name, err)
		}
		n, ok := elements(e.Shape)
		lo, hi := e.Offsets[0], e.Offsets[1]
		if !ok || e.Type.Size() == 0 || lo < 0 || hi > len(body) || hi-lo != n*e.Type.Size() {
			return nil, fmt.Errorf("tensor %q of type %s and shape %v at bytes %d to %d of %d", name, e.Type,
				e.Shape, lo, hi, len(body))
		}
		f.Tensors, starts = append(f.Tensors, Tensor{name, e.Type, e.Shape, body[lo:hi:hi]}),
			append(starts, lo)
	}
	return f, f.sort(starts, len(body))
}

// sort sorts tensors by where their data start, and returns an error if data overlap or have gaps.
func (f *File) sort(starts []int, length int) error {
	order := make([]int, len(starts))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		if starts[i] != starts[j] {
			return starts[i] - starts[j]
		}
		if a, b := len(f.Tensors[i].Data), len(f.Tensors[j].Data); a != b {
			return a - b
		}
		return strings.Compare(f.Tensors[i].Name, f.Tensors[j].Name)
	})
	at, sorted := 0, make([]Tensor, 0, len(order))
	for _, i := range order {
		if starts[i] != at {
			return fmt.Errorf("the data of tensor %q start at %d, want %d", f.Tensors[i].Name, starts[i], at)
		}
		at += len(f.Tensors[i].Data)
		sorted = append(sorted, f.Tensors[i])
	}
	if at != length {
		return fmt.Errorf("the tensors take %d bytes, and the file has %d", at, length)
	}
	f.Tensors = sorted
	return nil
}
