package peers

import (
	"bytes"
	"context"
	_ "embed" // of SimGrid's side
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

//go:embed simgrid/driver.cpp
var driverSource []byte

// errAbsent is wrapped by the error about a machine without SimGrid.
var errAbsent = errors.New("SimGrid is absent")

// compiler is the C++ compiler.
const compiler = "c++"

// simgrid is the compiled driver in a folder of its own.
type simgrid struct{ folder string }

// buildSimGrid compiles the driver. The error wraps errAbsent if the compiler or SimGrid's headers are not
// found.
func buildSimGrid(ctx context.Context) (*simgrid, error) {
	if _, err := exec.LookPath(compiler); err != nil {
		return nil, fmt.Errorf("%w: there is no compiler %s", errAbsent, compiler)
	}
	probe := exec.CommandContext(ctx, compiler, "-std=c++17", "-x", "c++", "-E", "-o", os.DevNull, "-")
	probe.Stdin = strings.NewReader("#include <simgrid/s4u.hpp>\n")
	if _, err := output(probe); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("%w: %s finds no header simgrid/s4u.hpp (Debian: apt install libsimgrid-dev)",
			errAbsent, compiler)
	}
	folder, err := os.MkdirTemp("", "tandem-peers-")
	if err != nil {
		return nil, fmt.Errorf("cannot create a folder for the driver of SimGrid: %w", err)
	}
	s := &simgrid{folder}
	source := filepath.Join(folder, "driver.cpp")
	if err := os.WriteFile(source, driverSource, 0o600); err != nil {
		s.remove()
		return nil, err
	}
	build := exec.CommandContext(ctx, compiler, "-std=c++17", "-O3", "-o", s.driver(), source, "-lsimgrid")
	if _, err := output(build); err != nil {
		s.remove()
		return nil, fmt.Errorf("cannot compile the driver of SimGrid: %w", err)
	}
	return s, nil
}

// driver returns the path of the compiled driver.
func (s *simgrid) driver() string { return filepath.Join(s.folder, "driver") }

// remove deletes the driver.
func (s *simgrid) remove() { _ = os.RemoveAll(s.folder) } // the rest is in the system's temporary folder

// simgridRun is the result of a run of SimGrid.
type simgridRun struct {
	version  string
	wall     time.Duration // of the simulation, without the construction of the network
	finishes []float64     // by flow, in seconds
}

// run simulates a network with options of SimGrid.
func (s *simgrid) run(ctx context.Context, w *network, options ...string) (*simgridRun, error) {
	command := exec.CommandContext(ctx, s.driver(), options...)
	command.Stdin = strings.NewReader(w.text())
	text, err := output(command)
	if err != nil {
		return nil, fmt.Errorf("SimGrid failed: %w", err)
	}
	return parseRun(text, len(w.Flows))
}

// parseRun reads the output of the driver.
func parseRun(text []byte, flows int) (*simgridRun, error) {
	r := &simgridRun{finishes: make([]float64, flows)}
	in := bytes.NewReader(text)
	var seconds float64
	if _, err := fmt.Fscan(in, &r.version, &seconds); err != nil {
		return nil, fmt.Errorf("the output of the driver has no version and time: %w", err)
	}
	r.wall = time.Duration(seconds * float64(time.Second))
	for i := range r.finishes {
		if _, err := fmt.Fscan(in, &r.finishes[i]); err != nil {
			return nil, fmt.Errorf("the output of the driver has %d of %d flows: %w", i, flows, err)
		}
	}
	return r, nil
}

// output runs a command and returns its standard output. An error has the last line of standard error.
func output(command *exec.Cmd) ([]byte, error) {
	text, err := command.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		lines := strings.Split(strings.TrimSpace(string(exit.Stderr)), "\n")
		return nil, fmt.Errorf("%w; stderr: %s", err, lines[len(lines)-1])
	}
	return text, err
}
