package torch

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// processes are those of the ranks that train a module, and the memory that they share.
type processes struct {
	modules *Modules
	config  []byte
	// describe asks what the module is, the first time, and sets the fields that follow.
	describe func() error
	description
	layout json.RawMessage // of the description: see module.py

	asking  sync.Mutex // held by ask and endSpare
	mu      sync.Mutex
	memory  *memory
	areas   int
	free    map[int][]*area // by size
	workers map[int]*worker // by rank
	spare   *worker         // the process that says what the module is, until a rank takes it over; nil: none
	err     error           // why they have ended, or why one could not be started
}

// area is memory that all processes can map.
type area struct {
	of     *processes
	number int
	offset int64
	values []float32
}

// description is what a process says of its module.
type description struct {
	Tensors []struct {
		Name  string `json:"name"`
		Shape []int  `json:"shape"`
	} `json:"tensors"`
	Buckets [][2]int `json:"buckets"`
	Norms   []int    `json:"norms"`    // features of the batch norms
	OwnLoss bool     `json:"own_loss"` // the module computes its loss
	Cost    struct { // of a sample, and the operations of a forward pass
		Forward  float64 `json:"forward"` // FLOPs
		Backward float64 `json:"backward"`
		Bytes    float64 `json:"bytes"`
		Kernels  int     `json:"kernels"`
	} `json:"cost"`
	Torch string `json:"torch"` // its version
	Slots *int   `json:"slots"` // values of a parameter in the state of torch.optim; nil: not used
	ONNX  bool   `json:"onnx"`  // the Python has the packages with which torch writes it
	// Copies says that values are copied to a device and back. Ranks take the devices in turn.
	Copies bool `json:"copies"`
}

// newProcesses returns those of a module, of which none runs.
func (m *Modules) newProcesses(config []byte) (*processes, error) {
	memory, err := newMemory()
	if err != nil {
		return nil, err
	}
	p := &processes{modules: m, config: config, memory: memory, free: map[int][]*area{},
		workers: map[int]*worker{}}
	p.describe = sync.OnceValue(func() error {
		answer, err := p.ask(request{Do: "describe"}, nil)
		if err != nil {
			return err
		}
		p.layout = answer.text
		return json.Unmarshal(answer.text, &p.description)
	})
	return p, nil
}

// ask sends a request without a pass to some process, which first maps an area, if that is not nil. It
// returns the reply.
func (p *processes) ask(r request, maps *area) (reply, error) {
	p.asking.Lock()
	defer p.asking.Unlock()
	w, err := p.someWorker()
	if err != nil {
		return reply{}, err
	}
	if maps != nil {
		w.mapArea(maps)
	}
	return w.call(r)
}

// someWorker returns a process, and starts one if there is none.
func (p *processes) someWorker() (*worker, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.spare != nil || p.err != nil {
		return p.spare, p.err
	}
	if len(p.workers) > 0 {
		return p.workers[slices.Min(slices.Collect(maps.Keys(p.workers)))], nil
	}
	var err error
	p.spare, err = p.startLocked(0)
	return p.spare, err
}

// worker returns the process of a rank. The first rank that asks takes over the one that has said what the
// module is; for others it starts one.
func (p *processes) worker(rank int) (w *worker, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w := p.workers[rank]; w != nil || p.err != nil {
		return w, p.err
	}
	w, p.spare = p.spare, nil
	if w == nil {
		if w, err = p.startLocked(rank); err != nil {
			return nil, err
		}
	}
	p.workers[rank] = w
	return w, nil
}

// startLocked starts a process for a rank. Once the module is described, the process must have made the same.
func (p *processes) startLocked(rank int) (*worker, error) {
	lines := [][]byte{fmt.Appendf(nil, `{"rank":%d,%s`, rank, p.config[1:])}
	if p.layout != nil {
		expect, err := json.Marshal(request{Do: "expect", Layout: p.layout})
		if err != nil {
			return nil, err
		}
		lines = append(lines, expect)
	}
	w, err := p.modules.start(p.memory, p.fail, lines...)
	if err != nil {
		p.failLocked(err)
	}
	return w, err
}

// endSpare ends the process that no rank has taken over.
func (p *processes) endSpare() {
	p.asking.Lock()
	defer p.asking.Unlock()
	p.mu.Lock()
	w := p.spare
	p.spare = nil
	p.mu.Unlock()
	if w != nil {
		w.kill(errClosed)
		<-w.ended
	}
}

// allocate returns an area of some values that no one uses.
func (p *processes) allocate(floats int) (*area, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return nil, p.err
	}
	if own := p.free[floats]; len(own) > 0 {
		p.free[floats] = own[:len(own)-1]
		return own[len(own)-1], nil
	}
	offset, values, err := p.memory.grow(floats)
	if err != nil {
		p.failLocked(err)
		return nil, err
	}
	p.areas++
	return &area{of: p, number: p.areas, offset: offset, values: values}, nil
}

// release ends the use of an area.
func (p *processes) release(a *area) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free[len(a.values)] = append(p.free[len(a.values)], a)
}

var errClosed = errors.New("torch: the module is closed")

// fail ends all processes, for the reason of the first call.
func (p *processes) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failLocked(err)
}

func (p *processes) failLocked(err error) {
	if p.err != nil {
		return
	}
	p.err = err
	for _, w := range p.allLocked() {
		w.kill(err)
	}
	_ = p.memory.file.Close()
}

// close ends all processes, and returns when they have ended.
func (p *processes) close() {
	p.fail(errClosed)
	p.mu.Lock()
	all := p.allLocked() // a failed module starts no more
	p.mu.Unlock()
	for _, w := range all {
		<-w.ended
	}
}

// allLocked returns the processes.
func (p *processes) allLocked() []*worker {
	all := slices.Collect(maps.Values(p.workers)) // order-free: the same is done to all
	if p.spare != nil {
		all = append(all, p.spare)
	}
	return all
}

// failure returns why the processes have ended, or nil.
func (p *processes) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}
