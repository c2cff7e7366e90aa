package des_test

import (
	"fmt"

	"tandem/algo/unit"
	"tandem/sim/des"
)

// A counter serves one customer at a time, for 3 µs each.
type counter struct {
	queue   des.Queue
	waiting []int64 // customers, the first is being served
}

// The kinds of events.
const (
	arrives int32 = iota
	leaves
)

// Handle implements des.Handler.
func (c *counter) Handle(e des.Event) {
	switch e.Kind {
	case arrives:
		c.waiting = append(c.waiting, e.A)
		if len(c.waiting) == 1 {
			c.queue.Schedule(des.Event{At: e.At + 3*unit.Microsecond, Kind: leaves})
		}
	case leaves:
		fmt.Printf("customer %d leaves at %v\n", c.waiting[0], e.At)
		c.waiting = c.waiting[1:]
		if len(c.waiting) > 0 {
			c.queue.Schedule(des.Event{At: e.At + 3*unit.Microsecond, Kind: leaves})
		}
	}
}

// Settle implements des.Handler. A counter shares nothing, so there is nothing to settle.
func (c *counter) Settle(unit.Tick) {}

// Customers arrive at a counter every 2 µs, and a queue forms.
func Example() {
	c := &counter{}
	for i := range int64(4) {
		c.queue.Schedule(des.Event{At: unit.Tick(i) * 2 * unit.Microsecond, Kind: arrives, A: i})
	}
	c.queue.Run(unit.Forever, c)
	// Output:
	// customer 0 leaves at 3us
	// customer 1 leaves at 6us
	// customer 2 leaves at 9us
	// customer 3 leaves at 12us
}
