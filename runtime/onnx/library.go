//go:build !static && (linux || darwin) && (amd64 || arm64)

package onnx

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
)

// Places of functions in the table OrtApi, which versions only append to. Source:
// github.com/microsoft/onnxruntime, onnxruntime_c_api.h.
const (
	getErrorMessage        = 2
	createEnv              = 3
	createSessionFromArray = 8
	run                    = 9
	createSessionOptions   = 10
	setIntraOpNumThreads   = 24
	createTensorWithData   = 49
	createCPUMemoryInfo    = 69
	releaseStatus          = 93
	releaseSession         = 95
	releaseValue           = 96
	releaseSessionOptions  = 100
	functions              = 101
)

// Arguments of these functions.
const (
	apiVersion     = 1 // the first, which every version of the library has
	logErrors      = 3
	arenaAllocator = 1
	defaultMemory  = 0
)

// Library is onnxruntime. It stays open.
type Library struct {
	version string
	table   *[functions]uintptr
	env     uintptr
	memory  uintptr // OrtMemoryInfo of this process
}

var opened struct {
	mu    sync.Mutex
	byKey map[string]*Library
}

// Open opens onnxruntime: a file, or if it has no name, the library that the system finds. The error says why
// there is none.
func Open(file string) (*Library, error) {
	opened.mu.Lock()
	defer opened.mu.Unlock()
	if l := opened.byKey[file]; l != nil {
		return l, nil
	}
	files := []string{file}
	if file == "" {
		files = []string{"libonnxruntime.so.1", "libonnxruntime.so"}
		if runtime.GOOS == "darwin" {
			files = []string{"libonnxruntime.dylib"}
		}
	}
	runtime.LockOSThread() // C keeps the reason of a failure for the thread that failed
	defer runtime.UnlockOSThread()
	var failed []string
	for _, name := range files {
		handle, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
		if err != nil {
			failed = append(failed, err.Error())
			continue
		}
		l, err := newLibrary(handle)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if opened.byKey == nil {
			opened.byKey = map[string]*Library{}
		}
		opened.byKey[file] = l
		return l, nil
	}
	return nil, errors.New(strings.Join(failed, "; "))
}

// base is the struct OrtApiBase.
type base struct{ getAPI, getVersion uintptr }

func newLibrary(handle uintptr) (*Library, error) {
	symbol, err := purego.Dlsym(handle, "OrtGetApiBase")
	if err != nil {
		return nil, errors.New("it is not onnxruntime: it has no OrtGetApiBase")
	}
	b := (*base)(pointer(call(symbol)))
	l := &Library{version: text(call(b.getVersion))}
	table := call(b.getAPI, apiVersion)
	if table == 0 {
		return nil, fmt.Errorf("onnxruntime %s does not have its first interface", l.version)
	}
	l.table = (*[functions]uintptr)(pointer(table))
	id := cString("tandem")
	err = l.do(createEnv, logErrors, uintptr(unsafe.Pointer(&id[0])), uintptr(unsafe.Pointer(&l.env)))
	if err != nil {
		return nil, err
	}
	return l, l.do(createCPUMemoryInfo, arenaAllocator, defaultMemory, uintptr(unsafe.Pointer(&l.memory)))
}

// Version returns the version of onnxruntime.
func (l *Library) Version() string { return l.version }

// newSession returns a session, which release ends, of a model in the format of ONNX.
func (l *Library) newSession(model []byte) (session uintptr, err error) {
	var options uintptr
	if err := l.do(createSessionOptions, uintptr(unsafe.Pointer(&options))); err != nil {
		return 0, err
	}
	defer l.release(releaseSessionOptions, options)
	if err := l.do(setIntraOpNumThreads, options, 1); err != nil {
		return 0, err
	}
	err = l.do(createSessionFromArray, l.env, uintptr(unsafe.Pointer(&model[0])), uintptr(len(model)),
		options, uintptr(unsafe.Pointer(&session)))
	return session, err
}

// tensors are the inputs and the output of a run: matrices.
type tensors struct {
	names  [3]*byte // for C
	values [3]uintptr
	shapes [3][2]int64
	count  int
}

// add adds a matrix, which must not move or be freed until release.
func (t *tensors) add(l *Library, name []byte, rows, columns int, values []float32) error {
	i := t.count
	t.names[i], t.shapes[i] = &name[0], [2]int64{int64(rows), int64(columns)}
	err := l.do(createTensorWithData, l.memory, uintptr(unsafe.Pointer(unsafe.SliceData(values))),
		uintptr(4*len(values)), uintptr(unsafe.Pointer(&t.shapes[i])), 2, floatTensor,
		uintptr(unsafe.Pointer(&t.values[i])))
	if err == nil {
		t.count++
	}
	return err
}

// run computes the last of the tensors from the others. T must be on the heap.
func (t *tensors) run(l *Library, session uintptr) error {
	last := t.count - 1
	return l.do(run, session, 0, uintptr(unsafe.Pointer(&t.names[0])), uintptr(unsafe.Pointer(&t.values[0])),
		uintptr(last), uintptr(unsafe.Pointer(&t.names[last])), 1, uintptr(unsafe.Pointer(&t.values[last])))
}

// release forgets the tensors.
func (t *tensors) release(l *Library) {
	for i := range t.count {
		l.release(releaseValue, t.values[i])
	}
	t.count = 0
}

// release calls a function that frees an object.
func (l *Library) release(function int, object uintptr) { call(l.table[function], object) }

// do calls a function that returns a status, as an error that has its first line.
//
//go:uintptrescapes
func (l *Library) do(function int, arguments ...uintptr) error {
	status, _, _ := purego.SyscallN(l.table[function], arguments...)
	if status == 0 {
		return nil
	}
	defer l.release(releaseStatus, status)
	line, _, _ := strings.Cut(text(call(l.table[getErrorMessage], status)), "\n")
	return fmt.Errorf("onnxruntime %s: %s", l.version, line)
}

// call calls a C function of integers and pointers. The directive keeps the memory that arguments point to
// alive, and on the heap, since stacks move.
//
//go:uintptrescapes
func call(function uintptr, arguments ...uintptr) uintptr {
	result, _, _ := purego.SyscallN(function, arguments...)
	return result
}

// pointer converts an address that C returned into a pointer. The garbage collector does not manage the
// memory.
func pointer(address uintptr) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&address))
}

// text copies a C string.
func text(address uintptr) string {
	start := (*byte)(pointer(address))
	length := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(start), length)) != 0 {
		length++
	}
	return string(unsafe.Slice(start, length))
}
