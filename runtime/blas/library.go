//go:build !static && (linux || darwin) && (amd64 || arm64)

package blas

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"

	"tandem/algo/numeric/kernel/gemm"
	"tandem/algo/numeric/kernel/vec"
)

// library is an opened shared library that can multiply matrices.
type library struct {
	name string // and version, for reports
	// sgemm has the Fortran interface, in which every argument is a pointer;
	// dnnlSgemm and dnnlBF16 have that of oneDNN. Zero if the library lacks it.
	sgemm     uintptr
	dnnlSgemm uintptr
	dnnlBF16  uintptr
	// alone is held during a call if the library is not known to allow concurrent
	// calls; otherwise nil.
	alone *sync.Mutex
}

// openLibrary opens the library called name, one of Names or the path of a shared
// library, and returns its products. Tasks run on the pool, or on the calling goroutine
// if it is nil. The products start no goroutine, and allocate only when more of them run
// at the same time than ever before.
//
// It computes one small product as a check. The error tells whether the library does
// not exist, lacks a function, is too old, or multiplies wrongly. An opened library stays
// open.
func openLibrary(name string, pool gemm.Pool) (gemm.Products, error) {
	runtime.LockOSThread() // C keeps the reason of a failure for the thread that failed
	defer runtime.UnlockOSThread()
	if err := prepareEnvironment(); err != nil {
		return nil, err
	}
	var handle uintptr
	var failed []string
	for _, file := range candidates(name) {
		h, err := purego.Dlopen(file, purego.RTLD_NOW|purego.RTLD_LOCAL)
		if err == nil {
			handle = h
			break
		}
		failed = append(failed, err.Error())
	}
	if handle == 0 {
		return nil, fmt.Errorf("%s: %s", name, strings.Join(failed, "; "))
	}
	l, err := identify(handle)
	if err == nil {
		err = l.try()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if l.dnnlBF16 != 0 {
		return &bf16Capable{newProducts(l, pool)}, nil
	}
	return newProducts(l, pool), nil
}

// identify recognises a library by its symbols, and sets it to one thread.
func identify(handle uintptr) (*library, error) {
	find := func(symbol string) uintptr {
		address, err := purego.Dlsym(handle, symbol)
		if err != nil {
			return 0
		}
		return address
	}
	l := &library{sgemm: find("sgemm_")}
	if version := find("dnnl_version"); version != 0 {
		return l, l.identifyOneDNN(version, find)
	}
	if l.sgemm == 0 {
		return nil, errors.New("has neither sgemm_ nor dnnl_sgemm: " +
			"not a library of matrix products, or one too old")
	}
	if config := find("openblas_get_config"); config != 0 {
		words := strings.Fields(text(call(config)))
		l.name = strings.Join(words[:min(2, len(words))], " ") // name and version, but in old versions
		if core := find("openblas_get_corename"); core != 0 {
			l.name += ", " + text(call(core)) // the processor for which it computes
		}
		callIf(find("openblas_set_num_threads"), 1)
		if parallel := find("openblas_get_parallel"); parallel == 0 || call(parallel) == 0 {
			l.alone = new(sync.Mutex) // built for one thread, perhaps without locks
		}
		return l, nil
	}
	if version := find("MKL_Get_Version_String"); version != 0 {
		buffer := make([]byte, 200)
		call(version, uintptr(unsafe.Pointer(&buffer[0])), uintptr(len(buffer)-1))
		said, _, _ := bytes.Cut(buffer, []byte{0})
		l.name = string(bytes.TrimSpace(said))
		callIf(find("MKL_Set_Num_Threads"), 1)
		return l, nil
	}
	if version := find("bli_info_get_version_str"); version != 0 {
		l.name = "BLIS " + text(call(version))
		callIf(find("bli_thread_set_num_threads"), 1)
		return l, nil
	}
	l.name, l.alone = "a BLAS of unknown make", new(sync.Mutex)
	return l, nil
}

// dnnlMajorLeast is the oldest major version of oneDNN that is known to work: 2.0 is from
// December 2020.
const dnnlMajorLeast = 2

func (l *library) identifyOneDNN(version uintptr, find func(string) uintptr) error {
	v := (*struct{ major, minor, patch int32 })(pointer(call(version)))
	l.name = fmt.Sprintf("oneDNN %d.%d.%d", v.major, v.minor, v.patch)
	if v.major < dnnlMajorLeast {
		return fmt.Errorf("%s is too old, want %d.0 or later", l.name, dnnlMajorLeast)
	}
	if mixed == 0 {
		return fmt.Errorf("%s can be called on amd64 only", l.name)
	}
	l.sgemm, l.dnnlSgemm, l.dnnlBF16 = 0, find("dnnl_sgemm"), find("dnnl_gemm_bf16bf16f32")
	if l.dnnlSgemm == 0 {
		return fmt.Errorf("%s lacks dnnl_sgemm", l.name)
	}
	return nil
}

// try multiplies 2×3 by 3×2 and compares with the exact result, since sgemm_ may be
// another function. A library that cannot multiply bf16 on this processor is used for
// fp32 only.
func (l *library) try() error {
	a, b := []float32{1, 2, 3, 4, 5, 6}, []float32{1, 2, 0, 0, 1, 3} // B is stored transposed
	got, want := [4]float32{1, 1, 1, 1}, [4]float32{6, 12, 15, 24}
	if err := l.multiply(false, false, true, 2, 2, 3, unsafe.Pointer(&a[0]), 3, unsafe.Pointer(&b[0]), 3, 1,
		&got[0], 2); err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("%s computes a product as %v, want %v", l.name, got, want)
	}
	if l.dnnlBF16 != 0 {
		a16, b16 := make([]uint16, len(a)), make([]uint16, len(b))
		vec.ToBF16(a16, a) // exact
		vec.ToBF16(b16, b)
		got = [4]float32{1, 1, 1, 1}
		err := l.multiply(true, false, true, 2, 2, 3, unsafe.Pointer(&a16[0]), 3, unsafe.Pointer(&b16[0]), 3,
			1, &got[0], 2)
		if err != nil || got != want {
			l.dnnlBF16 = 0
		}
	}
	return nil
}

// call calls a C function of integers and pointers. The directive keeps the memory that
// arguments point to alive, and on the heap, since stacks move.
//
//go:uintptrescapes
func call(function uintptr, arguments ...uintptr) uintptr {
	result, _, _ := purego.SyscallN(function, arguments...)
	return result
}

// callIf calls a function that a library may lack.
func callIf(function uintptr, arguments ...uintptr) {
	if function != 0 {
		call(function, arguments...)
	}
}

// pointer converts an address that C returned into a pointer. The garbage collector does
// not manage the memory.
func pointer(address uintptr) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&address))
}

// text copies a C string.
func text(address uintptr) string {
	if address == 0 {
		return "of unknown version"
	}
	start := (*byte)(pointer(address))
	length := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(start), length)) != 0 {
		length++
	}
	return string(unsafe.Slice(start, length))
}
