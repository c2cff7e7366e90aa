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
	return totalMemory(string(text))
}

// totalMemory parses the total from the text of /proc/meminfo, whose first line is "MemTotal: 32768 kB" with
// kB of 1024 bytes. It returns 0 if there is none.
func totalMemory(text string) unit.Bytes {
	for line := range strings.Lines(text) {
		var kilobytes int64
		if n, _ := fmt.Sscanf(line, "MemTotal: %d kB", &kilobytes); n == 1 {
			return unit.Bytes(kilobytes) << 10
		}
	}
	return 0
}
