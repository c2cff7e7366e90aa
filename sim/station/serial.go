package station

import (
	"fmt"

	"tandem/algo/unit"
)

// Serial is a station that does one thing at a time, first come, first served: a stream of kernels, a copy
// engine, a disk. The end of a piece is known as soon as the piece arrives. The zero Serial is idle.
type Serial struct {
	free   unit.Tick // when the work that has arrived is done
	busy   unit.Tick // time of all work that has arrived
	share  float64   // of the time of the last piece that counts as busy, less 1
	waited unit.Tick // sum of the waiting times of these pieces
	served int64
	// pending are the starts of pieces that had not begun when a piece last arrived.
	pending []unit.Tick
}

// Run queues work of a given time and returns its start and end. Now must not decrease from call to call.
// Cost: O(1) amortised, since later work never delays earlier work.
func (s *Serial) Run(now, takes unit.Tick) (start, end unit.Tick) { return s.RunFor(now, takes, 1) }

// RunFor is Run of work of which a share of the time counts as busy: the station stands for others like it,
// whose work takes that much on average. The share can be more than 1.
func (s *Serial) RunFor(now, takes unit.Tick, share float64) (start, end unit.Tick) {
	if takes < 0 {
		panic(fmt.Sprintf("station: work of %d ns, want at least 0", takes))
	}
	start = max(now, s.free)
	end = start + takes
	s.free = end
	s.busy += takes.Scale(share)
	s.share = share - 1
	s.served++
	s.forget(now)
	if start > now {
		s.waited += start - now
		s.pending = append(s.pending, start)
	}
	return start, end
}

// forget drops the pieces that have begun.
func (s *Serial) forget(now unit.Tick) {
	begun := 0
	for begun < len(s.pending) && s.pending[begun] <= now {
		begun++
	}
	if begun > 0 {
		s.pending = s.pending[:copy(s.pending, s.pending[begun:])]
	}
}

// Busy returns the time that the station has worked until now; divided by now it is the utilisation. Now must
// not be before the last call of Run.
func (s *Serial) Busy(now unit.Tick) unit.Tick { return s.busy - max(0, s.free-now).Scale(1+s.share) }

// Servers implements Station.
func (s *Serial) Servers() float64 { return 1 }

// Stats implements Station. Served counts pieces that have arrived.
func (s *Serial) Stats(now unit.Tick) Stats {
	waited := s.waited
	for _, start := range s.pending {
		waited -= max(0, start-now)
	}
	return Stats{Busy: s.Busy(now), Waited: waited, Served: s.served}
}
