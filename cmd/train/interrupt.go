package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"tandem/runtime/train"
)

// interruption decides what a signal ends. The first signal drains the training in progress, which then saves
// its model; the next one, or the first if no training can drain, ends the program.
type interruption struct {
	stop   context.CancelFunc // ends the program
	stderr io.Writer

	mu    sync.Mutex
	drain chan struct{} // ends the training in progress; nil if none can drain, or if it is ending
}

func newInterruption(stop context.CancelFunc, stderr io.Writer) *interruption {
	return &interruption{stop: stop, stderr: stderr}
}

// receive handles signals until ctx ends.
func (i *interruption) receive(ctx context.Context, signals <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-signals:
			i.signal()
		}
	}
}

// signal handles one signal.
func (i *interruption) signal() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.drain == nil {
		i.stop()
		return
	}
	close(i.drain)
	i.drain = nil
	fmt.Fprintln(i.stderr, "train: interrupted: saving after the batches in flight; again to stop at once")
}

// interrupted returns the error of a training, or that of an interruption that has ended it.
func interrupted(ctx context.Context, err error, saved bool) error {
	var drained *train.DrainedError
	switch {
	case errors.As(err, &drained) && saved:
		return fmt.Errorf("interrupted and saved after %s", plural(drained.Step, "step"))
	case ctx.Err() != nil && saved:
		return errors.New("interrupted")
	case ctx.Err() != nil || drained != nil:
		return errors.New("interrupted; nothing was written")
	}
	return err
}

// begin says that a training begins which the next signal drains by closing the channel. The caller calls end
// after it.
func (i *interruption) begin() (drain <-chan struct{}) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.drain = make(chan struct{})
	return i.drain
}

// end says that no training is in progress that can drain.
func (i *interruption) end() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.drain = nil
}
