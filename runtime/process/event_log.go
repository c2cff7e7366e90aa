package process

import (
	"sync"
	"time"

	"tandem/algo/protocol/event"
	"tandem/algo/unit"
)

const (
	// sendInterval is how long a record may wait until it is sent to the host. Waiting records are lost if
	// the process dies.
	sendInterval = 100 * time.Millisecond
	// latency is more than the time between the moment of an event and that at which its record is added.
	latency = 100 * time.Millisecond
	// sendCount is the number of waiting records that are sent at once.
	sendCount = 1024
)

// eventLog stores the records of this process that were not sent to the host yet.
type eventLog struct {
	send func(records []event.Record, through unit.Tick) error
	now  func() unit.Tick

	mu      sync.Mutex
	begun   bool // records are sent: those of the past are complete
	records []event.Record
	full    chan struct{} // receives an item when sendCount records wait
	end     chan struct{}
	ended   sync.WaitGroup
}

// startEventLog returns an eventLog that sends its records at intervals, from begin until close.
func startEventLog(send func([]event.Record, unit.Tick) error, now func() unit.Tick) *eventLog {
	j := &eventLog{send: send, now: now, full: make(chan struct{}, 1), end: make(chan struct{})}
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
			// An error means that the host is gone, which member.Member notices.
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

// begin makes the log send its records. Later ones are of the present: until then, roles may handle inputs of
// the past again.
func (j *eventLog) begin() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.begun = true
}

// flush sends the waiting records, after begin. One goroutine at a time may call it.
func (j *eventLog) flush() error {
	j.mu.Lock()
	if !j.begun {
		j.mu.Unlock()
		return nil
	}
	waiting := j.records
	j.records = nil
	through := j.now() - unit.Tick(latency)
	j.mu.Unlock()
	return j.send(waiting, through)
}

// close stops the goroutine and sends the remaining records.
func (j *eventLog) close() error {
	close(j.end)
	j.ended.Wait()
	return j.flush()
}
