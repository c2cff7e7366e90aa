package cuda_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"tandem/runtime/cuda"
	"tandem/runtime/cuda/softgpu"
)

// kernels use what the kernels of an engine use: grids, blocks of several dimensions, barriers, shuffles,
// static and dynamic shared memory, and atomic additions.
const kernels = `
extern "C" __global__ void axpy(float *__restrict__ y, const float *__restrict__ x, float a, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) y[i] = a * x[i] + y[i];
}

__device__ float warpSum(float v) {
	for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffff, v, d);
	return v;
}

/* __global__ void notAKernel(); */
extern "C" __global__ void __launch_bounds__(256) sums(float *out, const float *x, int n) {
	__shared__ float partial[32];
	float v = 0;
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += x[i];
	v = warpSum(v);
	if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = v;
	__syncthreads();
	if (threadIdx.x >= 32) return;
	v = warpSum(threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0);
	if (threadIdx.x == 0) atomicAdd(out, v);
}

// reverse turns the tile of each block around, by dynamic shared memory.
extern "C" __global__ void reverse(float *x) {
	extern __shared__ float tile[];
	int n = blockDim.x * blockDim.y, i = threadIdx.y * blockDim.x + threadIdx.x;
	x += (blockIdx.y * gridDim.x + blockIdx.x) * n;
	tile[i] = x[i];
	__syncthreads();
	x[i] = tile[n - 1 - i];
}

extern "C" __global__ void butterfly(unsigned *ballots, int *all) {
	int v = 1 << (threadIdx.x % 4);
	for (int d = 1; d < 32; d *= 2) v |= __shfl_xor_sync(0xffffffff, v, d);
	all[threadIdx.x] = v;
	unsigned odd = __ballot_sync(0xffffffff, threadIdx.x % 2);
	if (threadIdx.x == 0) *ballots = odd;
}

extern "C" __global__ void fill(float *x, int n, float value) {
	for (int i = 0; i < n; i++) x[i] = value;
}

extern "C" __global__ void diverge(int *x) {
	if (threadIdx.x < 16) __syncthreads();
	else __shfl_sync(0xffffffff, 1, 0);
}

extern "C" __global__ void slow(float *x, int n) {
	float v = x[0];
	for (int i = 0; i < n; i++) v = v * 0.5f + 1;
	x[0] = v;
}
`

// bench is a device with what most tests need.
type bench struct {
	*testing.T
	device *cuda.Device
	stream *cuda.Stream
	module *cuda.Module
}

func newBench(t *testing.T) bench {
	t.Helper()
	return benchOn(t, softgpu.Open(t, 1))
}

func benchOn(t *testing.T, driver *cuda.Driver) bench {
	t.Helper()
	b := bench{T: t}
	b.device = must(driver.Open(0))
	b.module = must(b.device.Compile("kernels.cu", kernels))
	b.stream = must(b.device.NewStream())
	t.Cleanup(func() {
		b.stream.Close() // fails after a fault
		b.module.Close()
		b.check(b.device.Close())
	})
	return b
}

// must returns a value, and panics on an error: the stack then shows the line.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func (b bench) check(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b bench) alloc(bytes int) cuda.Address {
	b.Helper()
	m := must(b.device.Alloc(bytes))
	b.Cleanup(func() { b.device.Free(m) }) // fails after a fault
	return m.Address
}

func (b bench) upload(x []float32) cuda.Address {
	b.Helper()
	return b.uploadBytes(cuda.Bytes(x))
}

func (b bench) uploadBytes(x []byte) cuda.Address {
	b.Helper()
	a := b.alloc(len(x))
	b.check(b.stream.CopyIn(a, x))
	b.check(b.stream.Sync())
	runtime.KeepAlive(x)
	return a
}

func (b bench) download(a cuda.Address, n int) []float32 {
	b.Helper()
	x := make([]float32, n)
	b.check(b.stream.CopyOut(cuda.Bytes(x), a))
	b.check(b.stream.Sync())
	runtime.KeepAlive(x)
	return x
}

func (b bench) launch(name string, grid, block cuda.Size, shared int, args ...cuda.Arg) {
	b.Helper()
	b.check(b.stream.Launch(must(b.module.Function(name)), grid, block, shared, args...))
}

func ramp(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(i)
	}
	return x
}

func TestDevices(t *testing.T) {
	softgpu.Only(t)
	driver := softgpu.Open(t, 3)
	all := must(driver.Devices())
	if len(all) != 3 || all[2].Ordinal != 2 || all[2].Major != 8 || all[2].SharedBytes != 227<<10 ||
		all[0].UUID == all[1].UUID || driver.Version() != "12.4" {
		t.Errorf("devices %+v, driver %s", all, driver.Version())
	}
	const want = "cuda:3 does not exist; this machine has cuda:0 (Tandem software GPU, 4GiB), " +
		"cuda:1 (Tandem software GPU, 4GiB), cuda:2 (Tandem software GPU, 4GiB)"
	if _, err := driver.Open(3); err == nil || err.Error() != want {
		t.Errorf("error of a device that does not exist: %v\nwant %s", err, want)
	}
}

func TestKernels(t *testing.T) {
	b := newBench(t)
	const n = 1000
	x, y := ramp(n), ramp(n)
	dx, dy := b.upload(x), b.upload(y)
	b.launch("axpy", cuda.Size{X: 4}, cuda.Size{X: 256}, 0, cuda.Pointer(dy), cuda.Pointer(dx),
		cuda.Float(2), cuda.Int(n))
	for i, got := range b.download(dy, n) {
		if got != 3*x[i] {
			t.Fatalf("axpy: y[%d] is %v, want %v", i, got, 3*x[i])
		}
	}
	out := b.alloc(4)
	b.check(b.stream.Clear(out, 4))
	b.launch("sums", cuda.Size{X: 3}, cuda.Size{X: 256}, 0, cuda.Pointer(out), cuda.Pointer(dx), cuda.Int(n))
	if got := b.download(out, 1)[0]; got != n*(n-1)/2 {
		t.Errorf("sums: %v, want %v", got, n*(n-1)/2)
	}
	tiles := b.upload(ramp(4 * 6 * 32))
	b.launch("reverse", cuda.Size{X: 2, Y: 2}, cuda.Size{X: 32, Y: 6}, 4*6*32, cuda.Pointer(tiles))
	for i, got := range b.download(tiles, 4*6*32) {
		if want := float32(i/192*192 + 191 - i%192); got != want {
			t.Fatalf("reverse: x[%d] is %v, want %v", i, got, want)
		}
	}
	ballots, all := b.alloc(4), b.alloc(4*32)
	b.launch("butterfly", cuda.Size{}, cuda.Size{X: 32}, 0, cuda.Pointer(ballots), cuda.Pointer(all))
	if got := math.Float32bits(b.download(ballots, 1)[0]); got != 0xaaaaaaaa {
		t.Errorf("butterfly: ballot %#x, want 0xaaaaaaaa", got)
	}
	for lane, got := range b.download(all, 32) {
		if math.Float32bits(got) != 15 {
			t.Errorf("butterfly: lane %d has %d, want 15", lane, math.Float32bits(got))
		}
	}
}

func TestLaunchAllocatesNothing(t *testing.T) {
	b := newBench(t)
	x := b.upload(ramp(1))
	f := must(b.module.Function("fill"))
	allocated := testing.AllocsPerRun(100, func() {
		if b.stream.Launch(f, cuda.Size{}, cuda.Size{}, 0, cuda.Pointer(x), cuda.Int(1),
			cuda.Float(1)) != nil {
			panic("launch failed")
		}
	})
	if allocated > 0 {
		t.Errorf("a launch allocates %v objects", allocated)
	}
	err := b.stream.Launch(f, cuda.Size{}, cuda.Size{}, 0, cuda.Pointer(x))
	if err == nil || err.Error() != "cuda:0: kernel fill takes 3 arguments, got 1" {
		t.Errorf("error of missing arguments: %v", err)
	}
}

// TestOutOfBounds plants a write of one number too many.
func TestOutOfBounds(t *testing.T) {
	softgpu.Only(t)
	for _, c := range []struct {
		name        string
		length, too int
		want        []string
	}{
		{"at the page without access", 4, 1, []string{"kernel fill, block (0, 0, 0), thread (0, 0, 0)",
			"0 bytes after the end of an allocation of 16 bytes"}},
		{"between the end and that page", 5, 1, []string{"written after an allocation of 20 bytes"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			x := b.upload(ramp(c.length))
			b.launch("fill", cuda.Size{}, cuda.Size{}, 0, cuda.Pointer(x), cuda.Int(c.length+c.too),
				cuda.Float(1))
			err := b.stream.Sync()
			if err == nil {
				t.Fatal("the write was not found")
			}
			for _, want := range append(c.want,
				"cuda:0: cuStreamSynchronize: an illegal memory access was encountered") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
			if later := b.stream.Clear(x, 4); later == nil {
				t.Error("the device works on after the fault")
			}
		})
	}
}

// TestLostDevice loses one of two devices.
func TestLostDevice(t *testing.T) {
	softgpu.Set(t, "TANDEM_SOFTGPU_LOST_AFTER", "1:3")
	driver := softgpu.Open(t, 2)
	for n := range 2 {
		device := must(driver.Open(n))
		stream := must(device.NewStream())
		m := must(device.Alloc(64))
		var err error
		for range 5 {
			err = errors.Join(err, stream.Clear(m.Address, 64))
		}
		err = errors.Join(err, stream.Sync())
		want := ""
		if n == 1 {
			const lost = ": unknown error (the GPU may be lost: see nvidia-smi and the log of the kernel)"
			want = "cuda:1: cuMemsetD8Async" + lost + "\ncuda:1: cuMemsetD8Async" + lost +
				"\ncuda:1: cuStreamSynchronize" + lost
		}
		if got := fmt.Sprint(err); got != want && (n == 1 || err != nil) {
			t.Errorf("errors of cuda:%d:\n%s\nwant:\n%s", n, got, want)
		}
		stream.Close()
		device.Close()
	}
}

// TestNilPointer makes sure that Go still handles its own faults.
func TestNilPointer(t *testing.T) {
	newBench(t)
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	var nothing *bench
	_ = *nothing
	t.Error("a nil pointer was read")
}

func TestDivergence(t *testing.T) {
	softgpu.Only(t)
	b := newBench(t)
	b.launch("diverge", cuda.Size{}, cuda.Size{X: 32}, 0, cuda.Pointer(b.alloc(4)))
	if err := b.stream.Sync(); err == nil || !strings.Contains(err.Error(), "waits at a barrier or shuffle") {
		t.Errorf("error of threads that wait for each other: %v", err)
	}
}

// raced computes on one stream and copies the result out on another. It returns whether the copy had the
// result in all of several attempts.
func raced(b bench, synchronise bool) bool {
	other, event := must(b.device.NewStream()), must(b.device.NewEvent())
	defer other.Close()
	defer event.Close()
	const n, attempts = 1 << 18, 20
	pinned := must(b.device.AllocPinned(4 * n))
	defer pinned.Free()
	x := b.alloc(4 * n)
	for attempt := range attempts {
		value := float32(attempt)
		b.launch("fill", cuda.Size{}, cuda.Size{}, 0, cuda.Pointer(x), cuda.Int(n), cuda.Float(value))
		if synchronise {
			b.check(b.stream.Record(event))
			b.check(other.Wait(event))
		}
		b.check(other.CopyOut(pinned.Bytes(), x))
		b.check(other.Sync())
		for _, got := range pinned.Floats() {
			if got != value {
				return false
			}
		}
		b.check(b.stream.Sync())
	}
	return true
}

// TestMissingSynchronisation plants a copy that does not wait for the stream that computes.
func TestMissingSynchronisation(t *testing.T) {
	softgpu.Set(t, "TANDEM_SOFTGPU_SEED", "1")
	b := newBench(t)
	if !raced(b, true) {
		t.Error("a copy that waits for an event came too early")
	}
	if raced(b, false) {
		t.Error("a copy that does not wait was never too early")
	}
}

func TestMemory(t *testing.T) {
	softgpu.Set(t, "TANDEM_SOFTGPU_MEMORY", "1048576")
	b := newBench(t)
	if got := b.download(b.alloc(8), 2); got[0] == got[0] || got[1] == got[1] {
		t.Errorf("new memory is %v, want NaN", got)
	}
	m := must(b.device.Alloc(1 << 19))
	_, err := b.device.Alloc(1 << 20)
	const want = "cuda:0: cuMemAlloc_v2 of 1MiB: out of memory (524.3kB of 1MiB free)"
	if err == nil || err.Error() != want || !errors.Is(err, cuda.ErrOutOfMemory) {
		t.Errorf("error of a large allocation: %v\nwant %s", err, want)
	}
	b.check(b.device.Free(m))
	if err := b.device.Free(m); err == nil {
		t.Error("memory was freed twice")
	}
	x := b.alloc(64)
	if err := b.stream.CopyIn(x.Add(32), make([]byte, 40)); err == nil {
		t.Error("a copy beyond the end succeeded")
	}
	b.check(b.stream.CopyIn(x.Add(32), cuda.Bytes(ramp(8))))
	b.check(b.stream.CopyDevice(x, x.Floats(8), 32))
	if got := b.download(x, 16); got[7] != 7 || got[15] != 7 || got[8] != 0 {
		t.Errorf("copied %v", got)
	}
}

func TestTimer(t *testing.T) {
	b := newBench(t)
	start, end := must(b.device.NewTimer()), must(b.device.NewTimer())
	x := b.upload(ramp(1))
	b.check(b.stream.Record(start))
	b.launch("slow", cuda.Size{}, cuda.Size{}, 0, cuda.Pointer(x), cuda.Int(1000))
	b.check(b.stream.Record(end))
	b.check(end.Sync())
	if d := must(end.Since(start)); d <= 0 {
		t.Errorf("a kernel took %v", d)
	}
	b.check(errors.Join(start.Close(), end.Close()))
}

func TestCompile(t *testing.T) {
	b := newBench(t)
	_, err := b.device.Compile("bad.cu", "extern \"C\" __global__ void f(int *x) {\n  *x = y;\n}\n")
	where := regexp.MustCompile(`(?s)NVRTC_ERROR_COMPILATION.*bad\.cu[:(]2`)
	if err == nil || !where.MatchString(err.Error()) {
		t.Errorf("error of a bad kernel: %v", err)
	}
	if _, err := b.module.Function("nothing"); err == nil ||
		err.Error() != "cuda:0: kernel nothing of kernels.cu: named symbol not found" {
		t.Errorf("error of a missing kernel: %v", err)
	}
	if _, err := b.device.Compile("f.cu", "", "--no-such-option"); err == nil ||
		!strings.Contains(err.Error(), "--no-such-option") {
		t.Errorf("error of a bad option: %v", err)
	}
	m := must(b.device.Compile("f.cu", "extern \"C\" __global__ void f(int *x) { *x = N; }", "-DN=7"))
	x := b.alloc(4)
	b.check(b.stream.Launch(must(m.Function("f")), cuda.Size{}, cuda.Size{}, 0, cuda.Pointer(x)))
	if got := math.Float32bits(b.download(x, 1)[0]); got != 7 {
		t.Errorf("a defined number is %d, want 7", got)
	}
	b.check(m.Close())
}

// TestCache damages kept kernels. They are compiled again.
func TestCache(t *testing.T) {
	libraries := softgpu.Libraries(t)
	libraries.Cache = filepath.Join(t.TempDir(), "kernels")
	driver := must(cuda.Open(libraries))
	const source = "extern \"C\" __global__ void f(int *x) { *x = 1; }"
	device := must(driver.Open(0))
	defer device.Close()
	compiled := func() []byte {
		t.Helper()
		m, err := device.Compile("f.cu", source)
		if err != nil {
			t.Fatal(err)
		}
		must(m.Function("f"))
		m.Close()
		files := must(os.ReadDir(libraries.Cache))
		if len(files) != 1 {
			t.Fatalf("%d files were kept, want 1", len(files))
		}
		return must(os.ReadFile(filepath.Join(libraries.Cache, files[0].Name())))
	}
	good := compiled()
	name := filepath.Join(libraries.Cache, must(os.ReadDir(libraries.Cache))[0].Name())
	for what, damaged := range map[string][]byte{
		"empty":     nil,
		"cut":       good[:len(good)/2],
		"one bit":   append(append([]byte{}, good[:99]...), append([]byte{good[99] ^ 1}, good[100:]...)...),
		"one more":  append(append([]byte{}, good...), 0),
		"all zeros": make([]byte, len(good)),
	} {
		if err := os.WriteFile(name, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if again := compiled(); len(again) < len(good)/2 || string(again[32:64]) != string(good[32:64]) {
			t.Errorf("%s: the kernels were not compiled again", what)
		}
	}
	if err := os.Chmod(name, 0o400); err != nil {
		t.Fatal(err)
	}
	before := must(os.Stat(name))
	compiled()
	if after := must(os.Stat(name)); !os.SameFile(before, after) {
		t.Error("good kernels were compiled again")
	}
}

// graphStep is work on two streams: y = 2x + y on one beside a copy of x on the other, then both are
// joined.
func graphStep(b bench, other *cuda.Stream, begin, joined *cuda.Event, x, y, z cuda.Address, n int) {
	b.Helper()
	b.check(b.stream.Record(begin))
	b.check(other.Wait(begin))
	b.check(other.CopyDevice(z, x, 4*n))
	b.check(other.Record(joined))
	b.launch("axpy", cuda.Size{X: 1}, cuda.Size{X: n}, 0, cuda.Pointer(y), cuda.Pointer(x), cuda.Float(2),
		cuda.Int(n))
	b.check(b.stream.Wait(joined))
	b.launch("axpy", cuda.Size{X: 1}, cuda.Size{X: n}, 0, cuda.Pointer(y), cuda.Pointer(z), cuda.Float(1),
		cuda.Int(n))
}

func TestCapture(t *testing.T) {
	softgpu.Set(t, "TANDEM_SOFTGPU_SEED", "7")
	b := newBench(t)
	other := must(b.device.NewStream())
	defer other.Close()
	begin, joined := must(b.device.NewEvent()), must(b.device.NewEvent())
	const n, steps = 100, 5
	x, z := b.upload(ramp(n)), b.alloc(4*n)
	direct, replayed := b.upload(ramp(n)), b.upload(ramp(n))
	for range steps {
		graphStep(b, other, begin, joined, x, direct, z, n)
	}
	b.check(b.stream.Sync())
	b.check(b.stream.BeginCapture())
	graphStep(b, other, begin, joined, x, replayed, z, n)
	graph := must(b.stream.EndCapture())
	if got := b.download(replayed, n); got[1] != 1 {
		t.Errorf("the capture did the work: %v", got[1])
	}
	for range steps {
		b.check(b.stream.LaunchGraph(graph))
	}
	got, want := b.download(replayed, n), b.download(direct, n)
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("number %d is %v after the graph, %v after the same work without it", i, got[i], want[i])
		}
	}
	b.check(graph.Close())
	b.check(errors.Join(begin.Close(), joined.Close()))
}

// TestCapturesKeepOthersWaiting waits for the device, and closes products, while a stream captures: the Close
// of a replica of an earlier training does so at any time. Without turns, either ends the capture with an
// error.
func TestCapturesKeepOthersWaiting(t *testing.T) {
	b := newBench(t)
	x, n := b.upload(ramp(8)), 8
	blas := must(b.device.NewBLAS())
	for name, do := range map[string]func() error{"Sync": b.device.Sync, "Close": blas.Close} {
		b.check(b.stream.BeginCapture())
		done := make(chan error, 1)
		go func() { done <- do() }()
		time.Sleep(5 * time.Millisecond) // for do to begin
		err := b.stream.Launch(must(b.module.Function("axpy")), cuda.Size{X: 1}, cuda.Size{X: n}, 0,
			cuda.Pointer(x), cuda.Pointer(x), cuda.Float(1), cuda.Int(n))
		graph, ended := b.stream.EndCapture()
		if err := errors.Join(err, ended, <-done); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		b.check(errors.Join(b.stream.LaunchGraph(graph), b.stream.Sync(), graph.Close()))
	}
}

func TestBadCaptures(t *testing.T) {
	b := newBench(t)
	other, event := must(b.device.NewStream()), must(b.device.NewEvent())
	defer other.Close()
	x := b.alloc(4)
	for _, c := range []struct {
		name, want string
		do         func() error
	}{
		{"unjoined", "unjoined work", func() error {
			return errors.Join(b.stream.Record(event), other.Wait(event), other.Clear(x, 4))
		}},
		{"waits", "not permitted when stream is capturing", b.stream.Sync},
	} {
		b.check(b.stream.BeginCapture())
		err := c.do()
		if _, ended := b.stream.EndCapture(); err == nil {
			err = ended
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}
