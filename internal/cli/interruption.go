package cli

import (
	"context"
	"os"
	"sync"
)

// Interruption decides what a signal ends. Work that can be asked to end is asked by the first signal; the
// next signal, or the first if there is no such work, ends the program.
type Interruption struct {
	stop   context.CancelFunc // ends the program
	notify func()             // called when work is asked to end

	mu    sync.Mutex
	asked chan struct{} // asks the work in progress to end; nil if there is none, or if it was asked
}

// NewInterruption returns an Interruption whose stop ends the program. It calls notify when a signal asks
// work to end instead.
func NewInterruption(stop context.CancelFunc, notify func()) *Interruption {
	return &Interruption{stop: stop, notify: notify}
}

// Receive handles signals until ctx ends.
func (i *Interruption) Receive(ctx context.Context, signals <-chan os.Signal) {
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
func (i *Interruption) signal() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.asked == nil {
		i.stop()
		return
	}
	close(i.asked)
	i.asked = nil
	i.notify()
}

// Begin says that work begins which the next signal asks to end by closing the channel. The caller calls End
// after the work.
func (i *Interruption) Begin() (asked <-chan struct{}) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.asked = make(chan struct{})
	return i.asked
}

// End says that no work is in progress that can be asked to end.
func (i *Interruption) End() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.asked = nil
}
