package calibrate

import (
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tandem/algo/unit"
	"tandem/internal/pythontest"
	"tandem/runtime/cuda"
	"tandem/runtime/cuda/softgpu"
)

// TestMeasure measures the software GPU: the smallest of every kind is there, with the most types, and no
// more than the budget allows.
func TestMeasure(t *testing.T) {
	driver := softgpu.Open(t, 1)
	var shown []string
	last := -1
	r, err := Measure(driver, 0, Settings{Budget: time.Millisecond, Memory: 2 << 20,
		Progress: func(done, total int, what string) {
			if done <= last || done >= total {
				t.Errorf("%d of %d measurements done, after %d", done, total, last)
			}
			last = done
			if !slices.Contains(shown, what) {
				shown = append(shown, what)
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"products in fp32", "products in tf32", "products in bf16", "products in fp16",
		"streams through memory", "rows at random places", "copies from the host", "copies to the host",
		"launches"}
	if !slices.Equal(shown, want) {
		t.Errorf("measured %q, want %q", shown, want)
	}
	if len(r.Products) != 8 || len(r.Streams) != 1 || len(r.Rows) != 6 || len(r.In) == 0 || len(r.Out) == 0 {
		t.Errorf("%d products, %d streams, %d rows, %d and %d copies", len(r.Products), len(r.Streams),
			len(r.Rows), len(r.In), len(r.Out))
	}
	all := []Times{r.StreamLaunch, r.GraphLaunch}
	for _, p := range r.Products {
		all = append(all, p.Times)
	}
	for _, x := range slices.Concat(r.Streams, r.In, r.Out) {
		all = append(all, x.Times)
	}
	for _, x := range r.Rows {
		all = append(all, x.Times)
	}
	for i, x := range all {
		if !(1 <= x.Low && x.Low <= x.Mid && x.Mid <= x.High) || x.Repetitions < repetitionsMin {
			t.Errorf("times %d: %+v", i, x)
		}
	}
	if r.Device.CacheBytes == 0 || r.Driver != driver.Version() || r.Memory != 2<<20 {
		t.Errorf("device %+v, driver %s, %v", r.Device, r.Driver, r.Memory)
	}
}

// What is planned fits into the memory: of 2 MiB, square products up to 256 in fp32 and 512 in half
// precision, flat ones up to 512×256, and streams of 1 MiB.
func TestPlanFitsIntoTheMemory(t *testing.T) {
	r := &Result{Device: cuda.Info{Major: 8}}
	var sizes []int
	for _, x := range r.plan(&Meter{pool: cuda.Memory{Bytes: 2 << 20}}) {
		sizes = append(sizes, len(x.sizes))
	}
	if want := []int{3, 2, 3, 2, 4, 2, 4, 2, 1, 6, 4, 4, 1, 1}; !slices.Equal(sizes, want) {
		t.Errorf("%d sizes, want %d", sizes, want)
	}
	r.Device.Major = 7
	if n := len(r.plan(&Meter{pool: cuda.Memory{Bytes: 2 << 20}})); n != len(sizes)-4 {
		t.Errorf("%d series on a device without tf32 and bf16", n)
	}
}

// A device that does not exist, and memory that there is not, are errors that say what there is.
func TestMeasureRefuses(t *testing.T) {
	driver := softgpu.Open(t, 1)
	for _, c := range []struct {
		ordinal int
		memory  unit.Bytes
		want    string
	}{
		{3, 0, "cuda:3 does not exist; this machine has cuda:0 ("},
		{0, 1 << 50, "are free"},
		{0, 1000, "want at least 1MB"},
	} {
		_, err := Measure(driver, c.ordinal, Settings{Memory: c.memory})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("cuda:%d with %v: error %v, want %q", c.ordinal, c.memory, err, c.want)
		}
	}
}

// A series goes on while the next size fits its part of the budget, and the first is always measured.
func TestRunKeepsToTheBudget(t *testing.T) {
	var measured []int
	took := Times{Mid: 1e6}
	x := series{sizes: []float64{1, 2, 4, 8, 16}, do: func(i int, _ time.Duration) (Times, error) {
		measured = append(measured, i)
		times := took
		times.Mid *= unit.Nanos(math.Pow(2, float64(i)))
		return times, nil
	}}
	for _, c := range []struct {
		budget time.Duration
		want   int
	}{{0, 1}, {5 * 60 * time.Millisecond, 3}, {time.Hour, 5}} {
		// 14 of 4 ms fit into 60 ms, 14 of 8 ms do not.
		measured = nil
		if err := run([]series{x}, Settings{Budget: c.budget}); err != nil || len(measured) != c.want {
			t.Errorf("in %v measured %v, want %d sizes; error %v", c.budget, measured, c.want, err)
		}
	}
	x.do = func(int, time.Duration) (Times, error) { return Times{}, errors.New("lost") }
	x.what = "launches"
	if err := run([]series{x}, Settings{}); err == nil || err.Error() != "launches: lost" {
		t.Errorf("error %v", err)
	}
}

// Repetitions are long enough for the resolution of events, have as many operations as a cache needs, and
// fit the budget.
func TestOperations(t *testing.T) {
	for _, c := range []struct {
		once, budget time.Duration
		least, want  int
	}{
		{5 * time.Microsecond, time.Second, 1, 100},
		{5 * time.Microsecond, time.Second, 300, 300},
		{5 * time.Microsecond, 6 * time.Millisecond, 300, 100},
		{time.Second, time.Second, 1, 1},
		{0, time.Second, 1, 500},
		{0, time.Second, 1 << 20, operationsMax},
	} {
		if got := operations(c.once, c.budget, c.least); got != c.want {
			t.Errorf("%v in %v: %d operations, want %d", c.once, c.budget, got, c.want)
		}
	}
}

func TestTimesAreQuartiles(t *testing.T) {
	got := timesOf([]float64{50, 10, 40, 20, 30})
	if want := (Times{Low: 20, Mid: 30, High: 40, Repetitions: 5}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := timesOf([]float64{0, 0, 8}); got.Low != 1 || got.Mid != 1 || got.High != 4 {
		t.Errorf("times below a nanosecond: %+v", got)
	}
}

// bench is a Meter of 1 MiB on the software GPU.
type bench struct {
	*testing.T
	*Meter
}

func newBench(t *testing.T) bench {
	t.Helper()
	device, err := softgpu.Open(t, 1).Open(0)
	if err != nil {
		t.Fatal(err)
	}
	m, err := Open(device, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(m.Close(), device.Close()); err != nil {
			t.Error(err)
		}
	})
	return bench{t, m}
}

func (b bench) check(all ...error) {
	b.Helper()
	if err := errors.Join(all...); err != nil {
		b.Fatal(err)
	}
}

// read returns the memory.
func (b bench) read() []uint32 {
	b.Helper()
	words := make([]uint32, b.pool.Bytes/4)
	b.check(b.stream.CopyOut(cuda.Bytes(words), b.pool.Address), b.stream.Sync())
	return words
}

// numbersIn fails unless words are numbers of fp32 between one half and one, of both signs.
func (b bench) numbersIn(words []uint32) {
	b.Helper()
	negative := 0
	for i, w := range words {
		x := float64(math.Float32frombits(w))
		if !(math.Abs(x) >= 0.5 && math.Abs(x) < 1) {
			b.Fatalf("word %d has the number %v", i, x)
		}
		if x < 0 {
			negative++
		}
	}
	if n := len(words); negative < n*2/5 || negative > n*3/5 {
		b.Errorf("%d of %d numbers are negative", negative, n)
	}
}

// Operands are numbers of the format of a product, also where an earlier product had its result.
func TestOperandsAreNumbers(t *testing.T) {
	b := newBench(t)
	b.numbersIn(b.read())
	for _, n := range []int{16, 64} {
		b.check(second(b.Product(cuda.Product{Rows: n, Columns: n, Inner: n}, 0)))
		b.numbersIn(b.read()[:2*n*n])
	}
	b.check(b.numbers(cuda.BF16, 512))
	for i, w := range b.read()[:128] {
		for _, half := range []uint32{w << 16, w &^ 0xffff} {
			if x := math.Abs(float64(math.Float32frombits(half))); !(x >= 0.5 && x < 1) {
				t.Fatalf("word %d has the bf16 number %v", i, x)
			}
		}
	}
}

// A stream copies one half of the memory to the other, at once or in parts at other places.
func TestStreamsGoThroughTheMemory(t *testing.T) {
	for _, parts := range []unit.Bytes{1, 4} {
		b := newBench(t)
		b.check(second(b.Stream(b.Bytes()/parts, time.Second)))
		if words := b.read(); !slices.Equal(words[:len(words)/2], words[len(words)/2:]) {
			t.Errorf("in %d parts, one half of the memory is not that of the other", parts)
		}
	}
}

// A repetition begins while the work before it runs: it is that of another repetition.
func TestRepetitionsFollowEachOther(t *testing.T) {
	b := newBench(t)
	module, err := b.device.Compile("count.cu", `extern "C" __global__ void count(unsigned *x) { ++*x; }`)
	b.check(err)
	defer module.Close()
	count, err := module.Function("count")
	b.check(err, b.stream.Clear(b.pool.Address, 4))
	times, err := b.time(0, 1, func(int) error {
		return b.stream.Launch(count, cuda.Size{}, cuda.Size{}, 0, cuda.Pointer(b.pool.Address))
	})
	b.check(err)
	// Two to know how long it takes, one to warm up, and two for each repetition.
	if got := int(b.read()[0]); got != 3+2*times.Repetitions {
		t.Errorf("%d operations for %d repetitions", got, times.Repetitions)
	}
}

// What does not fit, or a kernel cannot read, is refused.
func TestSizesAreChecked(t *testing.T) {
	b := newBench(t)
	for i, err := range []error{
		second(b.Rows(0, 480, 0)), second(b.Rows(48, 480, 0)), second(b.Rows(32, 16, 0)),
		second(b.Stream(8, 0)),
		second(b.Stream(1<<21, 0)), second(b.CopyIn(1<<21, 0)), second(b.CopyOut(0, 0)),
		second(b.Product(cuda.Product{Rows: 1 << 10, Columns: 1 << 10, Inner: 1}, 0)),
		second(b.Product(cuda.Product{Rows: 8, Columns: 8, Inner: 8, Bias: true}, 0)),
	} {
		if err == nil {
			t.Errorf("size %d is accepted", i)
		}
	}
}

// The bytes that a launch reads are those of whole rows.
func TestRowsOfALaunchAreWhole(t *testing.T) {
	b := newBench(t)
	const most = 250_000
	bytes, err := b.rowsOf(1024, most, 0)
	if err != nil || bytes < most-1024 || bytes > most || bytes%1024 != 0 {
		t.Errorf("a launch reads %d bytes of rows of 1 KiB, error %v", int(bytes), err)
	}
}

func second(_ Times, err error) error { return err }

// A launch reads whole rows, all over the table: a mark in any piece of any row is found by as many reads as
// chance says. A thread of this test reads two of eight rows of two pieces, and finds the mark if one of them
// has it, which happens with probability 2 · 1/8 · 7/8 = 0.22.
func TestRowsAreReadWholeAndAtRandom(t *testing.T) {
	b := newBench(t)
	const rows, reads = 8, 400
	found := make([]uint32, reads)
	table, out := b.pool.Address, b.pool.Address.Add(4096)
	for _, piece := range []int{0, 1, 2*rows - 1} {
		marked := make([]uint32, rows*8)
		marked[4*piece+3] = mark
		b.check(b.stream.Clear(out, 4*reads), b.stream.CopyIn(table, cuda.Bytes(marked)))
		for i := range reads {
			b.check(b.stream.Launch(b.kernels.gather, cuda.Size{}, cuda.Size{}, 0, cuda.Pointer(table),
				cuda.Int(rows), cuda.Int(1), cuda.Int(4), cuda.Int(2*i), cuda.Pointer(out.Floats(i))))
		}
		b.check(b.stream.CopyOut(cuda.Bytes(found), out), b.stream.Sync())
		count := 0
		for _, x := range found {
			if x != 0 {
				count++
			}
		}
		if share := float64(count) / reads; share < 0.15 || share > 0.29 {
			t.Errorf("%v of the reads find the mark in piece %d, want 0.22", share, piece)
		}
	}
}

// mark is what the kernel writes if it finds it.
const mark = 0x9e3779b9

// Every operation of a measurement reads other rows: with marks in half of the rows, one is in either of two
// rows with probability 0.75, for 48 of 64 operations.
func TestOperationsReadOtherRows(t *testing.T) {
	b := newBench(t)
	marked := make([]uint32, b.pool.Bytes/4)
	for i := 9; i < len(marked); i += 16 { // rows of 8 words
		marked[i] = mark
	}
	b.check(b.stream.CopyIn(b.pool.Address, cuda.Bytes(marked)))
	do, err := b.reads(32, 64)
	b.check(err)
	count := 0
	for i := range 64 {
		b.check(b.stream.Clear(b.pool.Address, 4), do(i))
		if b.read()[0] == mark {
			count++
		}
	}
	if count < 36 || count > 60 {
		t.Errorf("%d of 64 operations find a mark, want 48", count)
	}
}

// NVIDIA's own compiler takes the source for every generation of GPUs since Volta.
func TestSourceCompilesWithNVRTC(t *testing.T) {
	python := pythontest.With(t, "nvidia.cuda_nvrtc")
	script := filepath.Join("..", "kernels", "testdata", "nvrtc.py")
	out := python.Run(t, strings.NewReader(source), script)
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		if !strings.Contains(line, "Architectures prior to") && !strings.HasPrefix(line, "compiled for sm_") {
			t.Error(line)
		}
	}
	if n := strings.Count(string(out), "compiled for sm_"); n != 4 {
		t.Errorf("compiled for %d architectures:\n%s", n, out)
	}
}
