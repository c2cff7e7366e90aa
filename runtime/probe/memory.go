package probe

import (
	"fmt"
	"os"
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

// Available returns the memory that programs may still take without harm to others, or 0 on systems without
// /proc/meminfo.
func Available() unit.Bytes {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	return memoryOf(string(text), "MemAvailable")
}
