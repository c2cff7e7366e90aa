package des

import (
	"container/heap"
	"math"
	"testing"

	"tandem/algo/rng"
	"tandem/algo/unit"
)

// delays returns exponential delays with a mean of 1 µs, as in the hold model of the event-queue literature.
// They are drawn beforehand so that drawing is not measured.
func delays() []unit.Tick {
	random := rng.New(1, "hold model")
	d := make([]unit.Tick, 1<<16)
	for i := range d {
		d[i] = unit.Tick(math.Ceil(random.ExpFloat64() * 1000))
	}
	return d
}

// Hold model: pop the earliest of 100,000 events, push it again a random delay later.
func BenchmarkHoldRadix(b *testing.B) {
	var p pool
	var r radixHeap
	var due []entry
	d := delays()
	for i := range 100_000 {
		at := d[i&0xffff]
		r.push(entry{at, p.add(Event{At: at})})
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; {
		due = r.pop(due[:0])
		for _, x := range due {
			event, _ := p.remove(x.id)
			event.At += d[i&0xffff]
			r.push(entry{event.At, p.add(event)})
			i++
		}
	}
}

func BenchmarkHoldBoxedHeap(b *testing.B) {
	var h boxedHeap
	d := delays()
	for i := range 100_000 {
		heap.Push(&h, Event{At: d[i&0xffff], Sequence: uint64(i)})
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		event := heap.Pop(&h).(Event)
		event.At += d[i&0xffff]
		event.Sequence = uint64(100_000 + i)
		heap.Push(&h, event)
	}
}

// counters is a system of counters that pass events on.
type counters struct {
	q      *Queue
	delays []unit.Tick
	left   int
	counts [1000]int
}

func (c *counters) Handle(x Event) {
	c.counts[x.Target]++
	if c.left > 0 {
		c.left--
		x.At += c.delays[c.left&0xffff]
		x.Source, x.Target = x.Target, (x.Target+1)%int32(len(c.counts))
		c.q.Schedule(x)
	}
}

func (c *counters) Settle(unit.Tick) {}

// Typed dispatch among 1,000 counters with one event each in flight, queue included.
func BenchmarkDispatch(b *testing.B) {
	c := &counters{q: &Queue{}, delays: delays(), left: b.N}
	for i := range c.counts {
		c.q.Schedule(Event{At: c.delays[i], Source: int32(i), Target: int32(i)})
	}
	b.ReportAllocs()
	b.ResetTimer()
	c.q.Run(unit.Forever, c)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Mevents/s")
}
