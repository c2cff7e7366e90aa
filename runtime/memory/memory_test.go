package memory_test

import (
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"tandem/runtime/memory"
)

// Slabs of any sizes are aligned, zero and disjoint.
func TestSlabsAreZeroAndApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var arena memory.Arena
		defer arena.Close()
		var slabs [][]byte
		for i, size := range rapid.SliceOfN(rapid.OneOf(rapid.IntRange(1, 300), rapid.IntRange(1<<20, 5<<20)),
			1, 12).Draw(t, "sizes") {
			slab, err := arena.Slab(size)
			if err != nil {
				t.Fatal(err)
			}
			if len(slab) != size || cap(slab) != size || uintptr(unsafe.Pointer(&slab[0]))%64 != 0 {
				t.Fatalf("slab of %d bytes, capacity %d at %p; want %d aligned to 64", len(slab), cap(slab),
					&slab[0], size)
			}
			for _, at := range []int{0, size / 2, size - 1} {
				if slab[at] != 0 {
					t.Fatalf("byte %d of slab %d is %d", at, i, slab[at])
				}
			}
			slab[0], slab[size-1] = byte(i+1), byte(i+1)
			slabs = append(slabs, slab)
		}
		for i, slab := range slabs {
			if slab[0] != byte(i+1) || slab[len(slab)-1] != byte(i+1) {
				t.Fatalf("slab %d has been written through another", i)
			}
		}
	})
}

// Touched memory is resident, and memory that is not touched is not. What is resident is within the arena's
// memory, and huge pages are a part of it.
func TestUseIsWhatIsTouched(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the system does not tell")
	}
	var arena memory.Arena
	defer arena.Close()
	const size = 32 << 20
	slab, err := arena.Slab(size)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < size/2; i += 4096 {
		slab[i] = 1
	}
	use, err := arena.Use()
	if err != nil {
		t.Fatal(err)
	}
	if use.Allocated != size || use.Resident < size/2 || use.Resident > size/2+(4<<20) ||
		use.Huge > use.Resident || use.Huge%(2<<20) != 0 {
		t.Errorf("given %v, resident %v, huge %v; want %d given, half of it touched", use.Allocated,
			use.Resident, use.Huge, size)
	}
}

// An arena of small pages has no huge ones.
func TestSmallPages(t *testing.T) {
	arena := memory.Arena{SmallPages: true}
	defer arena.Close()
	slab, err := arena.Slab(8 << 20)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(slab); i += 4096 {
		slab[i] = 1
	}
	if use, err := arena.Use(); err != nil || use.Huge != 0 || use.Resident > 9<<20 {
		t.Errorf("use %+v, error %v, want no huge pages", use, err)
	}
}

func TestCloseFreesMemory(t *testing.T) {
	var arena memory.Arena
	if _, err := arena.Slab(3 << 20); err != nil {
		t.Fatal(err)
	}
	if err := arena.Close(); err != nil {
		t.Fatal(err)
	}
	if use, err := arena.Use(); err != nil || use != (memory.Use{}) {
		t.Errorf("%+v, %v after Close", use, err)
	}
	if _, err := arena.Slab(1); !errors.Is(err, memory.ErrClosed) {
		t.Errorf("error %v, want %v", err, memory.ErrClosed)
	}
	if err := arena.Close(); err != nil {
		t.Error(err)
	}
}

// More memory than there are addresses is an error that says what to do.
func TestTooMuchIsAnError(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("Go's heap does not fail, it ends the process")
	}
	var arena memory.Arena
	defer arena.Close()
	if slab, err := arena.Slab(1 << 50); err == nil {
		t.Errorf("a PiB was given: %d bytes", len(slab))
	} else if !strings.HasSuffix(err.Error(), "; lower rows.memory, or use more machines") {
		t.Errorf("error %v", err)
	}
	if slab, err := arena.Slab(64); err != nil || !slices.Equal(slab, make([]byte, 64)) {
		t.Errorf("nothing more after a refusal: %v", err)
	}
}
