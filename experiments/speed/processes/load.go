package processes

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// load is what all threads of this process and of its children have done since their start. It is NaN on
// systems without /proc.
type load struct {
	switches float64 // context switches
	cpu      float64 // seconds on a core
}

// minus returns the load since an earlier one.
func (l load) minus(earlier load) load {
	return load{l.switches - earlier.switches, l.cpu - earlier.cpu}
}

// currentLoad reads the load in a folder such as /proc. Threads that have ended do not count; the threads of
// a Go program live as long as it does.
func currentLoad(proc string, self int) load {
	var sum load
	processes, _ := filepath.Glob(filepath.Join(proc, "[0-9]*"))
	for _, process := range processes {
		if s := statusOf(process); s["Pid"] != float64(self) && s["PPid"] != float64(self) {
			continue
		}
		threads, _ := filepath.Glob(filepath.Join(process, "task", "*"))
		for _, thread := range threads {
			s := statusOf(thread)
			sum.switches += s["voluntary_ctxt_switches"] + s["nonvoluntary_ctxt_switches"]
			schedule, _ := os.ReadFile(filepath.Join(thread, "schedstat"))
			var nanoseconds float64
			_, _ = fmt.Sscan(string(schedule), &nanoseconds) // 0 if the thread has just ended
			sum.cpu += nanoseconds / 1e9
		}
	}
	if sum == (load{}) {
		return load{math.NaN(), math.NaN()}
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

// meter measures the load of a step between a tenth and nine tenths of a run, while the pipeline is full and
// no process starts or ends.
type meter struct {
	read        func() load
	first, last load
	from, to    int // steps
}

// progress receives the number of steps that are done.
func (m *meter) progress(done, steps int) {
	if m.from == 0 && 10*done >= steps {
		m.from, m.first = done, m.read()
	}
	if m.to == 0 && 10*done >= 9*steps {
		m.to, m.last = done, m.read()
	}
}

// perStep returns the load of a step; NaN if progress was reported too rarely.
func (m *meter) perStep() load {
	steps := float64(m.to - m.from)
	if steps <= 0 {
		return load{math.NaN(), math.NaN()}
	}
	l := m.last.minus(m.first)
	return load{l.switches / steps, l.cpu / steps}
}
