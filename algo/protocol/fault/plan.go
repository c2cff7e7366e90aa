package fault

import (
	"fmt"
	"math"
	"slices"

	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/algo/rng"
	"tandem/algo/unit"
)

// Plan describes the faults of a run: the section `faults:` of a job. The zero value injects no fault.
type Plan struct {
	Seed      uint64  `yaml:"seed"`      // of all draws
	Drop      float64 `yaml:"drop"`      // probability that a message is lost; 0 ≤ drop < 1
	Duplicate float64 `yaml:"duplicate"` // probability that a message arrives twice; 0 … 1
	// Reorder is the largest number of later messages, from the same sender to the same receiver, that may
	// overtake a message; 0 … 1024. Each message draws a number uniformly from 0 … Reorder and waits until
	// that many later messages have been sent, but at most for 1 ms.
	Reorder int     `yaml:"reorder"`
	Delay   Delay   `yaml:"delay"`   // random delays of messages
	Crashes []Crash `yaml:"crashes"` // of single roles, at most 1000
}

// Delay describes random delays of messages.
type Delay struct {
	Rate float64   `yaml:"rate"` // probability that a message is delayed; 0 … 1
	Max  unit.Tick `yaml:"max"`  // delays are uniform in (0, Max]; at most 10 s
}

// Crash is the crash of one role instance. The role loses its state, its unfinished work and all messages
// that arrive before it starts again, as its next incarnation.
type Crash struct {
	Role  msg.Role `yaml:"role"`  // an nn-worker crashes only in modes that reduce gradients in every step
	Index int32    `yaml:"index"` // of the role among those of its kind, from 0
	// Step is the training step of the crash: the first input about this step or a later one is lost.
	Step int32     `yaml:"step"`
	Away unit.Tick `yaml:"away"` // time until it starts again; 0 … 1 min
}

// Limits of a plan.
const (
	// HoldMax is the longest time that Reorder holds a message back.
	HoldMax    = unit.Millisecond
	ReorderMax = 1024
	DelayMax   = 10 * unit.Second
	AwayMax    = unit.Minute
	crashesMax = 1000
)

// Any reports whether the plan injects any fault.
func (p *Plan) Any() bool {
	return p.Drop > 0 || p.Duplicate > 0 || p.Reorder > 0 || p.Delay.Rate > 0 || len(p.Crashes) > 0
}

// Validate returns an error that names the key of the first setting out of range.
func (p *Plan) Validate() error {
	for _, rate := range []struct {
		key string
		v   float64
	}{{"drop", p.Drop}, {"duplicate", p.Duplicate}, {"delay.rate", p.Delay.Rate}} {
		if !(rate.v >= 0 && rate.v <= 1) {
			return fmt.Errorf("%s = %g; want a probability, 0 to 1", rate.key, rate.v)
		}
	}
	switch {
	case p.Drop == 1:
		return fmt.Errorf("drop = 1 loses every message, so no run can end; want less than 1")
	case p.Reorder < 0 || p.Reorder > ReorderMax:
		return fmt.Errorf("reorder = %d; want 0 to %d messages", p.Reorder, ReorderMax)
	case p.Delay.Max < 0 || p.Delay.Max > DelayMax:
		return fmt.Errorf("delay.max = %v; want 0 to %v", p.Delay.Max, DelayMax)
	case p.Delay.Rate > 0 && p.Delay.Max == 0:
		return fmt.Errorf("delay.rate = %g needs delay.max, the longest delay, such as 50ms", p.Delay.Rate)
	case len(p.Crashes) > crashesMax:
		return fmt.Errorf("%d crashes; want at most %d", len(p.Crashes), crashesMax)
	}
	for i, c := range p.Crashes {
		if err := c.validate(); err != nil {
			return fmt.Errorf("crashes[%d]%w", i, err)
		}
	}
	return nil
}

func (c *Crash) validate() error {
	switch {
	case c.Index < 0:
		return fmt.Errorf(".index = %d; want 0 or more", c.Index)
	case c.Step < 0:
		return fmt.Errorf(".step = %d; want 0 or more", c.Step)
	case c.Away < 0 || c.Away > AwayMax:
		return fmt.Errorf(".away = %v; want 0 to %v", c.Away, AwayMax)
	}
	return nil
}

// ValidateRoles returns an error that names the first crash of a role instance that the run does not have.
func (p *Plan) ValidateRoles(cfg *role.Config) error {
	for i, c := range p.Crashes {
		n := cfg.Count(c.Role)
		switch {
		case n == 0:
			return fmt.Errorf("crashes[%d].role = %s: the mode has no such role", i, c.Role)
		case c.Index >= n:
			return fmt.Errorf("crashes[%d].index = %d; the job has %d instances of %s, counted from 0", i,
				c.Index, n, c.Role)
		case c.Role == msg.NNWorker && !cfg.RanksAreEqual():
			return fmt.Errorf("crashes[%d].role = %s: no other rank has its parameters; use a mode that "+
				"reduces dense gradients in every step, such as hybrid, with at least 2 ranks", i, c.Role)
		}
	}
	return nil
}

// CrashesRanks reports whether an NN worker crashes.
func (p *Plan) CrashesRanks() bool {
	return slices.ContainsFunc(p.Crashes, func(c Crash) bool { return c.Role == msg.NNWorker })
}

// Between returns the faults of a run of roles from one step of a training to another: the crashes at its
// steps, as the roles count them. The last run of a training keeps those that are never due.
func (p Plan) Between(first, end int, last bool) Plan {
	crashes := slices.Clone(p.Crashes)
	for i := range crashes {
		crashes[i].Step -= int32(first)
	}
	p.Crashes = slices.DeleteFunc(crashes, func(c Crash) bool {
		return c.Step < 0 || int(c.Step) >= end-first && !last
	})
	return p
}

// fate is the set of faults of one message.
type fate struct {
	drop, duplicate bool
	delay           unit.Tick
	behind          uint64 // number of later messages that the message waits for
}

// fateOf returns the fate of the n-th message that an incarnation of a role sends to another role.
func (p *Plan) fateOf(from, to msg.Address, incarnation uint32, n uint64) fate {
	key := rng.Key(p.Seed, "fault", uint64(from.Role), uint64(from.Index), uint64(to.Role), uint64(to.Index),
		uint64(incarnation), n)
	draw := func(i int) float64 { return float64(rng.Unit(key, i)) }
	f := fate{drop: draw(0) < p.Drop, duplicate: draw(1) < p.Duplicate}
	if draw(2) < p.Delay.Rate {
		f.delay = unit.Tick(math.Ceil(draw(3) * float64(p.Delay.Max)))
	}
	f.behind = uint64(draw(4) * float64(p.Reorder+1))
	return f
}
