package process

import (
	"sync"
	"time"

	"tandem/algo/protocol/event"
)

const (
	// sendInterval is how long a record may wait to be sent to the host: what waits is lost
	// if the process dies.
	sendInterval = 100 * time.Millisecond
	// sendCount is the number of waiting records that are sent at once.
	sendCount = 1024
)

// journal keeps the records of a role that the host does not have yet.
type eventLog struct {
	send func([]event.Record) error

	mu      sync.Mutex
	records []event.Record
	full    chan struct{} // has an item when there are sendCount records
	end     chan struct{}
	ended   sync.WaitGroup
}

// startEventLog returns a journal that sends records on the way until close.
func startEventLog(send func([]event.Record) error) *eventLog {
	j := &eventLog{send: send, full: make(chan struct{}, 1), end: make(chan struct{})}
	j.ended.Go(func() {
		ticker := time.NewTicker(sendInterval)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
			case <-j.full:
			case <-j.end:
				return
			}
			// A host that does not take them is gone, which is noticed elsewhere.
			_ = j.flush()
		}
	})
	return j
}

func (j *eventLog) add(r event.Record) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.records = append(j.records, r)
	if len(j.records) >= sendCount {
		select {
		case j.full <- struct{}{}:
		default:
		}
	}
}

// flush sends what waits. One goroutine does at a time.
func (j *eventLog) flush() error {
	j.mu.Lock()
	waiting := j.records
	j.records = nil
	j.mu.Unlock()
	return j.send(waiting)
}

// close ends the sending on the way, and sends what is left.
func (j *eventLog) close() error {
	close(j.end)
	j.ended.Wait()
	return j.flush()
}
