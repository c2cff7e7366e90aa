package torch

import (
	"bufio"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"tandem/algo/numeric/model"
)

// start.py and the modules of tandem_worker are the program of a process.
var (
	//go:embed python/start.py
	start string
	//go:embed python/tandem_worker/*.py
	modules embed.FS
)

// program returns the text of the program, which needs no other file.
var program = sync.OnceValue(func() string {
	const folder = "python/tandem_worker"
	files, err := modules.ReadDir(folder)
	sources := map[string]string{} // by the name of a module
	for _, f := range files {
		var text []byte
		if text, err = modules.ReadFile(path.Join(folder, f.Name())); err != nil {
			break
		}
		name := "tandem_worker." + strings.TrimSuffix(f.Name(), ".py")
		sources[strings.TrimSuffix(name, ".__init__")] = string(text)
	}
	literal, jsonErr := json.Marshal(sources) // an object of texts in JSON is one in Python
	if err = errors.Join(err, jsonErr); err != nil {
		panic(fmt.Sprintf("torch: the files of the program: %v", err))
	}
	return "SOURCES = " + string(literal) + "\n" + start
})

// request is a line to a process.
type request struct {
	Do      string          `json:"do"`
	Pass    int             `json:"pass,omitempty"`
	Area    int             `json:"area,omitempty"`
	Params  int             `json:"params,omitempty"` // an area
	Rank    int             `json:"rank"`
	Samples int             `json:"samples"`
	Train   bool            `json:"train"`
	Seed    uint64          `json:"seed"`
	Layout  json.RawMessage `json:"layout,omitempty"` // of the module in another process
	Offset  int64           `json:"offset"`
	Floats  int             `json:"floats,omitempty"`
	File    string          `json:"file,omitempty"`
	Running []float32       `json:"running,omitempty"`
	Share   float64         `json:"share"` // of the learning rates
	Scaling [][2]float64    `json:"scaling,omitempty"`
	Units   [][2]float32    `json:"units,omitempty"`
}

// reply is a line of a process.
type reply struct {
	Pass    int       `json:"pass"` // 0: of a request without one
	Running []float32 `json:"running"`
	Error   string    `json:"error"`
	LeftOut string    `json:"left_out"` // why there is no ONNX
	text    []byte
}

// worker is the process of a rank. Its methods may be called by several goroutines; replies to a pass go to
// the one that uses it.
type worker struct {
	limit    time.Duration
	fail     func(error) // ends all processes of the module, kills this one
	command  *exec.Cmd
	printed  *printer
	ended    chan struct{} // closed when the process is gone
	heard    chan struct{} // closed when no more replies are read
	requests *os.File
	from     *os.File   // replies
	life     *os.File   // the process ends when it is closed
	writing  sync.Mutex // of requests
	placing  sync.Once

	mu      sync.Mutex
	gone    bool               // the process and its children have ended
	replies map[int]chan reply // by pass
	mapped  map[int]bool       // areas
	err     error
	dead    chan struct{} // closed with err
}

// start starts a process with some shared memory, whose failure calls fail, and writes it lines: the
// configuration, and requests. It does not wait until the process is ready.
func (m *Modules) start(shared *memory, fail func(error), lines ...[]byte) (*worker, error) {
	python, err := m.interpreter()
	if err != nil {
		return nil, err
	}
	var ends [6]*os.File // read and write end of requests, replies and life
	for i := 0; i < len(ends); i += 2 {
		if ends[i], ends[i+1], err = os.Pipe(); err != nil {
			closeAll(ends[:i])
			return nil, err
		}
	}
	w := &worker{limit: m.Limit, fail: fail, requests: ends[1], from: ends[2], life: ends[5],
		replies: map[int]chan reply{0: make(chan reply, 1)}, mapped: map[int]bool{},
		dead: make(chan struct{}), ended: make(chan struct{}), heard: make(chan struct{})}
	w.command = exec.Command(python, "-u", "-c", program())
	// Descriptors 3 to 6 of the process.
	w.command.ExtraFiles = []*os.File{ends[0], ends[3], ends[4], shared.file}
	w.command.WaitDelay = grace
	makeLeader(w.command)
	printed := &printer{modules: m}
	w.printed = printed
	w.command.Stdout, w.command.Stderr = printed, printed
	w.command.Env = environment()
	if err = w.command.Start(); err != nil {
		closeAll(ends[:])
		return nil, fmt.Errorf("%s: %w", python, err)
	}
	closeAll(w.command.ExtraFiles[:3]) // the process has them
	go w.listen()
	go w.watch()
	w.writeSoon(lines...)
	return w, nil
}

// environment returns that of a process.
func environment() []string {
	env := append(os.Environ(), "PYTHONHASHSEED=0") // the order of sets is that of the other ranks
	for _, setting := range []struct{ name, value string }{
		{"OMP_NUM_THREADS", "1"},
		// Every pass makes activations of megabytes and frees them. So that the system need not map their
		// pages again each time, torch asks for large pages, and the C library keeps what is freed.
		{"THP_MEM_ALLOC_ENABLE", "1"},
		{"MALLOC_MMAP_THRESHOLD_", "33554432"}, // the most that it takes
		{"MALLOC_TRIM_THRESHOLD_", "2147483647"},
	} {
		if os.Getenv(setting.name) == "" {
			env = append(env, setting.name+"="+setting.value)
		}
	}
	return env
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// listen passes replies on until there are no more.
func (w *worker) listen() {
	defer close(w.heard)
	lines := bufio.NewReader(w.from)
	for {
		text, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		r := reply{text: text}
		if err := json.Unmarshal(text, &r); err != nil {
			w.fail(fmt.Errorf("the Python of the module: a reply that is none: %.100q", text))
			return
		}
		if r.Error != "" {
			w.fail(errors.New(r.Error))
			return
		}
		w.mu.Lock()
		to := w.replies[r.Pass]
		w.mu.Unlock()
		to <- r
	}
}

var errSilent = errors.New("the Python of the module does not answer")

// grace is how long a child of the module that has left its group can keep the end of the process from being
// known, because it has its pipes.
const grace = 5 * time.Second

// watch waits for the end of the process, ends those that it has started, and fails if nothing else has.
func (w *worker) watch() {
	awaitEnd(w.command)
	killGroup(w.command)
	_ = w.from.SetReadDeadline(time.Now().Add(grace))
	<-w.heard // what the process said last comes first
	w.mu.Lock()
	w.gone = true
	w.mu.Unlock()
	_ = w.command.Wait() // its state says more
	w.printed.end()
	close(w.ended)
	if w.failure() == nil {
		w.fail(&endedError{w.command.ProcessState})
	}
}

// endedError is the error of a Python that has ended without saying why.
type endedError struct{ state *os.ProcessState }

func (e *endedError) Error() string {
	return fmt.Sprintf("the Python of the module has ended: %v; see what it printed", e.state)
}

// Is reports a loss if a signal has ended the Python, as where memory is short, and not the module.
func (e *endedError) Is(target error) bool { return target == model.ErrLost && !e.state.Exited() }

// kill ends the process and those that it has started, for a reason.
func (w *worker) kill(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return
	}
	w.err = err
	close(w.dead)
	if !w.gone {
		killGroup(w.command)
	}
	closeAll([]*os.File{w.requests, w.from, w.life})
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
		w.fail(fmt.Errorf("torch: %w", err))
		return
	}
	w.writing.Lock()
	defer w.writing.Unlock()
	w.writeLocked(line)
}

// writeSoon writes lines without waiting, as a pipe does not hold any configuration, and the caller holds
// locks. Requests wait for their turn.
func (w *worker) writeSoon(lines ...[]byte) {
	w.writing.Lock()
	go func() {
		defer w.writing.Unlock()
		for _, line := range lines {
			w.writeLocked(line)
		}
	}()
}

// writeLocked writes a line for who holds writing. If it cannot, the process hangs, or has ended, and watch
// finds out why.
func (w *worker) writeLocked(line []byte) {
	_ = w.requests.SetWriteDeadline(time.Now().Add(w.limit))
	if _, err := w.requests.Write(slices.Concat(line, []byte("\n"))); errors.Is(err, os.ErrDeadlineExceeded) {
		w.fail(errSilent)
	}
}

// await returns the next reply to a pass.
func (w *worker) await(pass int) (reply, error) {
	w.mu.Lock()
	from := w.replies[pass]
	w.mu.Unlock()
	// The process notices it first, unless it is stopped.
	timer := time.NewTimer(w.limit + min(w.limit, 5*time.Second))
	defer timer.Stop()
	select {
	case r := <-from:
		return r, nil
	case <-w.dead:
	case <-timer.C:
		w.fail(errSilent)
	}
	return reply{}, w.failure()
}

// call sends a request and returns its reply. Only one request without a pass may be under way.
func (w *worker) call(r request) (reply, error) {
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

// place moves the module to the device of a rank, once.
func (w *worker) place(rank int) {
	w.placing.Do(func() { w.send(request{Do: "place", Rank: rank}) })
}

// mapArea makes the process map an area, if it has not.
func (w *worker) mapArea(a *area) {
	w.mu.Lock()
	mapped := w.mapped[a.number]
	w.mapped[a.number] = true
	w.mu.Unlock()
	if !mapped {
		w.send(request{Do: "map", Area: a.number, Offset: a.offset, Floats: len(a.values)})
	}
}
