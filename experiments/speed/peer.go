package speed

import (
	"bufio"
	"context"
	_ "embed" // of PyTorch's side
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"tandem/algo/numeric/isa"
)

//go:embed peer.py
var peerScript string

// peer is PyTorch or FBGEMM in a separate process. Requests and responses are lines of JSON: see peer.py.
type peer struct {
	name        string // in errors
	about       about
	command     *exec.Cmd
	requests    io.WriteCloser
	responses   chan []byte // closed at the end of the output of the process
	stderr      *stderrTail
	timeout     time.Duration // for a response
	exitTimeout time.Duration // for the end of the process
}

// about is the description of a peer by itself.
type about struct {
	Python     string `json:"python" yaml:"python"`
	Torch      string `json:"torch" yaml:"torch"`
	BLAS       string `json:"blas" yaml:"blas"`
	Capability string `json:"capability" yaml:"capability"` // vector instructions of its own kernels
	Fused      bool   `json:"fused" yaml:"fused-adam"`      // whether Adam can run fused
	// CoreType is the environment variable OPENBLAS_CORETYPE of the process, empty if unset.
	FBGEMM   string `json:"fbgemm" yaml:"fbgemm,omitempty"` // its version, of the peer that uses it
	CoreType string `json:"openblas_coretype" yaml:"openblas-coretype,omitempty"`
}

// String returns the description of a peer for the notes of a report.
func (a about) String() string {
	text := fmt.Sprintf("PyTorch %s (BLAS %s, own kernels %s, Python %s)", a.Torch, a.BLAS, a.Capability,
		a.Python)
	if strings.Contains(a.BLAS, "open") && a.CoreType != "" {
		text += ", OPENBLAS_CORETYPE=" + a.CoreType
	}
	return text
}

// Timeouts for the import of PyTorch and for a response: ten times the longest time that was measured.
const (
	helloTimeout    = 3 * time.Minute
	responseTimeout = 10 * time.Minute
)

// startPeer starts a peer in a Python interpreter, which ends with ctx or with Close. An error is one line.
func startPeer(ctx context.Context, python string) (*peer, error) {
	return startNamed(ctx, "PyTorch", python, "-c", peerScript)
}

// startFBGEMM starts the peer of sparse steps that uses FBGEMM.
func startFBGEMM(ctx context.Context, python string) (*peer, error) {
	return startNamed(ctx, "FBGEMM", python, "-c", peerScript, "fbgemm")
}

func startNamed(ctx context.Context, name, python string, args ...string) (*peer, error) {
	p, err := startScript(ctx, name, helloTimeout, python, args...)
	if err == nil {
		p.timeout = responseTimeout
	}
	return p, err
}

// startScript starts a program that implements the protocol.
func startScript(ctx context.Context, name string, timeout time.Duration, program string, args ...string,
) (*peer, error) {
	if _, err := exec.LookPath(program); err != nil {
		return nil, fmt.Errorf("there is no Python interpreter %q", program)
	}
	p := &peer{
		name:    name,
		command: exec.CommandContext(ctx, program, args...), stderr: &stderrTail{},
		responses: make(chan []byte), timeout: timeout, exitTimeout: 5 * time.Second,
	}
	p.command.Env, p.command.Stderr, p.command.WaitDelay = peerEnvironment(), p.stderr, time.Second
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
		for lines := bufio.NewScanner(out); lines.Scan(); {
			p.responses <- append([]byte(nil), lines.Bytes()...)
		}
		close(p.responses)
	}()
	if err := p.request(ctx, "hello", nil, &p.about); err != nil {
		p.Close()
		if module := p.stderr.missingModule(); module != "" {
			return nil, fmt.Errorf("%s has no module %s", program, module)
		}
		return nil, err
	}
	return p, nil
}

// peerEnvironment returns the environment of this process with settings that make PyTorch faster, unless
// they are set: AVX-512 in Debian's OpenBLAS, which does not recognise some processors, and huge pages for
// large tensors, as for Tandem's rows.
func peerEnvironment() []string {
	env := os.Environ()
	add := func(name, value string) {
		if _, set := os.LookupEnv(name); !set {
			env = append(env, name+"="+value)
		}
	}
	add("THP_MEM_ALLOC_ENABLE", "1")
	if isa.Best() == isa.AVX512 {
		add("OPENBLAS_CORETYPE", "SkylakeX")
	}
	return env
}

// request sends a request with additional fields and reads the response.
func (p *peer) request(ctx context.Context, do string, fields map[string]any, response any) error {
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
		return fmt.Errorf("%s did not respond to %q within %v and was stopped%s", p.name, do, p.timeout,
			p.stderr)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// read parses a response, which may be an error of the peer.
func (p *peer) read(line []byte, do string, response any) error {
	var failed struct{ Error string }
	if err := json.Unmarshal(line, &failed); err != nil {
		return fmt.Errorf("%s's response to %q is not a JSON object: %q", p.name, do, line)
	}
	if failed.Error != "" {
		return fmt.Errorf("%s failed in %q: %s", p.name, do, failed.Error)
	}
	return json.Unmarshal(line, response)
}

// exitError waits for the end of the process and returns an error with its exit status.
func (p *peer) exitError(do string) error {
	err := p.end()
	if err == nil {
		err = errors.New("exit status 0")
	}
	return fmt.Errorf("%s's process ended (%w) before it responded to %q%s", p.name, err, do, p.stderr)
}

// end discards further output, waits for the end of the process and kills it after a timeout.
func (p *peer) end() error {
	stop := time.AfterFunc(p.exitTimeout, func() { _ = p.command.Process.Kill() })
	defer stop.Stop()
	for range p.responses {
	}
	return p.command.Wait()
}

// Close ends the process and waits for it.
func (p *peer) Close() {
	if p.command.ProcessState != nil {
		return // it has ended
	}
	_ = p.requests.Close() // the process ends at the end of its input
	_ = p.end()            // its exit status no longer matters
}

// open implements side.
func (p *peer) open(ctx context.Context, c *prepared) (warmState, error) {
	var o warmState
	err := p.request(ctx, "open", map[string]any{"case": c.forPeer(), "warm_ups": c.warmUps()}, &o)
	return o, err
}

// run implements side.
func (p *peer) run(ctx context.Context, steps int) (time.Duration, error) {
	var took struct{ Seconds float64 }
	err := p.request(ctx, "run", map[string]any{"steps": steps}, &took)
	return time.Duration(took.Seconds * float64(time.Second)), err
}

// close implements side.
func (p *peer) close(ctx context.Context) error { return p.request(ctx, "close", nil, &struct{}{}) }

// stderrTail keeps the end of the standard error of a process.
type stderrTail struct {
	mu   sync.Mutex // the process writes while others read
	text []byte
}

// Write implements io.Writer.
func (w *stderrTail) Write(p []byte) (int, error) {
	const most = 4096
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, p...)
	w.text = w.text[max(len(w.text)-most, 0):]
	return len(p), nil
}

// line returns the last line. A Python traceback ends with the error.
func (w *stderrTail) line() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(w.text)), "\n")
	return lines[len(lines)-1]
}

// String returns the last line as the end of a sentence, or "" if there is none.
func (w *stderrTail) String() string {
	if line := w.line(); line != "" {
		return "; stderr: " + line
	}
	return ""
}

// missingModule returns the name of a module that Python did not find, or "".
func (w *stderrTail) missingModule() string {
	_, rest, _ := strings.Cut(w.line(), "ModuleNotFoundError: No module named '")
	module, _, _ := strings.Cut(rest, "'")
	return module
}
