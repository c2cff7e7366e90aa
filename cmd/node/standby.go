package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tandem/internal/cli"
)

// standbyEvery is how often a standby host asks whether the folder of checkpoints is free.
const standbyEvery = 200 * time.Millisecond

// lockCheckpoints makes this the only host that writes to the folder of checkpoints. While another one has
// it, a standby host calls prepare, and waits; any other is refused.
func (p *program) lockCheckpoints(ctx context.Context, f flags, prepare func() error) (unlock func() error,
	err error) {
	unlock, err = cli.LockFolder(f.saved)
	switch {
	case err == nil || !errors.Is(err, cli.ErrInUse):
		return unlock, err
	case !f.standby:
		return nil, &cli.Error{Err: fmt.Errorf("--checkpoints: another host has %s", f.saved),
			Hint: "give another folder, or add --standby to take over when that host has ended"}
	}
	fmt.Fprintf(p.stderr, "node: another host has %s; waiting to take over\n", f.saved)
	if err := prepare(); err != nil {
		return nil, err
	}
	for errors.Is(err, cli.ErrInUse) {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(standbyEvery):
		}
		unlock, err = cli.LockFolder(f.saved)
	}
	if err == nil {
		fmt.Fprintf(p.stderr, "node: %s is free: taking over\n", f.saved)
	}
	return unlock, err
}

// trainedError is the error of a host whose folder has a model that is trained to its end.
type trainedError struct{ steps int }

// Error implements error.
func (e *trainedError) Error() string {
	return fmt.Sprintf("the model has trained all %d steps of the job; give another folder", e.steps)
}
