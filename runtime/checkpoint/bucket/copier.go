package bucket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"tandem/runtime/checkpoint"
)

// Copier copies the checkpoints of a folder to a store, beside what writes them.
type Copier struct {
	store  *Store
	folder string
	keep   checkpoint.Keep
	failed func(error)
	ended  chan struct{} // closed when the goroutine has ended
	err    error         // of the copy made last; read when ended is closed

	mu   sync.Mutex
	wake sync.Cond
	next int // step of the newest checkpoint that is to be copied; 0: none
	done bool
}

// Follow begins to copy checkpoints of a folder, until Close. Copies fail once the context has ended. keep
// says which copies stay. failed is called when a copy has failed; a later checkpoint is copied all the same.
func (s *Store) Follow(ctx context.Context, folder string, keep checkpoint.Keep, failed func(error)) *Copier {
	c := &Copier{store: s, folder: folder, keep: keep, failed: failed, ended: make(chan struct{})}
	c.wake.L = &c.mu
	go c.run(ctx)
	return c
}

// Saved says that the folder has a checkpoint after a number of steps.
func (c *Copier) Saved(step int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next = step
	c.wake.Signal()
}

// Close waits until the newest checkpoint is copied. It returns an error if it is not.
func (c *Copier) Close() error {
	c.mu.Lock()
	c.done = true
	c.wake.Signal()
	c.mu.Unlock()
	<-c.ended
	return c.err
}

// take waits for a checkpoint that is to be copied; ok is false if no more come.
func (c *Copier) take() (step int, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.next == 0 && !c.done {
		c.wake.Wait()
	}
	step, c.next = c.next, 0
	return step, step > 0
}

// waiting reports whether a newer checkpoint is to be copied.
func (c *Copier) waiting() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.next > 0
}

func (c *Copier) run(ctx context.Context) {
	defer close(c.ended)
	for {
		step, ok := c.take()
		if !ok {
			return
		}
		c.err = c.copy(ctx, step)
		if gone := errors.Is(c.err, fs.ErrNotExist) && c.waiting(); c.err != nil && !gone {
			c.failed(c.err) // a checkpoint may have gone because newer ones came
		}
	}
}

func (c *Copier) copy(ctx context.Context, step int) error {
	if err := c.store.Put(ctx, c.folder, step); err != nil {
		return fmt.Errorf("the checkpoint is not copied: %w", err)
	}
	if err := c.store.Prune(ctx, step, c.keep); err != nil {
		return fmt.Errorf("old copies stay: %w", err)
	}
	return nil
}
