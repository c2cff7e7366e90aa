package probe

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"tandem/algo/numeric/isa"
)

// On any machine a core multiplies with at most 10 TFLOP/s and at least 10 MFLOP/s, and so on. The bounds
// catch a wrong unit.
func TestResultIsPlausible(t *testing.T) {
	r, err := Run()
	if err != nil {
		t.Fatal(err)
	}
	if r.Cores < 1 || r.Multiply < 1e7 || r.Multiply > 1e13 || r.Copy < 1e7 || r.Copy > 1e12 {
		t.Errorf("%+v", r)
	}
	if r.Peak > 1e13 || (r.Peak > 0) != (isa.Best() != isa.Portable) {
		t.Errorf("peak %v with %v", r.Peak, isa.Best())
	}
	if r.Lookup < 1 || r.Lookup > 100_000 || r.Update < 1 || r.Update > 100_000 || r.Message < 1 ||
		r.Message > 1_000_000 || r.Create < 1 || r.Create > 1_000_000 || r.Timer > 1_000_000_000 {
		t.Errorf("%+v", r)
	}
	if _, err := time.Parse(time.DateOnly, r.Date); err != nil {
		t.Error(err)
	}
}

func TestTotalMemory(t *testing.T) {
	for text, want := range map[string]int64{
		"MemTotal:       32768 kB\nMemFree:  5 kB\n": 32768 * 1024,
		"Other:   7 kB\nMemTotal:        1 kB\n":     1024,
		"":                                           0,
		"MemTotal: lots\n":                           0,
	} {
		if got := memoryOf(text, "MemTotal"); int64(got) != want {
			t.Errorf("memoryOf(%q) = %d, want %d", text, got, want)
		}
	}
}

// A control group that is limited leaves its limit less what it has taken, but for idle pages of files; one
// without a limit, or without files, leaves all.
func TestMemoryOfControlGroups(t *testing.T) {
	write := func(files map[string]string) string {
		folder := t.TempDir()
		for name, text := range files {
			path := filepath.Join(folder, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return folder
	}
	for _, c := range []struct {
		files   map[string]string
		left    int64
		limited bool
	}{
		{map[string]string{"memory.max": "1000\n", "memory.current": "700\n",
			"memory.stat": "anon 600\ninactive_file 90\n"}, 390, true},
		{map[string]string{"memory.max": "1000\n", "memory.current": "1700\n"}, 0, true},
		{map[string]string{"memory.max": "max\n", "memory.current": "700\n"}, 0, false},
		{map[string]string{"memory/memory.limit_in_bytes": "1000\n", "memory/memory.usage_in_bytes": "300\n",
			"memory/memory.stat": "inactive_file 20\n"}, 720, true},
		{map[string]string{"memory/a/b/memory.limit_in_bytes": "100\n",
			"memory/a/b/memory.usage_in_bytes": "30\n", "memory/memory.limit_in_bytes": "1000\n",
			"memory/memory.usage_in_bytes": "30\n"}, 70, true},
		{nil, 0, false},
	} {
		left, limited := groupLeft(write(c.files), "12:pids:/x\n4:memory:/a/b\n0::/\n")
		if int64(left) != c.left || limited != c.limited {
			t.Errorf("%v: %d left, limited %v; want %d, %v", c.files, int64(left), limited, c.left, c.limited)
		}
	}
}

func BenchmarkProbe(b *testing.B) {
	for b.Loop() {
		if _, err := Run(); err != nil {
			b.Fatal(err)
		}
	}
}

// A chase draws every place alike, reads nothing but zeros, and takes longer in memory than in a cache.
func TestChase(t *testing.T) {
	buffer := make([]byte, 64<<20)
	for i := range buffer {
		buffer[i] = 0
	}
	for _, c := range []Chase{Alone(1 << 14), Together(1 << 14),
		{Places: 255, Stride: 64, Chains: 4, Ahead: true, Next: true}} {
		at := make([]uint64, c.Chains)
		for i := range at {
			at[i] = uint64(i)
		}
		counts := make([]int, 4) // of places by quarters
		for range 400 {
			for _, x := range at {
				counts[x>>62]++
			}
			c.walk(buffer, at, 1)
		}
		for _, n := range counts {
			if want := 100 * c.Chains; n < want*3/4 || n > want*5/4 {
				t.Errorf("%+v: %v reads by quarters, want %d each", c, counts, want)
			}
		}
	}
	small, large := Alone(1<<12).Seconds(buffer, 5, 1<<12), Alone(64<<20).Seconds(buffer, 5, 1<<12)
	if small <= 0 || large < 2*small || large > 1e-4 {
		t.Errorf("%v s in 4 KiB, %v in 64 MiB", small, large)
	}
	if together := Together(64<<20).Seconds(buffer, 5, 1<<14); together > 2*large { // far less, but noise
		t.Errorf("a step of chains together takes %v s, alone %v", together, large)
	}
}

// A place outside of the buffer is a mistake of the caller.
func TestChaseStaysInItsBuffer(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a chase of 65 lines in a buffer of 64")
		}
	}()
	Chase{Places: 65, Stride: 64, Chains: 1}.Seconds(make([]byte, 64*64), 1, 1)
}
