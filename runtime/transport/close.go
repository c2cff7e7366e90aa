package transport

import (
	"errors"
	"fmt"
	"time"
)

const (
	// drainTimeout is how long Close waits until the other processes have received what was sent.
	drainTimeout = 10 * time.Second
	// leaveTimeout is how long Close waits until other processes have closed their streams, which they may do
	// only after this one has.
	leaveTimeout = 2 * time.Second
)

// Close waits until everything that was sent has arrived and ends all streams. Other processes learn that
// this one has left, which is no loss to them.
//
// Close returns an error that names each process which has not received everything within 10 seconds. A
// second call, or a call after Abort, does nothing.
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
			failed = append(failed, fmt.Errorf("transport: %s has not received everything: %w", l.name,
				plainError(l.err)))
		}
	}
	late.Stop()
	timer := time.AfterFunc(leaveTimeout, n.server.Stop)
	n.server.GracefulStop()
	timer.Stop()
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
		l.cancel() // leave the outbox to watch: closing it here would end the stream in an orderly way
	}
	n.server.Stop()
	n.release(links)
}

// end begins to close the endpoint. It returns the streams to all processes, and whether this is the first
// call.
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

// release closes the connections of streams that have ended, and waits until every goroutine has ended.
func (n *Endpoint) release(links []*outStream) {
	for _, l := range links {
		l.close()
	}
	n.goroutines.Wait()
}
