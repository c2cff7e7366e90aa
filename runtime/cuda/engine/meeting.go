package engine

import (
	"errors"
	"sync"
)

// meeting is where the ranks of a process wait for each other and tell each other numbers, without work on
// their devices.
type meeting struct {
	mutex   sync.Mutex
	now     *round
	givenUp chan struct{} // closed by giveUp
	once    sync.Once
}

// round is what the ranks tell each other once.
type round struct {
	told [][]int // by rank
	left int     // ranks that have not come
	full chan struct{}
}

func newMeeting(ranks int) *meeting {
	return &meeting{now: newRound(ranks), givenUp: make(chan struct{})}
}

func newRound(ranks int) *round {
	return &round{told: make([][]int, ranks), left: ranks, full: make(chan struct{})}
}

// join tells all ranks some numbers, and returns, when each has come, what each has told. The numbers may not
// change before the next join of all.
func (m *meeting) join(rank int, numbers []int) (told [][]int, err error) {
	m.mutex.Lock()
	r := m.now
	r.told[rank] = numbers
	if r.left--; r.left == 0 {
		m.now = newRound(len(r.told))
		close(r.full)
	}
	m.mutex.Unlock()
	select {
	case <-r.full:
	case <-m.givenUp:
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if r.left > 0 {
		return nil, errors.New("engine: the exchange of rows is given up: another rank has failed")
	}
	return r.told, nil
}

// giveUp ends the waits of all ranks with an error.
func (m *meeting) giveUp() { m.once.Do(func() { close(m.givenUp) }) }

// turns keeps some work apart from other work, of which several pieces may be under way at a time and which
// never waits for more of the first.
type turns struct {
	mutex sync.Mutex
	under int // how much of the other work is under way
	ended sync.Cond
}

func newTurns() *turns {
	t := new(turns)
	t.ended.L = &t.mutex
	return t
}

// begin begins other work, and returns what ends it.
func (t *turns) begin() (end func()) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.under++
	return t.end
}

func (t *turns) end() {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.under--; t.under == 0 {
		t.ended.Broadcast()
	}
}

// between does some work when no other is under way.
func (t *turns) between(work func()) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	for t.under > 0 {
		t.ended.Wait()
	}
	work()
}

// exchanges are what ranks of this process do together on their devices. The replicas of an earlier training
// are freed between them: NCCL lets devices reach each other's memory, so the driver may wait for all devices
// before it frees some, and then for kernels of ranks that wait for another, which waits for the driver.
var exchanges = newTurns()
