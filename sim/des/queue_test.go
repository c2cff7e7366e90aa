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

// script is a handler that logs its calls and runs a function on each.
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
	var q Queue
	s := &script{}
	q.Schedule(Event{At: 5, Class: 1, Source: 0, Kind: 4})
	q.Schedule(Event{At: 5, Class: 0, Source: 9, Kind: 2})
	q.Schedule(Event{At: 5, Class: 0, Source: 9, Kind: 3})
	q.Schedule(Event{At: 5, Class: 0, Source: -1, Kind: 1})
	q.Schedule(Event{At: 4, Class: 7, Source: 7, Kind: 0})
	q.Run(unit.Forever, s)
	s.expect(t, "4:0", "4:settle", "5:1", "5:2", "5:3", "5:4", "5:settle")
}

// A shuffled queue permutes the sources of an instant, by seed and instant, and nothing else: classes stay
// ascending, and the events of one source stay in the order in which they were scheduled.
func TestShuffle(t *testing.T) {
	const sources = 5
	orders := map[string]bool{}
	for seed := range uint64(20) {
		for at := range unit.Tick(2) {
			var q Queue
			q.Shuffle(1 + seed)
			s := &script{}
			first := map[int32]int32{}
			class, text := int32(0), ""
			s.event = func(e Event) {
				if e.Class < class {
					t.Errorf("class %d after class %d", e.Class, class)
				}
				class = e.Class
				if e.Class > 0 {
					return
				}
				if e.Kind != first[e.Source] {
					t.Errorf("event %d of source %d, want %d", e.Kind, e.Source, first[e.Source])
				}
				first[e.Source]++
				text += fmt.Sprint(e.Source)
			}
			for source := range int32(sources) {
				q.Schedule(Event{At: at, Class: 1, Source: source})
			}
			for kind := range int32(2) {
				for source := range int32(sources) {
					q.Schedule(Event{At: at, Source: source, Kind: kind})
				}
			}
			q.Run(unit.Forever, s)
			orders[text] = true
		}
	}
	if len(orders) < 30 { // of 40 draws among 120 orders
		t.Errorf("%d orders", len(orders))
	}
}

func TestEventsOfTheInstantFormTheNextRound(t *testing.T) {
	var q Queue
	s := &script{}
	s.event = func(x Event) {
		if x.Kind == 1 {
			// Class −1 would come first if it could join the present round.
			q.Schedule(Event{At: x.At, Class: -1, Kind: 3})
		}
	}
	q.Schedule(Event{At: 5, Kind: 1})
	q.Schedule(Event{At: 5, Kind: 2})
	q.Run(unit.Forever, s)
	s.expect(t, "5:1", "5:2", "5:3", "5:settle")
}

func TestSettleMayOpenAnotherRound(t *testing.T) {
	var q Queue
	s := &script{}
	first := true
	s.settle = func(now unit.Tick) {
		if first {
			first = false
			q.Schedule(Event{At: now, Kind: 2})
			q.Schedule(Event{At: now + 1, Kind: 3})
		}
	}
	q.Schedule(Event{At: 5, Kind: 1})
	q.Run(unit.Forever, s)
	s.expect(t, "5:1", "5:settle", "5:2", "5:settle", "6:3", "6:settle")
}

func TestCancel(t *testing.T) {
	var q Queue
	s := &script{}
	third := ID{}
	s.event = func(x Event) {
		if x.Kind == 1 && !q.Cancel(third) {
			t.Error("an event of the running round could not be cancelled")
		}
	}
	first := q.Schedule(Event{At: 5, Kind: 1})
	second := q.Schedule(Event{At: 3, Kind: 2})
	third = q.Schedule(Event{At: 5, Kind: 3})
	if !q.Cancel(second) || q.Cancel(second) {
		t.Error("Cancel of a pending event = false or, twice, true")
	}
	reused := q.Schedule(Event{At: 9, Kind: 4})
	if q.Cancel(second) || q.Cancel(ID{}) {
		t.Error("a stale or zero id cancelled something")
	}
	q.Run(unit.Forever, s)
	// Nothing is handled or settled at 3, the instant of a cancelled event.
	s.expect(t, "5:1", "5:settle", "9:4", "9:settle")
	if q.Cancel(first) || q.Cancel(reused) {
		t.Error("a handled event was cancelled")
	}
}

func TestRunStopsAtUntil(t *testing.T) {
	var q Queue
	s := &script{}
	q.Schedule(Event{At: 10, Kind: 1})
	q.Schedule(Event{At: 20, Kind: 2})
	q.Run(10, s)
	q.Run(15, s)
	if q.Now() != 15 || q.Pending() != 1 {
		t.Errorf("Now, Pending = %d, %d, want 15, 1", q.Now(), q.Pending())
	}
	q.Schedule(Event{At: 15, Kind: 3})
	q.Run(unit.Forever, s)
	s.expect(t, "10:1", "10:settle", "15:3", "15:settle", "20:2", "20:settle")
	if q.Now() != 20 {
		t.Errorf("Now = %d, want the last instant handled, 20", q.Now())
	}
}

// A cancelled timer far ahead neither advances the clock nor keeps an earlier event from being scheduled
// afterwards.
func TestCancelledEventLeavesTheClockAlone(t *testing.T) {
	var q Queue
	s := &script{}
	q.Cancel(q.Schedule(Event{At: 1000}))
	q.Run(unit.Forever, s)
	q.Schedule(Event{At: 3, Kind: 1})
	q.Run(unit.Forever, s)
	s.expect(t, "3:1", "3:settle")
}

func TestStopKeepsTheRestOfTheRound(t *testing.T) {
	var q Queue
	s := &script{}
	s.event = func(x Event) {
		if x.Kind == 1 {
			q.Stop()
		}
	}
	for kind := range int32(3) {
		q.Schedule(Event{At: 5, Kind: kind})
	}
	q.Run(unit.Forever, s)
	s.expect(t, "5:0", "5:1")
	q.Run(unit.Forever, s)
	s.expect(t, "5:0", "5:1", "5:2", "5:settle")
}

func TestPanics(t *testing.T) {
	tests := []struct {
		name string
		run  func(q *Queue)
		want []string
	}{
		{"past", func(q *Queue) {
			q.Schedule(Event{At: 7})
			q.Run(unit.Forever, &script{})
			q.Schedule(Event{At: 6, Kind: 42})
		}, []string{"6 ns", "7 ns", "kind 42"}},
		{"endless instant", func(q *Queue) {
			q.Schedule(Event{At: 7})
			q.Run(unit.Forever, loop{q})
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
			test.run(&Queue{})
		})
	}
}

// loop answers every event with another of the same instant.
type loop struct{ q *Queue }

func (l loop) Handle(x Event)   { l.q.Schedule(x) }
func (l loop) Settle(unit.Tick) {}

// storm is a handler that schedules and cancels at random and checks that the clock never goes back, and that
// rounds are ordered.
type storm struct {
	q        *Queue
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
	if x.At < s.last.At || x.At != s.q.Now() {
		s.broken = fmt.Sprintf("event of %d at %d after %d", x.At, s.q.Now(), s.last.At)
	}
	s.last = x
	s.hash = rng.Mix(s.hash ^ uint64(x.At) ^ x.Sequence<<32)
	for range s.draw(4) {
		s.schedule()
	}
	if len(s.pending) > 0 && s.draw(3) == 0 {
		if s.q.Cancel(s.pending[s.draw(len(s.pending))]) {
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
	at := s.q.Now() + unit.Tick(s.draw(3)*s.draw(1000))
	event := Event{At: at, Class: int32(s.draw(2)), Source: int32(s.draw(5))}
	s.pending = append(s.pending, s.q.Schedule(event))
}

// For any mix of scheduling and cancelling, every event is handled once or cancelled once, time never goes
// back, and the same seed gives the same log.
func TestRandomRuns(t *testing.T) {
	run := func(seed uint64) *storm {
		s := &storm{q: &Queue{}, key: rng.Key(seed, "storm"), budget: 500}
		s.schedule()
		s.q.Run(unit.Forever, s)
		return s
	}
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		a, b := run(seed), run(seed)
		if a.broken != "" {
			t.Fatal(a.broken)
		}
		if got := a.handled + a.canceled; got != len(a.pending) || a.q.Pending() != 0 {
			t.Fatalf("%d handled + %d cancelled of %d, %d left",
				a.handled, a.canceled, len(a.pending), a.q.Pending())
		}
		if a.hash != b.hash {
			t.Fatal("the same seed gave two logs")
		}
	})
}
