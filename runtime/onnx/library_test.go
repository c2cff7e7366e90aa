//go:build !static && (linux || darwin) && (amd64 || arm64)

package onnx

import (
	"math"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"

	"tandem/algo/numeric/model"
	"tandem/internal/moduletest"
)

// simple stands for onnxruntime: its sessions add the embeddings of a sample, and 100 times its numbers.
type simple struct {
	t        *testing.T
	tensors  map[uintptr]tensorOfC
	fails    int       // the function that fails
	options  int       // that are not released
	released []uintptr // sessions and statuses
	size     int       // of the model in bytes
	next     uintptr
}

// tensorOfC is a tensor in the memory of its caller.
type tensorOfC struct {
	values        []float32
	rows, columns int
}

const failedStatus, sessionOfC = 4242, 77

// at returns the value at an address.
func at[T any](address uintptr) *T { return (*T)(pointer(address)) }

// library returns a Library whose functions are those of simple.
func (s *simple) library() *Library {
	l := &Library{version: "9.9", table: new([functions]uintptr), env: 5, memory: 6}
	message := cString("it is full\nof details")
	for number, function := range map[int]any{
		createSessionOptions: func(out uintptr) uintptr {
			s.options++
			*at[uintptr](out) = 8
			return s.status(createSessionOptions)
		},
		setIntraOpNumThreads: func(options, n uintptr) uintptr {
			s.expect("threads", options == 8 && n == 1)
			return s.status(setIntraOpNumThreads)
		},
		createSessionFromArray: func(env, data, size, options, out uintptr) uintptr {
			s.expect("a session", env == 5 && options == 8 && size > 0)
			s.size = int(size)
			*at[uintptr](out) = sessionOfC
			return s.status(createSessionFromArray)
		},
		createTensorWithData: func(memory, data, size, shape, dims, kind, out uintptr) uintptr {
			s.expect("a tensor", memory == 6 && dims == 2 && kind == floatTensor)
			d := at[[2]int64](shape)
			one := tensorOfC{unsafe.Slice(at[float32](data), size/4), int(d[0]), int(d[1])}
			s.expect("the bytes of a tensor", int(size) == 4*one.rows*one.columns)
			if status := s.status(createTensorWithData); status != 0 {
				return status
			}
			s.next++
			s.tensors[s.next] = one
			*at[uintptr](out) = s.next
			return 0
		},
		run:          s.run,
		releaseValue: func(value uintptr) uintptr { delete(s.tensors, value); return 0 },
		releaseSession: func(object uintptr) uintptr {
			s.released = append(s.released, object)
			return 0
		},
		releaseStatus: func(object uintptr) uintptr {
			s.released = append(s.released, object)
			return 0
		},
		releaseSessionOptions: func(uintptr) uintptr { s.options--; return 0 },
		getErrorMessage: func(status uintptr) uintptr {
			s.expect("a status", status == failedStatus)
			return uintptr(unsafe.Pointer(&message[0]))
		},
	} {
		l.table[number] = purego.NewCallback(function)
	}
	return l
}

// expect fails the test unless the arguments of a function are what they must be.
func (s *simple) expect(what string, holds bool) {
	if !holds {
		s.t.Errorf("the arguments for %s are wrong", what)
	}
}

// status returns that of a function.
func (s *simple) status(function int) uintptr {
	if function == s.fails {
		return failedStatus
	}
	return 0
}

// run computes logits.
func (s *simple) run(session, options, names, values, inputs, outNames, outputs, out uintptr) uintptr {
	if status := s.status(run); status != 0 {
		return status
	}
	s.expect("a run", session == sessionOfC && options == 0 && outputs == 1 &&
		text(*at[uintptr](outNames)) == "logits")
	logits := s.tensors[*at[uintptr](out)]
	clear(logits.values)
	for i := range inputs {
		in := s.tensors[at[[3]uintptr](values)[i]]
		name := text(at[[3]uintptr](names)[i])
		s.expect(name, in.rows == logits.rows && name == []string{"embeddings", "numbers"}[i])
		for k, v := range in.values {
			row := k / in.columns * logits.columns
			logits.values[row] += v * []float32{1, 100}[i]
			logits.values[row+logits.columns-1] += v
		}
	}
	return 0
}

// A pass gives the library the matrices of its samples, and forgets them, and has what it computes.
func TestLibraryIsCalledWithMatrices(t *testing.T) {
	for _, numbers := range []int{0, 2} {
		s := &simple{t: t, tensors: map[uintptr]tensorOfC{}}
		l := s.library()
		layout := model.Layout{EmbeddingWidth: 3, DenseWidth: numbers, Labels: 2}
		graph := moduletest.GraphOf(2, 1, 1, nil)
		e, err := l.Engine(graph, layout, values)
		if err != nil {
			t.Fatal(err)
		}
		filled, err := fill(graph, values)
		if err != nil || s.size != len(filled) || s.options != 0 || len(s.tensors) != 0 ||
			e.Layout().Labels != 2 {
			t.Errorf("a session of %d bytes, want %d; %d options and %d tensors are left", s.size,
				len(filled),
				s.options, len(s.tensors))
		}
		p := e.NewPass(4).(*pass)
		in := model.Input{Samples: 2, Embeddings: []float32{1, 2, 3, 4, 5, 6}, Dense: []float32{1, 2, 3,
			4}[:2*numbers]}
		want := map[int][]float32{0: {6, 6, 15, 15}, 2: {306, 9, 715, 22}}[numbers]
		for range 2 { // as after another group
			got, loss := p.Forward(nil, nil, in, false)
			if !slices.Equal(got, want) || loss != 0 || p.Err() != nil || len(s.tensors) != 0 {
				t.Errorf("logits %v, want %v; %d tensors are left", got, want, len(s.tensors))
			}
		}
		if got, _ := p.Forward(nil, nil, model.Input{}, false); len(got) != 0 {
			t.Errorf("logits %v of no sample", got)
		}
		for _, function := range []int{createTensorWithData, run} {
			s.fails, s.released = function, nil
			got, _ := p.Forward(nil, nil, in, false)
			err := p.Err()
			if err == nil || err.Error() != "onnxruntime 9.9: it is full" || len(s.tensors) != 0 ||
				!slices.Equal(s.released, []uintptr{failedStatus}) || len(got) != 4 {
				t.Errorf("function %d fails: %v, %d tensors are left, released %v", function, err,
					len(s.tensors),
					s.released)
			}
			for _, v := range got {
				if !math.IsNaN(float64(v)) {
					t.Errorf("function %d fails: logits %v", function, got)
				}
			}
			if p.Err() != nil {
				t.Error("an error comes twice")
			}
		}
		for _, function := range []int{createSessionOptions, setIntraOpNumThreads, createSessionFromArray,
			createTensorWithData, run} {
			s.fails = function
			if _, err := l.Engine(graph, layout, values); err == nil || !strings.HasSuffix(err.Error(),
				"it is full") {
				t.Errorf("function %d fails: error %v", function, err)
			}
		}
	}
}
