package memory

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"tandem/algo/unit"
)

// reserve maps memory that begins at a multiple of a huge page, and asks for huge pages or for small ones. A
// system that is configured never to give huge pages gives small ones.
func reserve(bytes int, small bool) ([]byte, error) {
	const mode = unix.MAP_ANON | unix.MAP_PRIVATE | unix.MAP_NORESERVE
	mapped, err := unix.MmapPtr(-1, 0, nil, uintptr(bytes+hugePage), unix.PROT_READ|unix.PROT_WRITE, mode)
	if err != nil {
		return nil, err
	}
	// Unmap the excess before and behind.
	skip := -uintptr(mapped) % hugePage
	start := unsafe.Add(mapped, skip)
	if skip > 0 {
		_ = unix.MunmapPtr(mapped, skip)
	}
	if behind := hugePage - skip; behind > 0 {
		_ = unix.MunmapPtr(unsafe.Add(start, bytes), behind)
	}
	region := unsafe.Slice((*byte)(start), bytes)
	pages := unix.MADV_HUGEPAGE
	if small {
		pages = unix.MADV_NOHUGEPAGE
	}
	_ = unix.Madvise(region, pages)
	return region, nil
}

// release unmaps a region.
func release(region []byte) error {
	return unix.MunmapPtr(unsafe.Pointer(&region[0]), uintptr(len(region)))
}

// measure adds up what /proc/self/smaps reports about the mappings within regions. Adjacent regions may be
// one mapping.
func measure(regions [][]byte) (resident, huge unit.Bytes, err error) {
	maps, err := os.Open("/proc/self/smaps")
	if err != nil {
		return 0, 0, fmt.Errorf("memory: %w", err)
	}
	defer maps.Close()
	ours := false
	lines := bufio.NewScanner(maps)
	for lines.Scan() {
		first, rest, _ := strings.Cut(lines.Text(), " ")
		if from, to, isRange := addresses(first); isRange {
			ours = within(regions, from, to)
			continue
		}
		var sum *unit.Bytes
		switch first {
		case "Rss:":
			sum = &resident
		case "AnonHugePages:":
			sum = &huge
		}
		if !ours || sum == nil {
			continue
		}
		kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
		if err != nil {
			return 0, 0, fmt.Errorf("memory: smaps: %w", err)
		}
		*sum += unit.Bytes(kib << 10)
	}
	return resident, huge, lines.Err()
}

// addresses parses the address range at the beginning of a mapping.
func addresses(text string) (from, to uintptr, ok bool) {
	low, high, found := strings.Cut(text, "-")
	if !found {
		return 0, 0, false
	}
	a, errA := strconv.ParseUint(low, 16, 64)
	b, errB := strconv.ParseUint(high, 16, 64)
	return uintptr(a), uintptr(b), errA == nil && errB == nil
}

// within reports whether a mapping overlaps a region.
func within(regions [][]byte, from, to uintptr) bool {
	for _, r := range regions {
		if start := uintptr(unsafe.Pointer(&r[0])); start < to && from < start+uintptr(len(r)) {
			return true
		}
	}
	return false
}
