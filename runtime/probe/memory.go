package probe

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"tandem/algo/unit"
)

// installed returns the machine's memory, or 0 on systems without /proc/meminfo.
func installed() unit.Bytes {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	return memoryOf(string(text), "MemTotal")
}

// memoryOf parses an amount from the text of /proc/meminfo, which has lines such as "MemTotal: 32768 kB"
// with kB of 1024 bytes. It returns 0 if there is none.
func memoryOf(text, name string) unit.Bytes {
	for line := range strings.Lines(text) {
		var kilobytes int64
		if n, _ := fmt.Sscanf(line, name+": %d kB", &kilobytes); n == 1 {
			return unit.Bytes(kilobytes) << 10
		}
	}
	return 0
}

// Available returns the memory that this program may still take without harm to others: what is free on the
// machine or, if that is less, within the limit of its control group. It is 0 on systems without
// /proc/meminfo.
func Available() unit.Bytes {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	free := memoryOf(string(text), "MemAvailable")
	groups, _ := os.ReadFile("/proc/self/cgroup")
	if left, limited := groupLeft("/sys/fs/cgroup", string(groups)); limited {
		free = min(free, left)
	}
	return free
}

// groupLeft returns what the control groups of a process may still take, if one of them is limited. They are
// below a folder, where /proc/self/cgroup says, or the folder itself in a container.
func groupLeft(root, groups string) (left unit.Bytes, limited bool) {
	folders := []string{root, filepath.Join(root, "memory")}
	for line := range strings.Lines(groups) { // number:controllers:path
		if parts := strings.SplitN(strings.TrimSpace(line), ":", 3); len(parts) == 3 {
			folders = append(folders, filepath.Join(root, parts[2]), filepath.Join(root, "memory", parts[2]))
		}
	}
	for _, folder := range folders {
		of, limits := leftIn(folder)
		if limits && (!limited || of < left) {
			left, limited = of, true
		}
	}
	return left, limited
}

// leftIn returns what one control group may still take, if it is limited. Pages of files that were read and
// are not in use do not count as taken.
func leftIn(folder string) (left unit.Bytes, limited bool) {
	for _, names := range [][2]string{
		{"memory.max", "memory.current"}, // version 2 of control groups
		{"memory.limit_in_bytes", "memory.usage_in_bytes"},
	} {
		most, known := bytesIn(filepath.Join(folder, names[0]))
		taken, measured := bytesIn(filepath.Join(folder, names[1]))
		if !known || !measured {
			continue
		}
		stat, _ := os.ReadFile(filepath.Join(folder, "memory.stat"))
		var idle int64
		for line := range strings.Lines(string(stat)) {
			if n, _ := fmt.Sscanf(line, "inactive_file %d", &idle); n == 1 {
				break
			}
		}
		return max(most-taken+unit.Bytes(idle), 0), true
	}
	return 0, false
}

// bytesIn returns the number of bytes that a file names. It returns false if there is none, or no limit.
func bytesIn(name string) (unit.Bytes, bool) {
	text, err := os.ReadFile(name)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return unit.Bytes(n), err == nil
}
