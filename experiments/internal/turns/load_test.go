package turns

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// The load is that of all threads of this process and its children, and of no other process.
func TestLoad(t *testing.T) {
	proc := t.TempDir()
	thread := func(pid, tid, parent, voluntary, other, nanoseconds int) {
		folder := filepath.Join(proc, fmt.Sprint(pid))
		for name, text := range map[string]string{
			"status": fmt.Sprintf("Name:\ta: node\nPid:\t%d\nPPid:\t%d\n", pid, parent),
			fmt.Sprintf("task/%d/status", tid): fmt.Sprintf("Name:\tnode\nvoluntary_ctxt_switches:\t%d\n"+
				"nonvoluntary_ctxt_switches:\t%d\n", voluntary, other),
			fmt.Sprintf("task/%d/schedstat", tid): fmt.Sprintf("%d 5 6\n", nanoseconds),
		} {
			path := filepath.Join(folder, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	thread(10, 10, 1, 1, 2, 1e9)
	thread(10, 11, 1, 10, 20, 2e9)
	thread(12, 12, 10, 100, 200, 3e9)
	thread(13, 13, 1, 1000, 2000, 4e9)
	if got := CurrentLoad(proc, 10); got != (Load{333, 6}) {
		t.Errorf("load %v, want that of processes 10 and 12", got)
	}
	if got := CurrentLoad(t.TempDir(), 10); !math.IsNaN(got.Switches) || !math.IsNaN(got.CPU) {
		t.Errorf("load %v without /proc, want NaN", got)
	}
}
