package torch

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
)

// processes are those of the ranks that train a module, and the memory that they share.
type processes struct {
	modules *Modules
	config  []byte
	description

	mu      sync.Mutex
	memory  *memory
	areas   int
	free    map[int][]*area // by size
	workers map[int]*worker // by rank
	err     error           // why one could not be started, or no memory be had
}

// area is memory that all processes can map.
type area struct {
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
	Random  bool     `json:"random"`   // it draws random numbers
}

// newProcesses starts the process of rank 0 and asks it what the module is.
func (m *Modules) newProcesses(config []byte) (*processes, error) {
	memory, err := newMemory()
	if err != nil {
		return nil, err
	}
	p := &processes{modules: m, config: config, memory: memory, free: map[int][]*area{},
		workers: map[int]*worker{}}
	answer, err := p.ask(request{Do: "describe"})
	if err == nil {
		err = json.Unmarshal(answer.text, &p.description)
	}
	if err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// ask sends a request without a pass to the process of rank 0, and returns its reply.
func (p *processes) ask(r request) (reply, error) {
	w, err := p.worker(0)
	if err != nil {
		return reply{}, err
	}
	return w.call(r)
}

// worker returns the process of a rank, and starts it if it has not been.
func (p *processes) worker(rank int) (*worker, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w := p.workers[rank]; w != nil || p.err != nil {
		return w, p.err
	}
	w, err := p.modules.start(p.config, p.memory, fmt.Sprintf("the Python of rank %d", rank), p.fail)
	if err != nil {
		p.failLocked(err)
		return nil, err
	}
	p.workers[rank] = w
	return w, nil
}

// take returns an area of some values that no one uses.
func (p *processes) take(floats int) (*area, error) {
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
	return &area{number: p.areas, offset: offset, values: values}, nil
}

// giveBack ends the use of areas.
func (p *processes) giveBack(areas ...*area) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range areas {
		p.free[len(a.values)] = append(p.free[len(a.values)], a)
	}
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
	for _, w := range p.workers { // order-free: all for one reason
		w.kill(err)
	}
	_ = p.memory.file.Close()
}

// close ends all processes, and returns when they have ended.
func (p *processes) close() {
	p.fail(errClosed)
	for _, w := range p.workers { // order-free: waits for all; a failed module starts no more
		<-w.ended
	}
}

// failure returns why the processes have ended, or nil.
func (p *processes) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}
