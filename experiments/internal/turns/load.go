package turns

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Load is what all threads of this process and of its children have done since their start. It is NaN on
// systems without /proc.
type Load struct {
	Switches float64 // context switches
	CPU      float64 // seconds on a core
}

// Minus returns the load since an earlier one.
func (l Load) Minus(earlier Load) Load {
	return Load{l.Switches - earlier.Switches, l.CPU - earlier.CPU}
}

// CurrentLoad reads the load in a folder such as /proc. Threads that have ended do not count; the threads of
// a Go program live as long as it does.
func CurrentLoad(proc string, self int) Load {
	var sum Load
	processes, _ := filepath.Glob(filepath.Join(proc, "[0-9]*"))
	for _, process := range processes {
		if s := statusOf(process); s["Pid"] != float64(self) && s["PPid"] != float64(self) {
			continue
		}
		threads, _ := filepath.Glob(filepath.Join(process, "task", "*"))
		for _, thread := range threads {
			s := statusOf(thread)
			sum.Switches += s["voluntary_ctxt_switches"] + s["nonvoluntary_ctxt_switches"]
			schedule, _ := os.ReadFile(filepath.Join(thread, "schedstat"))
			var nanoseconds float64
			_, _ = fmt.Sscan(string(schedule), &nanoseconds) // 0 if the thread has just ended
			sum.CPU += nanoseconds / 1e9
		}
	}
	if sum == (Load{}) {
		return Load{math.NaN(), math.NaN()}
	}
	return sum
}

// statusOf returns the numbers in the status of a process or thread, none if it has just ended.
func statusOf(folder string) map[string]float64 {
	text, _ := os.ReadFile(filepath.Join(folder, "status"))
	numbers := map[string]float64{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		numbers[name], _ = strconv.ParseFloat(strings.TrimSpace(value), 64) // 0 for a text
	}
	return numbers
}
