package station

import (
	"fmt"

	"tandem/algo/unit"
)

// Serial is a station that does one thing at a time, first come, first served: a stream of kernels, a copy
// engine, a disk. The end of a piece is known as soon as the piece arrives. The zero Serial is idle.
type Serial struct {
	free   unit.Tick // when the work that has arrived is done
	busy   unit.Tick // time of all work that has arrived, as far as it counts as busy
	waited unit.Tick // sum of the waiting times of these pieces
	served int64
	// pending are the pieces that had not ended when a piece last arrived.
	pending []serialPiece
}

// serialPiece is a piece of work, of which a share of the time counts as busy.
type serialPiece struct {
	start, end unit.Tick
	share      float64
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
	s.waited += start - now
	s.served++
	s.forget(now)
	if end > now {
		s.pending = append(s.pending, serialPiece{start, end, share})
	}
	return start, end
}

// forget drops the pieces that have ended.
func (s *Serial) forget(now unit.Tick) {
	ended := 0
	for ended < len(s.pending) && s.pending[ended].end <= now {
		ended++
	}
	if ended > 0 {
		s.pending = s.pending[:copy(s.pending, s.pending[ended:])]
	}
}

// Busy returns the time that the station has worked until now; divided by now it is the utilisation. Now must
// not be before the last call of Run.
func (s *Serial) Busy(now unit.Tick) unit.Tick {
	busy := s.busy
	for _, p := range s.pending {
		busy -= max(0, p.end-max(p.start, now)).Scale(p.share)
	}
	return busy
}

// Servers implements Station.
func (s *Serial) Servers() float64 { return 1 }

// Stats implements Station. Served counts pieces that have arrived.
func (s *Serial) Stats(now unit.Tick) Stats {
	waited := s.waited
	for _, p := range s.pending {
		waited -= max(0, p.start-now)
	}
	return Stats{Busy: s.Busy(now), Waited: waited, Served: s.served}
}
