package torch

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"
)

//go:embed python/tandem/worker.py
var program string

// request is a line to a process.
type request struct {
	Do      string `json:"do"`
	Pass    int    `json:"pass,omitempty"`
	Area    int    `json:"area,omitempty"`
	Params  int    `json:"params,omitempty"` // an area
	Samples int    `json:"samples"`
	Train   bool   `json:"train"`
	Random  bool   `json:"random"` // it draws random numbers
	Seed    uint64 `json:"seed,omitempty"`
	Offset  int64  `json:"offset"`
	Floats  int    `json:"floats,omitempty"`
}

// reply is a line of a process.
type reply struct {
	Pass    int       `json:"pass"` // 0: of a request without one
	Running []float32 `json:"running"`
	Error   string    `json:"error"`
	text    []byte
}

// worker is the process of a rank. Its methods may be called by several goroutines; replies to a pass go to
// the one that uses it.
type worker struct {
	name     string // for errors
	limit    time.Duration
	fail     func(error) // ends all processes of the module, kills this one
	command  *exec.Cmd
	ended    chan struct{} // closed when the process is gone
	requests *os.File
	life     *os.File // the process ends when it is closed

	mu      sync.Mutex
	replies map[int]chan reply // by pass
	mapped  map[int]bool       // areas
	err     error
	dead    chan struct{} // closed with err
	asking  sync.Mutex    // held from a request without a pass until its reply
}

// start starts a process with some shared memory, whose failure calls fail. It does not wait until it is
// ready.
func (m *Modules) start(config []byte, shared *memory, name string, fail func(error)) (*worker, error) {
	python, err := m.find()
	if err != nil {
		return nil, err
	}
	var ends [6]*os.File // read and write end of requests, replies and life
	for i := 0; i < len(ends); i += 2 {
		if ends[i], ends[i+1], err = os.Pipe(); err != nil {
			return nil, err
		}
	}
	w := &worker{name: name, limit: m.Limit, fail: fail, requests: ends[1], life: ends[5],
		replies: map[int]chan reply{0: make(chan reply, 1)}, mapped: map[int]bool{},
		dead: make(chan struct{}), ended: make(chan struct{})}
	w.command = exec.Command(python, "-u", "-c", program)
	// Descriptors 3 to 6 of the process.
	w.command.ExtraFiles = []*os.File{ends[0], ends[3], ends[4], shared.file}
	w.command.WaitDelay = time.Second // for children of the module that keep its output open
	w.command.Stdout, w.command.Stderr = m.Stderr, m.Stderr
	w.command.Env = os.Environ()
	if os.Getenv("OMP_NUM_THREADS") == "" {
		w.command.Env = append(w.command.Env, "OMP_NUM_THREADS=1")
	}
	if err = w.command.Start(); err != nil {
		for _, end := range ends {
			_ = end.Close()
		}
		return nil, fmt.Errorf("%s: %w", python, err)
	}
	for _, end := range w.command.ExtraFiles[:3] {
		_ = end.Close() // the process has it
	}
	go w.listen(ends[2])
	w.write(config)
	return w, nil
}

// listen passes replies on until there are no more.
func (w *worker) listen(from *os.File) {
	defer from.Close()
	lines := bufio.NewReader(from)
	for {
		text, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		r := reply{text: text}
		if err := json.Unmarshal(text, &r); err != nil {
			w.fail(fmt.Errorf("%s: a reply that is none: %.100q", w.name, text))
			break
		}
		if r.Error != "" {
			w.fail(errors.New(r.Error))
			break
		}
		w.mu.Lock()
		to := w.replies[r.Pass]
		w.mu.Unlock()
		to <- r
	}
	_ = w.command.Wait() // its state says more
	close(w.ended)
	w.fail(fmt.Errorf("%s has ended: %v; see what it printed", w.name, w.command.ProcessState))
}

// kill ends the process, for a reason.
func (w *worker) kill(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return
	}
	w.err = err
	close(w.dead)
	_ = w.command.Process.Kill()
	_, _ = w.requests.Close(), w.life.Close()
}

// failure returns why the process has ended, or nil.
func (w *worker) failure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// send sends a request.
func (w *worker) send(r request) {
	line, err := json.Marshal(r)
	if err != nil {
		w.fail(fmt.Errorf("%s: %w", w.name, err))
	}
	w.write(line)
}

// write writes a line. If it cannot, the process has ended, and listen finds out why.
func (w *worker) write(line []byte) {
	_, _ = w.requests.Write(append(line, '\n')) // at once, also from several goroutines
}

// await returns the next reply to a pass.
func (w *worker) await(pass int) (reply, error) {
	w.mu.Lock()
	from := w.replies[pass]
	w.mu.Unlock()
	timer := time.NewTimer(w.limit + 5*time.Second) // the process notices it first, unless it is stopped
	defer timer.Stop()
	select {
	case r := <-from:
		return r, nil
	case <-w.dead:
	case <-timer.C:
		w.fail(fmt.Errorf("%s does not answer", w.name))
	}
	return reply{}, w.failure()
}

// call sends a request and returns its reply.
func (w *worker) call(r request) (reply, error) {
	if r.Pass == 0 {
		w.asking.Lock()
		defer w.asking.Unlock()
	}
	w.send(r)
	return w.await(r.Pass)
}

// newPass returns the number of a new pass, to which up to some replies may be waiting.
func (w *worker) newPass(replies int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	number := len(w.replies)
	w.replies[number] = make(chan reply, replies)
	return number
}

// use makes the process map an area, if it has not.
func (w *worker) use(a *area) {
	w.mu.Lock()
	mapped := w.mapped[a.number]
	w.mapped[a.number] = true
	w.mu.Unlock()
	if !mapped {
		w.send(request{Do: "map", Area: a.number, Offset: a.offset, Floats: len(a.values)})
	}
}
