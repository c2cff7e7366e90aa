package fault

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
)

// Syntax is an example of the text form of a plan, for help texts.
const Syntax = "drop=0.01,duplicate=0.01,reorder=16,delay=0.01:50ms,crash=embedding-worker/0@40+2s,seed=1"

const none = "none"

// Parse reads the text form of a plan: items KEY=VALUE, separated by commas, as in Syntax. Each key
// is given at most once, except crash. "none" and "" are the plan without faults. The error names
// the key and the possible values.
func Parse(text string) (Plan, error) {
	var p Plan
	if text = strings.TrimSpace(text); text == "" || text == none {
		return p, nil
	}
	seen := map[string]bool{}
	for item := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(strings.TrimSpace(item), "=")
		if !ok {
			return p, fmt.Errorf("%q is not KEY=VALUE; write faults as %s", item, Syntax)
		}
		if seen[key] && key != "crash" {
			return p, fmt.Errorf("%s is given twice; give it once", key)
		}
		seen[key] = true
		if err := p.set(key, value); err != nil {
			return p, err
		}
	}
	return p, p.Validate()
}

// set sets the field that a key names.
func (p *Plan) set(key, value string) (err error) {
	switch key {
	case "seed":
		p.Seed, err = strconv.ParseUint(value, 10, 64)
	case "drop":
		p.Drop, err = strconv.ParseFloat(value, 64)
	case "duplicate":
		p.Duplicate, err = strconv.ParseFloat(value, 64)
	case "reorder":
		p.Reorder, err = strconv.Atoi(value)
	case "delay":
		rate, longest, ok := strings.Cut(value, ":")
		if !ok {
			return fmt.Errorf("delay=%s; want RATE:LONGEST, such as 0.01:50ms", value)
		}
		if p.Delay.Rate, err = strconv.ParseFloat(rate, 64); err == nil {
			p.Delay.Max, err = unit.ParseTick(longest)
		}
	case "crash":
		var c Crash
		if c, err = parseCrash(value); err == nil {
			p.Crashes = append(p.Crashes, c)
		}
		return err
	default:
		return fmt.Errorf("unknown fault %q; use drop, duplicate, reorder, delay, crash or seed, as in %s",
			key, Syntax)
	}
	if err != nil {
		return fmt.Errorf("%s=%s: %w", key, value, plain(err))
	}
	return nil
}

// plain translates an error of package strconv.
func plain(err error) error {
	switch {
	case errors.Is(err, strconv.ErrSyntax):
		return errors.New("not a number; one in a hundred is 0.01")
	case errors.Is(err, strconv.ErrRange):
		return errors.New("out of range")
	}
	return err
}

// parseCrash reads ROLE/INDEX@STEP+AWAY; "+AWAY" is optional.
func parseCrash(text string) (c Crash, err error) {
	who, when, ok := strings.Cut(text, "@")
	name, index, named := strings.Cut(who, "/")
	if !ok || !named {
		return c, fmt.Errorf("crash=%s; want ROLE/INDEX@STEP+AWAY, such as embedding-worker/0@40+2s", text)
	}
	if c.Role, err = msg.ParseRole(name); err != nil {
		return c, fmt.Errorf("crash=%s: %w", text, err)
	}
	step, away, hasAway := strings.Cut(when, "+")
	if c.Index, err = parseInt32(index); err == nil {
		c.Step, err = parseInt32(step)
	}
	if err == nil && hasAway {
		c.Away, err = unit.ParseTick(away)
	}
	if err != nil {
		return c, fmt.Errorf("crash=%s: %w", text, plain(err))
	}
	return c, nil
}

func parseInt32(text string) (int32, error) {
	n, err := strconv.ParseInt(text, 10, 32)
	return int32(n), err
}

// String returns the text that Parse reads.
func (p Plan) String() string {
	var items []string
	add := func(given bool, format string, args ...any) {
		if given {
			items = append(items, fmt.Sprintf(format, args...))
		}
	}
	add(p.Drop != 0, "drop=%g", p.Drop)
	add(p.Duplicate != 0, "duplicate=%g", p.Duplicate)
	add(p.Reorder != 0, "reorder=%d", p.Reorder)
	add(p.Delay != Delay{}, "delay=%g:%s", p.Delay.Rate, exact(p.Delay.Max))
	for _, c := range p.Crashes {
		add(true, "crash=%s/%d@%d+%s", c.Role, c.Index, c.Step, exact(c.Away))
	}
	add(p.Seed != 0, "seed=%d", p.Seed)
	if len(items) == 0 {
		return none
	}
	return strings.Join(items, ",")
}

func exact(t unit.Tick) string {
	text, _ := t.MarshalText() // never fails
	return string(text)
}
