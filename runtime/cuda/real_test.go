//go:build !static && linux && (amd64 || arm64)

package cuda

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"tandem/internal/pythontest"
)

// folderOf returns the folder of a package of PyPI by NVIDIA, such as nvidia-cublas-cu12. It skips the test
// where Python has no such package.
func folderOf(t *testing.T, module string) string {
	t.Helper()
	print := "import " + module + "; print(" + module + ".__path__[0])"
	return strings.TrimSpace(string(pythontest.With(t, module).Run(t, nil, "-c", print)))
}

// libraryOf returns a library from such a package. Libraries need no GPU until they use one.
func libraryOf(t *testing.T, module, file string) string {
	t.Helper()
	return filepath.Join(folderOf(t, module), "lib", file)
}

// TestRealCompiler compiles with the real compiler.
func TestRealCompiler(t *testing.T) {
	c, err := OpenCompiler(Libraries{Compiler: libraryOf(t, "nvidia.cuda_nvrtc", "libnvrtc.so.12")})
	if err != nil {
		t.Fatal(err)
	}
	const source = "extern \"C\" __global__ void f(float *x) { x[threadIdx.x] += N; }"
	for _, architecture := range []string{"sm_80", "sm_89", "sm_90", "compute_80"} {
		image, log, err := c.Compile("f.cu", source, architecture, "-DN=7")
		if err != nil || log != "" {
			t.Fatalf("%s: %v %s", architecture, err, log)
		}
		want := "\x7fELF"
		if architecture == "compute_80" {
			want = "//"
		}
		if !strings.HasPrefix(strings.TrimSpace(string(image)), want) {
			t.Errorf("%s: the result begins with %q", architecture, image[:8])
		}
	}
	if _, _, err := c.Compile("f.cu", "nonsense", "sm_80"); err == nil || !strings.Contains(err.Error(),
		"f.cu(1): error") {
		t.Errorf("error of a bad source: %v", err)
	}
	for _, newer := range []struct {
		info Info
		want string
	}{{Info{Major: 9, Minor: 0}, "sm_90"}, {Info{Major: 99, Minor: 0}, "compute_"}, {Info{Major: 2}, ""}} {
		if got, _ := c.target(newer.info); !strings.HasPrefix(got, newer.want) || (newer.want == "" &&
			got != "") {
			t.Errorf("target of compute capability %d.%d is %q, want %q", newer.info.Major,
				newer.info.Minor, got, newer.want)
		}
	}
}

// TestRealBLAS sets every attribute of a plan in the real library, which refuses wrong numbers and sizes.
// Algorithms need a GPU.
func TestRealBLAS(t *testing.T) {
	d := &Driver{version: 12090, libraries: Libraries{BLAS: libraryOf(t, "nvidia.cublas",
		"libcublasLt.so.12")}}
	lt, err := d.openBLAS()
	if err != nil {
		t.Fatal(err)
	}
	if lt.version < 120000 {
		t.Errorf("version %d", lt.version)
	}
	check := func(e *entry, arguments ...uintptr) {
		t.Helper()
		if code := codeOf(call(e.address, arguments...)); code != 0 {
			t.Errorf("%s%v: %s", e.name, arguments, text(call(lt.getStatusString.address, uintptr(code))))
		}
	}
	handle, wide, narrow := new(uintptr), new(uint64), new(uint32)
	for _, compute := range []uintptr{compute32F, compute32FFastTF32} {
		check(&lt.descCreate, uintptr(unsafe.Pointer(handle)), compute, real32F)
		for _, attribute := range []uintptr{descTransA, descTransB, descEpilogue} {
			*narrow = 1
			check(&lt.descSet, *handle, attribute, uintptr(unsafe.Pointer(narrow)), unsafe.Sizeof(*narrow))
		}
		for _, epilogue := range []uint32{epilogueDefault, epilogueBias} {
			*narrow = epilogue
			check(&lt.descSet, *handle, descEpilogue, uintptr(unsafe.Pointer(narrow)), unsafe.Sizeof(*narrow))
		}
		check(&lt.descSet, *handle, descBiasPointer, uintptr(unsafe.Pointer(wide)), unsafe.Sizeof(*wide))
		check(&lt.descDestroy, *handle)
	}
	for kind := F32; kind <= F16; kind++ {
		check(&lt.layoutCreate, uintptr(unsafe.Pointer(handle)), typeOf(kind), 8, 16, 8)
		*narrow, *wide = 3, 128
		check(&lt.layoutSet, *handle, layoutBatchCount, uintptr(unsafe.Pointer(narrow)),
			unsafe.Sizeof(*narrow))
		check(&lt.layoutSet, *handle, layoutStridedBatchOffset, uintptr(unsafe.Pointer(wide)),
			unsafe.Sizeof(*wide))
		check(&lt.layoutDestroy, *handle)
	}
	check(&lt.preferenceCreate, uintptr(unsafe.Pointer(handle)))
	*narrow, *wide = 16, 4<<20
	check(&lt.preferenceSet, *handle, preferMaxWorkspaceBytes, uintptr(unsafe.Pointer(wide)),
		unsafe.Sizeof(*wide))
	for _, attribute := range []uintptr{preferMinAlignmentA, preferMinAlignmentB, preferMinAlignmentC,
		preferMinAlignmentD} {
		check(&lt.preferenceSet, *handle, attribute, uintptr(unsafe.Pointer(narrow)), unsafe.Sizeof(*narrow))
	}
	check(&lt.preferenceDestroy, *handle)
}

// TestRealCollectives finds every function in the real library, and makes an id, which needs no GPU.
func TestRealCollectives(t *testing.T) {
	d := &Driver{libraries: Libraries{Collectives: libraryOf(t, "nvidia.nccl", "libnccl.so.2")}}
	d.collectives = d.openCollectives
	version, err := d.CollectivesVersion()
	if err != nil || !strings.HasPrefix(version, "2.") {
		t.Fatal(version, err)
	}
	id, err := d.UniqueID()
	if e := new(Error); errors.As(err, &e) {
		t.Skipf("this machine has no network for an id: %v", err)
	}
	if err != nil || id == (UniqueID{}) {
		t.Errorf("id %x, error %v", id, err)
	}
}
