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
	folders, _ := filepath.Glob(filepath.Join(proc, "[0-9]*"))
	for _, folder := range folders {
		pid, err := strconv.Atoi(filepath.Base(folder))
		if err != nil || pid != self && parent(folder) != self {
			continue
		}
		threads, _ := filepath.Glob(filepath.Join(folder, "task", "*"))
		for _, thread := range threads {
			sum.add(thread)
		}
	}
	if sum == (load{}) {
		return load{math.NaN(), math.NaN()}
	}
	return sum
}

// parent returns the id of the parent of a process, or 0 if the process has ended.
func parent(folder string) int {
	text, _ := os.ReadFile(filepath.Join(folder, "stat"))
	// The name of the program is in parentheses and may have spaces; the state and the parent follow.
	fields := strings.Fields(string(text[strings.LastIndex(string(text), ")")+1:]))
	if len(fields) < 2 {
		return 0
	}
	id, _ := strconv.Atoi(fields[1])
	return id
}

// add adds the load of a thread. One that has just ended counts for nothing.
func (l *load) add(thread string) {
	status, _ := os.ReadFile(filepath.Join(thread, "status"))
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name == "voluntary_ctxt_switches" || name == "nonvoluntary_ctxt_switches" {
			n, _ := strconv.ParseFloat(strings.TrimSpace(value), 64)
			l.switches += n
		}
	}
	schedule, _ := os.ReadFile(filepath.Join(thread, "schedstat"))
	var nanoseconds float64
	if _, err := fmt.Sscan(string(schedule), &nanoseconds); err == nil {
		l.cpu += nanoseconds / 1e9
	}
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
