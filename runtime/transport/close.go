package transport

import (
	"errors"
	"fmt"
	"time"
)

const (
	// drainTimeout is how long Close waits for the other processes to take what was
	// sent.
	drainTimeout = 10 * time.Second
	// leaveTimeout is how long Close lets others finish their own Close, which may
	// be waiting for this node's word.
	leaveTimeout = 2 * time.Second
)

// Close lets everything that was sent arrive, then ends all streams. Other
// processes learn that this one has left; that is no loss to them.
//
// It returns an error that names a process which did not take everything within
// 10 seconds. Calling it again, or after Abort, does nothing.
func (n *Endpoint) Close() error {
	links, first := n.end()
	if !first {
		return nil
	}
	n.refusals.LogCounts()
	for _, l := range links {
		l.outbox.close()
	}
	late := time.AfterFunc(drainTimeout, func() {
		for _, l := range links {
			l.cancel()
		}
	})
	var failed []error
	for _, l := range links {
		<-l.ended
		if l.err != nil && !l.reported {
			failed = append(failed, fmt.Errorf("transport: %s has not taken everything: %w", l.name, plainError(l.err)))
		}
	}
	late.Stop()
	parting := time.AfterFunc(leaveTimeout, n.server.Stop)
	n.server.GracefulStop()
	parting.Stop()
	n.release(links)
	return errors.Join(failed...)
}

// Abort ends all streams at once. Other processes lose this one.
func (n *Endpoint) Abort() {
	links, first := n.end()
	if !first {
		return
	}
	n.refusals.LogCounts()
	for _, l := range links {
		l.cancel() // and leave the box alone: watch drops it once the stream is broken, not ended
	}
	n.server.Stop()
	n.release(links)
}

// end starts the end, once; it returns the link to every process.
func (n *Endpoint) end() (links []*outStream, first bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	first = !n.ending()
	n.stop()
	n.admission.close()
	n.inbox.close()
	seen := map[*outStream]bool{}
	for _, l := range n.out {
		if !seen[l] {
			seen[l] = true
			links = append(links, l)
		}
	}
	return links, first
}

// release closes connections, whose streams have ended, and waits for every
// goroutine.
func (n *Endpoint) release(links []*outStream) {
	for _, l := range links {
		l.close()
	}
	n.goroutines.Wait()
}
