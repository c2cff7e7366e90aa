package speed

import (
	"context"
	"os"
	"runtime/debug"
	"time"

	"tandem/algo/numeric/kernel/gemm"
	"tandem/experiments/internal/pytorch"
	"tandem/experiments/internal/turns"
	"tandem/internal/parallel"
	"tandem/runtime/blas"
	"tandem/runtime/memory"
	"tandem/runtime/train"
)

// side is Tandem, a peer or a limit of the machine, with one case open at a time.
type side interface {
	turns.Side
	// open builds the work of a case and runs it until it is warm. It returns a value that depends on all
	// updates before, to show that the sides do the same work: in a dense step the loss, in a sparse step the
	// mean size of the pooled values, in a training the loss on the test rows.
	open(ctx context.Context, p *prepared) (check float64, err error)
	// close releases the case.
	close(ctx context.Context) error
}

// prepared is a case with its values. Peers read them from files, so that all sides have the same.
type prepared struct {
	testCase
	files *pytorch.Files // nil where there is no peer
	// tandem and limit build the work of the sides in this process. Limit is nil if there is none.
	tandem, limit func() (*work, error)
	// share compares a training with the least time that its pieces of work allow; nil for steps.
	share func(ctx context.Context) (*train.Share, error)
	// The sides in this process compute with these.
	pool     *parallel.Pool
	arena    *memory.Arena
	products gemm.Products
}

// prepare draws the values of a case. Its method remove deletes the files and frees the memory.
func prepare(c testCase) (*prepared, error) {
	p := &prepared{testCase: c, pool: parallel.New(max(c.Threads, 1)), arena: &memory.Arena{}}
	var err error
	if p.products, _, err = blas.Open(os.Getenv(blas.Variable), p.pool); err == nil {
		err = map[string]func() error{kindDense: p.dense, kindSparse: p.sparse, kindLookup: p.lookupOrUpdate,
			kindUpdate: p.lookupOrUpdate, kindTrain: p.training}[c.Kind]()
	}
	if err != nil {
		p.remove()
	}
	return p, err
}

func (p *prepared) remove() {
	p.pool.Close()
	_ = p.arena.Close()
	if p.files != nil {
		p.files.Remove()
	}
}

// freeRows gives the memory of rows that this process holds back to the system.
func (p *prepared) freeRows() {
	_ = p.arena.Close()
	p.arena = &memory.Arena{}
	debug.FreeOSMemory()
}

// work is what a side in this process does in an open case.
type work struct {
	run      func(ctx context.Context, steps int) (time.Duration, error)
	check    func() float64 // nil: no other side computes the same
	overhead float64        // bytes of a row beside embedding and state, of a lookup or update
}

// stepwise returns work whose steps are those of a function.
func stepwise(step func() error, check func() float64) *work {
	return &work{check: check, run: func(ctx context.Context, steps int) (time.Duration, error) {
		return turns.Time(ctx, steps, step)
	}}
}

// local is a side in this process: Tandem, or the limit of the machine.
type local struct {
	limit bool
	*work
}

// open implements side.
func (l *local) open(ctx context.Context, p *prepared) (check float64, err error) {
	build := p.tandem
	if l.limit {
		build = p.limit
	}
	if l.work, err = build(); err != nil {
		return 0, err
	}
	if _, err := l.Run(ctx, p.warmUps()); err != nil || l.check == nil {
		return 0, err
	}
	return l.check(), nil
}

// Run implements turns.Side.
func (l *local) Run(ctx context.Context, steps int) (time.Duration, error) { return l.run(ctx, steps) }

// close implements side. It keeps the number of the overhead, and no rows.
func (l *local) close(context.Context) error {
	l.run, l.check = nil, nil
	return nil
}

// peer is PyTorch or FBGEMM in a separate process: see peer.py.
type peer struct{ *pytorch.Peer }

// open implements side.
func (p peer) open(ctx context.Context, c *prepared) (check float64, err error) {
	var warm struct{ Check float64 }
	err = p.Request(ctx, "open", map[string]any{"case": c.testCase, "files": c.files.Paths,
		"warm_ups": c.warmUps()}, &warm)
	return warm.Check, err
}

// Run implements turns.Side.
func (p peer) Run(ctx context.Context, steps int) (time.Duration, error) {
	return p.Seconds(ctx, map[string]any{"steps": steps})
}

// close implements side.
func (p peer) close(ctx context.Context) error { return p.Request(ctx, "close", nil, &struct{}{}) }
