package job

import (
	"fmt"
	"strconv"
	"strings"

	"tandem/algo/unit"
)

// Every is an interval of training, in steps or in time: something is done after every Steps steps, or at the
// first step after every Time. The zero value means never.
type Every struct {
	Steps int       // at least 1, or 0 if Time is set
	Time  unit.Tick // above 0, or 0 if Steps is set
}

// never is the text form of the zero value.
const never = "never"

// ParseEvery reads "500 steps", a duration such as "30s", or "never".
func ParseEvery(text string) (Every, error) {
	text = strings.TrimSpace(text)
	if text == never {
		return Every{}, nil
	}
	if number, isSteps := strings.CutSuffix(strings.TrimSuffix(text, "s"), "step"); isSteps {
		if n, err := strconv.Atoi(strings.TrimSpace(number)); err == nil && n > 0 {
			return Every{Steps: n}, nil
		}
	} else if t, err := unit.ParseTick(text); err == nil && t > 0 && t < unit.Forever {
		return Every{Time: t}, nil
	}
	return Every{}, fmt.Errorf("%q is no interval; write it as 500 steps, 30s or never", text)
}

// Any reports whether it is ever done.
func (e Every) Any() bool { return e != Every{} }

// String returns the text that ParseEvery reads.
func (e Every) String() string {
	switch {
	case e.Steps == 1:
		return "1 step"
	case e.Steps > 0:
		return fmt.Sprintf("%d steps", e.Steps)
	case e.Time > 0:
		text, _ := e.Time.MarshalText() // never fails
		return string(text)
	}
	return never
}

// MarshalText returns the text that UnmarshalText reads. The error is always nil.
func (e Every) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText sets e as ParseEvery reads it.
func (e *Every) UnmarshalText(text []byte) (err error) {
	*e, err = ParseEvery(string(text))
	return err
}
