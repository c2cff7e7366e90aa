package station

import (
	"fmt"

	"tandem/algo/unit"
)

// Lane is a station with c servers whose results leave in the order of arrival, such as the service threads
// of a role. Pieces of work enter service in the order of their arrival, up to c at once. A piece that ends
// early frees its server at once, and leaves when all pieces before it have left.
//
//	if Push(now, tag) { start the piece }
//	...                                     // at the end of a service:
//	End(now, tag)
//	while Leave() returns a tag: its result takes effect
//	while Next(now) returns a tag: start the piece
type Lane struct {
	servers, serving int
	pieces           []piece // in the order of arrival; those before head have left
	head, begun      int     // pieces in [head, begun) have entered service

	at           unit.Tick // instant of the last change
	busy, waited unit.Tick // up to that instant
	served       int64
}

type piece struct {
	tag   int32
	ended bool
}

// NewLane returns an idle lane. It panics if servers is not at least 1.
func NewLane(servers int) *Lane {
	if servers < 1 {
		panic(fmt.Sprintf("station: lane of %d servers, want at least 1", servers))
	}
	return &Lane{servers: servers}
}

// Push adds a piece of work and reports whether its service begins now.
func (l *Lane) Push(now unit.Tick, tag int32) bool {
	l.advance(now)
	l.pieces = append(l.pieces, piece{tag: tag})
	_, starts := l.start()
	return starts
}

// End ends the service of a piece. It panics if the piece is not in service.
func (l *Lane) End(now unit.Tick, tag int32) {
	l.advance(now)
	for i := l.head; i < l.begun; i++ {
		if p := &l.pieces[i]; p.tag == tag && !p.ended {
			p.ended = true
			l.serving--
			l.served++
			return
		}
	}
	panic(fmt.Sprintf("station: end of piece %d, which is not in service", tag))
}

// Next begins the service of the next piece that waits, if a server is free.
func (l *Lane) Next(now unit.Tick) (tag int32, ok bool) {
	l.advance(now)
	return l.start()
}

// start begins the service of the next piece that waits, if a server is free.
func (l *Lane) start() (tag int32, ok bool) {
	if l.serving == l.servers || l.begun == len(l.pieces) {
		return 0, false
	}
	l.begun++
	l.serving++
	return l.pieces[l.begun-1].tag, true
}

// Leave removes the first piece if its service has ended.
func (l *Lane) Leave() (tag int32, ok bool) {
	if l.head == l.begun || !l.pieces[l.head].ended {
		return 0, false
	}
	tag = l.pieces[l.head].tag
	l.head++
	// At most one move for each piece, and later pieces reuse the memory.
	if 2*l.head >= len(l.pieces) {
		l.pieces = l.pieces[:copy(l.pieces, l.pieces[l.head:])]
		l.begun -= l.head
		l.head = 0
	}
	return tag, true
}

// First returns the piece that leaves next, if its service has begun.
func (l *Lane) First() (tag int32, ok bool) {
	if l.head == l.begun {
		return 0, false
	}
	return l.pieces[l.head].tag, true
}

// Len returns the number of pieces that have not left.
func (l *Lane) Len() int { return len(l.pieces) - l.head }

// Clear removes all pieces, as a crash does, and calls drop for each piece that is not in service.
func (l *Lane) Clear(now unit.Tick, drop func(tag int32)) {
	l.advance(now)
	for i := l.head; i < len(l.pieces); i++ {
		if p := l.pieces[i]; p.ended || i >= l.begun {
			drop(p.tag)
		}
	}
	l.pieces, l.head, l.begun, l.serving = l.pieces[:0], 0, 0, 0
}

// Servers implements Station.
func (l *Lane) Servers() float64 { return float64(l.servers) }

// Stats implements Station. A piece waits until its service begins.
func (l *Lane) Stats(now unit.Tick) Stats {
	passed := now - l.at
	return Stats{
		Busy:   l.busy + passed*unit.Tick(l.serving),
		Waited: l.waited + passed*unit.Tick(len(l.pieces)-l.begun),
		Served: l.served,
	}
}

// advance accounts for the time since the last change.
func (l *Lane) advance(now unit.Tick) {
	passed := now - l.at
	l.busy += passed * unit.Tick(l.serving)
	l.waited += passed * unit.Tick(len(l.pieces)-l.begun)
	l.at = now
}
