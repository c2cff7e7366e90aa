package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"tandem/algo/job"
	"tandem/runtime/checkpoint"
	"tandem/runtime/checkpoint/bucket"
)

// copies keeps copies of the folder of checkpoints. The zero value keeps none.
type copies struct {
	store  *bucket.Store
	copier *bucket.Copier
}

// openCopies opens the store of copies, if the user has named one. If it has a newer checkpoint of a job than
// the folder, that is fetched.
func (p *program) openCopies(ctx context.Context, j job.Job, folder string, f flags) (c copies, err error) {
	if f.copies == "" {
		return c, nil
	}
	c.store, err = bucket.Open(ctx, f.copies)
	if err != nil {
		return c, err
	}
	if err := p.fetch(ctx, c.store, j, folder, f.copies); err != nil {
		return c, errors.Join(err, c.store.Close())
	}
	c.copier = c.store.Follow(ctx, folder, f.keep, func(err error) {
		fmt.Fprintf(p.stderr, "node: %v; training goes on\n", err)
	})
	return c, nil
}

// fetch fetches the newest copy, unless the folder has a checkpoint as new. It is an error if the copies are
// of another job.
func (p *program) fetch(ctx context.Context, store *bucket.Store, j job.Job, folder, url string) error {
	step, text, ok, err := store.Newest(ctx)
	if err != nil || !ok {
		return err
	}
	copied, err := job.Parse(text, url)
	if err != nil {
		return err
	}
	differs, err := j.DifferenceButRoles(copied)
	if err != nil {
		return err
	}
	if differs != nil {
		return fmt.Errorf("this job is not that of the copies in %s: %v; give another URL", url, differs)
	}
	here, _, err := checkpoint.Newest(folder)
	if err != nil || here >= step {
		return err
	}
	fmt.Fprintf(p.stderr, "node: fetching the checkpoint after %d steps from %s\n", step, url)
	_, damaged, err := store.Fetch(ctx, folder, here)
	for _, d := range damaged {
		fmt.Fprintf(p.stderr, "node: %v; an older copy is taken instead\n", d)
	}
	return err
}

// saved says that the folder has a further checkpoint.
func (c *copies) saved(step int) {
	if c.copier != nil {
		c.copier.Saved(step)
	}
}

// close waits until the newest checkpoint is copied.
func (c *copies) close(stderr io.Writer) error {
	if c.store == nil {
		return nil
	}
	slow := time.AfterFunc(time.Second, func() { fmt.Fprintln(stderr, "node: waiting for the last copy") })
	defer slow.Stop()
	err := c.copier.Close()
	_ = c.store.Close() // copies that have ended are complete
	return err
}
