// Package script runs an external program, for example PyTorch in Python, and sends requests to it. Requests
// and responses are lines of JSON on its standard input and output.
//
// A request is an object with the key "do". A response is an object; {"error": text} says that the request
// failed. Standard error is kept for the errors of this package.
package script

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// responseMax is the largest response, in bytes; the process of a longer one is stopped.
const responseMax = 16 << 20

// Process is a program that answers requests. Its methods are for one goroutine at a time.
type Process struct {
	name        string // in errors
	command     *exec.Cmd
	requests    io.WriteCloser
	responses   chan []byte   // closed at the end of the output of the process
	stderr      bytes.Buffer  // to be read when the process has ended
	timeout     time.Duration // for a response
	exitTimeout time.Duration // for the end of the process
	exit        error         // how the process ended, once it has
}

// Failure is an error that the program reports of a request; it can be asked further ones.
type Failure struct {
	Program, Do string
	Text        string // what the program says
}

// Error implements error.
func (f *Failure) Error() string { return fmt.Sprintf("%s failed in %q: %s", f.Program, f.Do, f.Text) }

// Options say how a program is started.
type Options struct {
	Name         string        // in errors, such as "PyTorch"
	Env          []string      // its environment
	HelloTimeout time.Duration // for the response to "hello", which comes when the program is ready
	Timeout      time.Duration // for any other response
}

// Start starts a program with some arguments, which ends with ctx or with Close, and reads its response to
// "hello" into about. An error is one line.
func Start(ctx context.Context, o Options, about any, program string, args ...string) (*Process, error) {
	if _, err := exec.LookPath(program); err != nil {
		return nil, fmt.Errorf("there is no Python interpreter %q", program)
	}
	p := &Process{
		name: o.Name, command: exec.CommandContext(ctx, program, args...), responses: make(chan []byte),
		timeout: o.HelloTimeout, exitTimeout: 5 * time.Second,
	}
	p.command.Env, p.command.Stderr, p.command.WaitDelay = o.Env, &p.stderr, time.Second
	var err error
	if p.requests, err = p.command.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.command.Start(); err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", program, err)
	}
	go func() {
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, responseMax)
		for lines.Scan() {
			p.responses <- append([]byte(nil), lines.Bytes()...)
		}
		close(p.responses)
	}()
	if err := p.Request(ctx, "hello", nil, about); err != nil {
		p.Close()
		_, rest, _ := strings.Cut(p.lastError(), "ModuleNotFoundError: No module named '")
		if module, _, missing := strings.Cut(rest, "'"); missing {
			return nil, fmt.Errorf("%s has no module %s", program, module)
		}
		return nil, err
	}
	p.timeout = o.Timeout
	return p, nil
}

// Request sends a request with additional fields and reads the response.
func (p *Process) Request(ctx context.Context, do string, fields map[string]any, response any) error {
	request := map[string]any{"do": do}
	for name, v := range fields {
		request[name] = v
	}
	line, err := json.Marshal(request)
	if err != nil {
		return err
	}
	if _, err := p.requests.Write(append(line, '\n')); err != nil {
		return p.exitError(do)
	}
	late := time.NewTimer(p.timeout)
	defer late.Stop()
	select {
	case line, alive := <-p.responses:
		if !alive {
			return p.exitError(do)
		}
		return p.read(line, do, response)
	case <-late.C:
		_ = p.command.Process.Kill() // it may have ended just now
		_ = p.end()
		return fmt.Errorf("%s did not respond to %q within %v and was stopped%s", p.name, do, p.timeout,
			p.lastError())
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// read parses a response, which may be an error of the peer.
func (p *Process) read(line []byte, do string, response any) error {
	var failed struct{ Error string }
	if err := json.Unmarshal(line, &failed); err != nil {
		return fmt.Errorf("%s's response to %q is not a JSON object: %q", p.name, do, line)
	}
	if failed.Error != "" {
		return &Failure{Program: p.name, Do: do, Text: failed.Error}
	}
	return json.Unmarshal(line, response)
}

// exitError waits for the end of the process and returns an error with its exit status.
func (p *Process) exitError(do string) error {
	err := p.end()
	if err == nil {
		err = errors.New("exit status 0")
	}
	return fmt.Errorf("%s's process ended (%w) before it responded to %q%s", p.name, err, do, p.lastError())
}

// end discards further output, waits for the end of the process and kills it after a timeout. Later calls
// return the same error: a process can be waited for once.
func (p *Process) end() error {
	if p.command.ProcessState != nil {
		return p.exit
	}
	stop := time.AfterFunc(p.exitTimeout, func() { _ = p.command.Process.Kill() })
	defer stop.Stop()
	for range p.responses {
	}
	p.exit = p.command.Wait()
	return p.exit
}

// Close ends the process and waits for it.
func (p *Process) Close() {
	_ = p.requests.Close() // the process ends at the end of its input
	_ = p.end()            // its exit status no longer matters
}

// lastError returns the last line that a process that has ended has written to standard error, as the end
// of a sentence, or "" if there is none. A Python traceback ends with the error.
func (p *Process) lastError() string {
	lines := strings.Split(strings.TrimSpace(p.stderr.String()), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return "; stderr: " + last
	}
	return ""
}
