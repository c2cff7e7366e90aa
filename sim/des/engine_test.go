package des

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/rng"
	"tandem/algo/unit"
)

// script is a handler that logs what it is given and runs a function on it.
type script struct {
	log    []string
	event  func(Event)
	settle func(unit.Tick)
}

func (s *script) Handle(e Event) {
	s.log = append(s.log, fmt.Sprintf("%d:%d", e.At, e.Kind))
	if s.event != nil {
		s.event(e)
	}
}

func (s *script) Settle(now unit.Tick) {
	s.log = append(s.log, fmt.Sprintf("%d:settle", now))
	if s.settle != nil {
		s.settle(now)
	}
}

func (s *script) expect(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(s.log, want) {
		t.Errorf("handled %v, want %v", s.log, want)
	}
}

func TestRoundIsOrderedByClassSourceSequence(t *testing.T) {
	var e Engine
	s := &script{}
	e.Schedule(Event{At: 5, Class: 1, Source: 0, Kind: 4})
	e.Schedule(Event{At: 5, Class: 0, Source: 9, Kind: 2})
	e.Schedule(Event{At: 5, Class: 0, Source: 9, Kind: 3})
	e.Schedule(Event{At: 5, Class: 0, Source: -1, Kind: 1})
	e.Schedule(Event{At: 4, Class: 7, Source: 7, Kind: 0})
	e.Run(unit.Forever, s)
	s.expect(t, "4:0", "4:settle", "5:1", "5:2", "5:3", "5:4", "5:settle")
}

func TestEventsOfTheInstantFormTheNextRound(t *testing.T) {
	var e Engine
	s := &script{}
	s.event = func(x Event) {
		if x.Kind == 1 {
			// Class −1 would come first if it could join the present round.
			e.Schedule(Event{At: x.At, Class: -1, Kind: 3})
		}
	}
	e.Schedule(Event{At: 5, Kind: 1})
	e.Schedule(Event{At: 5, Kind: 2})
	e.Run(unit.Forever, s)
	s.expect(t, "5:1", "5:2", "5:3", "5:settle")
}

func TestSettleMayOpenAnotherRound(t *testing.T) {
	var e Engine
	s := &script{}
	first := true
	s.settle = func(now unit.Tick) {
		if first {
			first = false
			e.Schedule(Event{At: now, Kind: 2})
			e.Schedule(Event{At: now + 1, Kind: 3})
		}
	}
	e.Schedule(Event{At: 5, Kind: 1})
	e.Run(unit.Forever, s)
	s.expect(t, "5:1", "5:settle", "5:2", "5:settle", "6:3", "6:settle")
}

func TestCancel(t *testing.T) {
	var e Engine
	s := &script{}
	third := ID{}
	s.event = func(x Event) {
		if x.Kind == 1 && !e.Cancel(third) {
			t.Error("an event of the running round could not be cancelled")
		}
	}
	first := e.Schedule(Event{At: 5, Kind: 1})
	second := e.Schedule(Event{At: 3, Kind: 2})
	third = e.Schedule(Event{At: 5, Kind: 3})
	if !e.Cancel(second) || e.Cancel(second) {
		t.Error("Cancel of a pending event = false or, twice, true")
	}
	reused := e.Schedule(Event{At: 9, Kind: 4})
	if e.Cancel(second) || e.Cancel(ID{}) {
		t.Error("a stale or zero id cancelled something")
	}
	e.Run(unit.Forever, s)
	// Nothing is handled or settled at 3, the instant of a cancelled event.
	s.expect(t, "5:1", "5:settle", "9:4", "9:settle")
	if e.Cancel(first) || e.Cancel(reused) {
		t.Error("a handled event was cancelled")
	}
}

func TestRunStopsAtUntil(t *testing.T) {
	var e Engine
	s := &script{}
	e.Schedule(Event{At: 10, Kind: 1})
	e.Schedule(Event{At: 20, Kind: 2})
	e.Run(10, s)
	e.Run(15, s)
	if e.Now() != 15 || e.Pending() != 1 {
		t.Errorf("Now, Pending = %d, %d, want 15, 1", e.Now(), e.Pending())
	}
	e.Schedule(Event{At: 15, Kind: 3})
	e.Run(unit.Forever, s)
	s.expect(t, "10:1", "10:settle", "15:3", "15:settle", "20:2", "20:settle")
	if e.Now() != 20 {
		t.Errorf("Now = %d, want the last instant handled, 20", e.Now())
	}
}

// A cancelled timer far ahead neither advances the clock nor keeps an earlier
// event from being scheduled afterwards.
func TestCancelledEventLeavesTheClockAlone(t *testing.T) {
	var e Engine
	s := &script{}
	e.Cancel(e.Schedule(Event{At: 1000}))
	e.Run(unit.Forever, s)
	e.Schedule(Event{At: 3, Kind: 1})
	e.Run(unit.Forever, s)
	s.expect(t, "3:1", "3:settle")
}

func TestStopKeepsTheRestOfTheRound(t *testing.T) {
	var e Engine
	s := &script{}
	s.event = func(x Event) {
		if x.Kind == 1 {
			e.Stop()
		}
	}
	for kind := range int32(3) {
		e.Schedule(Event{At: 5, Kind: kind})
	}
	e.Run(unit.Forever, s)
	s.expect(t, "5:0", "5:1")
	e.Run(unit.Forever, s)
	s.expect(t, "5:0", "5:1", "5:2", "5:settle")
}

func TestPanics(t *testing.T) {
	tests := []struct {
		name string
		run  func(e *Engine)
		want []string
	}{
		{"past", func(e *Engine) {
			e.Schedule(Event{At: 7})
			e.Run(unit.Forever, &script{})
			e.Schedule(Event{At: 6, Kind: 42})
		}, []string{"6 ns", "7 ns", "kind 42"}},
		{"endless instant", func(e *Engine) {
			e.Schedule(Event{At: 7})
			e.Run(unit.Forever, loop{e})
		}, []string{"rounds at 7 ns"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			defer func() {
				text := fmt.Sprint(recover())
				for _, want := range test.want {
					if !strings.Contains(text, want) {
						t.Errorf("panic %q does not name %q", text, want)
					}
				}
			}()
			test.run(&Engine{})
		})
	}
}

// loop answers every event with another of the same instant.
type loop struct{ e *Engine }

func (l loop) Handle(x Event)   { l.e.Schedule(x) }
func (l loop) Settle(unit.Tick) {}

// storm is a handler that schedules and cancels at random and checks that the
// clock never goes back, and that rounds are ordered.
type storm struct {
	e        *Engine
	key      uint64
	draws    int
	budget   int
	pending  []ID
	hash     uint64
	handled  int
	canceled int
	last     Event
	broken   string
}

func (s *storm) draw(n int) int {
	s.draws++
	return int(rng.Unit(s.key, s.draws) * float32(n))
}

func (s *storm) Handle(x Event) {
	s.handled++
	if x.At < s.last.At || x.At != s.e.Now() {
		s.broken = fmt.Sprintf("event of %d at %d after %d", x.At, s.e.Now(), s.last.At)
	}
	s.last = x
	s.hash = rng.Mix(s.hash ^ uint64(x.At) ^ x.Sequence<<32)
	for range s.draw(4) {
		s.schedule()
	}
	if len(s.pending) > 0 && s.draw(3) == 0 {
		if s.e.Cancel(s.pending[s.draw(len(s.pending))]) {
			s.canceled++
		}
	}
}

func (s *storm) Settle(unit.Tick) {}

func (s *storm) schedule() {
	if s.budget == 0 {
		return
	}
	s.budget--
	at := s.e.Now() + unit.Tick(s.draw(3)*s.draw(1000))
	s.pending = append(s.pending, s.e.Schedule(Event{At: at, Class: int32(s.draw(2)), Source: int32(s.draw(5))}))
}

// Whatever is scheduled and cancelled, every event is handled once or cancelled
// once, time never goes back, and the same seed gives the same log.
func TestRandomRuns(t *testing.T) {
	run := func(seed uint64) *storm {
		s := &storm{e: &Engine{}, key: rng.Key(seed, "storm"), budget: 500}
		s.schedule()
		s.e.Run(unit.Forever, s)
		return s
	}
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		a, b := run(seed), run(seed)
		if a.broken != "" {
			t.Fatal(a.broken)
		}
		if got := a.handled + a.canceled; got != len(a.pending) || a.e.Pending() != 0 {
			t.Fatalf("%d handled + %d cancelled of %d, %d left", a.handled, a.canceled, len(a.pending), a.e.Pending())
		}
		if a.hash != b.hash {
			t.Fatal("the same seed gave two logs")
		}
	})
}
