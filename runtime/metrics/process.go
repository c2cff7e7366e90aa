package metrics

import (
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
)

// process adds the metrics of every process.
func (s *Server) process(to *Snapshot, program, commit string) {
	to.Add(BuildInfo, 1, "program", program, "commit", commit, "go", runtime.Version())
	to.Add(StartTime, float64(s.started.UnixMilli())/1e3)
	samples := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(samples)
	to.Add(HeapMemory, float64(samples[0].Value.Uint64()))
	to.Add(Goroutines, float64(runtime.NumGoroutine()))
	if seconds, ok := cpuSeconds(); ok {
		to.Add(CPUTime, seconds)
	}
	if bytes, ok := residentBytes(); ok {
		to.Add(ResidentMemory, bytes)
	}
}

// residentBytes returns the resident memory, where the system has /proc.
func residentBytes() (float64, bool) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, false
	}
	fields := strings.Fields(string(text)) // in pages: size, resident, …
	if len(fields) < 2 {
		return 0, false
	}
	pages, err := strconv.ParseFloat(fields[1], 64)
	return pages * float64(os.Getpagesize()), err == nil
}
