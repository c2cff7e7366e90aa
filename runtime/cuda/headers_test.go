//go:build !static && linux && (amd64 || arm64)

package cuda

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unsafe"
)

// headers returns a C++ compiler with the flags and the text that include NVIDIA's headers, which PyPI has
// in the packages nvidia-cuda-runtime, nvidia-cuda-nvcc, nvidia-cuda-nvrtc, nvidia-cublas and nvidia-nccl.
func headers(t *testing.T) (compiler string, flags []string, text string) {
	t.Helper()
	compiler, err := exec.LookPath("c++")
	if err != nil {
		t.Skip("needs a C++ compiler")
	}
	for _, module := range []string{"cuda_runtime", "cuda_nvcc", "cuda_nvrtc", "cublas", "nccl"} {
		flags = append(flags, "-I", filepath.Join(folderOf(t, "nvidia."+module), "include"))
	}
	// The headers of narrow numbers need more packages, and nothing here needs them.
	return compiler, append(flags, "-std=c++17", "-x", "c++"), `
#define __CUDA_FP16_H__
#define __CUDA_BF16_H__
#define __CUDA_FP8_H__
struct __half;
struct __nv_bfloat16;
#include <cuda.h>
#include <nvrtc.h>
#include <cublasLt.h>
#include <nccl.h>
#include <stddef.h>
`
}

// TestHeaders compares the numbers and structures of this package and of the software GPU with NVIDIA's
// headers.
func TestHeaders(t *testing.T) {
	compiler, flags, source := headers(t)
	compared := 0
	compare := func(file, pattern string, number, name int) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(pattern).FindAllSubmatch(text, -1) {
			source += fmt.Sprintf("static_assert((long long)%s == %s, \"\");\n", m[name], m[number])
			compared++
		}
	}
	compare("headers.go", `(?m)^\t\w+ += (.+?) +// ((?:[A-Z]+_|nccl)\w+)`, 1, 2)
	for _, file := range softwareFiles(t) {
		compare(file, `(?m)^\t((?:CUDA|CUBLAS|NVRTC|nccl)\w+) = (\d+),`, 2, 1)
		compare(file, `(?:case |\{)(\d+)(?:: |, ).*// ((?:CU_|CUBLASLT_)[A-Z_]+)`, 1, 2)
	}
	if compared < 100 { // a pattern that no longer matches would compare nothing
		t.Errorf("compared only %d numbers", compared)
	}
	equal := func(expression string, n uintptr) {
		source += fmt.Sprintf("static_assert(%s == %d, \"\");\n", expression, n)
	}
	var result matmulHeuristicResult
	equal("sizeof(cublasLtMatmulHeuristicResult_t)", unsafe.Sizeof(result))
	equal("sizeof(cublasLtMatmulAlgo_t)", unsafe.Sizeof(result.algo))
	equal("offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize)", unsafe.Offsetof(result.workspaceSize))
	equal("offsetof(cublasLtMatmulHeuristicResult_t, state)", unsafe.Offsetof(result.state))
	var config ncclConfig
	equal("offsetof(ncclConfig_t, magic)", unsafe.Offsetof(config.magic))
	equal("offsetof(ncclConfig_t, version)", unsafe.Offsetof(config.version))
	equal("offsetof(ncclConfig_t, blocking)", unsafe.Offsetof(config.blocking))
	equal("offsetof(ncclConfig_t, cgaClusterSize)", unsafe.Offsetof(config.cgaClusterSize))
	equal("sizeof(ncclUniqueId)", uniqueIDBytes)
	equal("sizeof(CUdeviceptr)", unsafe.Sizeof(Address(0)))
	command := exec.Command(compiler, append(flags, "-fsyntax-only", "-")...)
	command.Stdin = strings.NewReader(source)
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// softwareFiles returns the sources of the software GPU.
func softwareFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("softgpu/source/*.[ch]*")
	if err != nil || len(files) == 0 {
		t.Fatal("no sources of the software GPU: ", err)
	}
	return files
}

// signatures is C++ that prints the sizes of parameters, and which are pointers.
const signatures = `
#include <stdio.h>
#include <type_traits>
template <class F> struct Signature;
template <class R, class... A> struct Signature<R (*)(A...)> {
	static void print(const char *name) {
		printf("%s %zu:", name, sizeof(R));
		for (const char *p : {"", (std::is_pointer<A>::value ? "pointer" : sizeof(A) == 4 ? "4" :
			sizeof(A) == 8 ? "8" : sizeof(A) == 1 ? "1" : "more")...}) printf(" %s", p);
		printf("\n");
	}
};
`

// TestSignatures compares the functions of the software GPU with NVIDIA's headers. Handles are pointers in
// both, and addresses of a device 8 bytes.
func TestSignatures(t *testing.T) {
	compiler, flags, include := headers(t)
	calls, count := "int main() {\n", 0
	for _, file := range softwareFiles(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^API .*?(\w+)\(`).FindAllSubmatch(text, -1) {
			if name := string(m[1]); !strings.HasPrefix(name, "softgpu") {
				calls += fmt.Sprintf("\tSignature<decltype(&%s)>::print(\"%[1]s\");\n", name)
				count++
			}
		}
	}
	if count < 80 {
		t.Errorf("found only %d functions", count)
	}
	print := func(include string, more ...string) string {
		program := filepath.Join(t.TempDir(), "print")
		command := exec.Command(compiler, append(append(flags, more...), "-o", program, "-")...)
		command.Stdin = strings.NewReader(include + signatures + calls + "}\n")
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		out, err := exec.Command(program).Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	want := strings.Split(print(include), "\n")
	got := print("#include \"softgpu/source/all.cpp\"\n", `-DSOFTGPU_COMPILER="c++"`, `-DSOFTGPU_SOURCES=""`)
	for i, line := range strings.Split(got, "\n") {
		if line != want[i] {
			t.Errorf("the software GPU has  %s\nNVIDIA's headers have %s", line, want[i])
		}
	}
}
