package unit

import "strconv"

// durations are the unit names of a Tick.
func durations() *quantity {
	return &quantity{name: "duration", scales: []scale{
		{"ns", float64(Nanosecond), always},
		{"us", float64(Microsecond), always},
		{"µs", float64(Microsecond), readOnly},
		{"ms", float64(Millisecond), always},
		{"s", float64(Second), always},
		{"min", float64(Minute), always},
		{"m", float64(Minute), readOnly},
		{"h", float64(Hour), always},
		{"d", float64(24 * Hour), readOnly},
	}}
}

// forever is the text form of Forever.
const forever = "forever"

// ParseTick reads a duration such as "936ns", "1.5ms", "2h", "forever" or a
// bare "0". Units are ns, us (µs), ms, s, min (m), h and d; a fraction of a
// nanosecond is rounded to the nearest. The error of a missing or unknown unit
// names the accepted ones.
func ParseTick(text string) (Tick, error) {
	if text == forever {
		return Forever, nil
	}
	value, err := durations().parseInt(text)
	return Tick(value), err
}

// exact returns the number and unit of the shortest text that reads back as t.
func (t Tick) exact() (number, unit string) {
	return durations().exact(float64(t), strconv.FormatInt(int64(t), 10), func(text string) bool {
		back, err := ParseTick(text)
		return err == nil && back == t
	})
}

// String returns t for people, as "1.5ms": exact if that takes at most five
// characters and a unit, otherwise rounded to four significant digits.
func (t Tick) String() string {
	if t == Forever {
		return forever
	}
	number, unit := t.exact()
	return durations().short(float64(t), number, unit)
}

// MarshalText returns the shortest text that UnmarshalText reads back as t
// exactly. The error is always nil.
func (t Tick) MarshalText() ([]byte, error) {
	if t == Forever {
		return []byte(forever), nil
	}
	number, unit := t.exact()
	return []byte(number + unit), nil
}

// UnmarshalText sets t as ParseTick reads it.
func (t *Tick) UnmarshalText(text []byte) (err error) {
	*t, err = ParseTick(string(text))
	return err
}
