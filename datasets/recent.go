package datasets

import (
	"container/list"
	"sync"

	"tandem/algo/numeric/batch"
)

// recent keeps the blocks that were used last. It is safe for concurrent use: a block that
// several goroutines need is decoded once.
type recent struct {
	mu     sync.Mutex
	most   int
	blocks map[int]*list.Element // of *decodedBlock
	order  list.List             // the last used block first
}

// decodedBlock is a block that is being decoded, or was.
type decodedBlock struct {
	number int
	once   sync.Once
	rows   *batch.Batch
	err    error
}

// keep sets the number of blocks to keep.
func (r *recent) keep(blocks int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.most = blocks
}

// get returns a block, which it decodes if it has not been kept.
func (r *recent) get(number int, decode func(number int) (*batch.Batch, error)) (*batch.Batch, error) {
	b := r.find(number)
	b.once.Do(func() { b.rows, b.err = decode(number) })
	return b.rows, b.err
}

// find returns a block, new or kept, as the last used one.
func (r *recent) find(number int) *decodedBlock {
	r.mu.Lock()
	defer r.mu.Unlock()
	if at, kept := r.blocks[number]; kept {
		r.order.MoveToFront(at)
		return at.Value.(*decodedBlock)
	}
	if r.blocks == nil {
		r.blocks = map[int]*list.Element{}
	}
	b := &decodedBlock{number: number}
	r.blocks[number] = r.order.PushFront(b)
	for r.order.Len() > r.most {
		old := r.order.Remove(r.order.Back()).(*decodedBlock)
		delete(r.blocks, old.number)
	}
	return b
}
