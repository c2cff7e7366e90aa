package unit

// durations returns the units of a Tick.
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

// ParseTick reads a duration such as "936ns", "1.5ms", "2h", "forever" or a bare "0". Units are ns, us (µs),
// ms, s, min (m), h and d. It rounds to whole nanoseconds. The error of a missing or unknown unit lists the
// accepted ones.
func ParseTick(text string) (Tick, error) {
	if text == forever {
		return Forever, nil
	}
	value, err := durations().parseInt(text)
	return Tick(value), err
}

// String returns a text for people, such as "1.5ms": exact if the number has at most five characters,
// otherwise rounded to four significant digits.
func (t Tick) String() string {
	if t == Forever {
		return forever
	}
	return durations().shortInt(int64(t))
}

// MarshalText returns the shortest text that UnmarshalText reads back as t exactly. The error is always nil.
func (t Tick) MarshalText() ([]byte, error) {
	if t == Forever {
		return []byte(forever), nil
	}
	number, unit := durations().exactInt(int64(t))
	return []byte(number + unit), nil
}

// UnmarshalText sets t to the value that ParseTick returns.
func (t *Tick) UnmarshalText(text []byte) (err error) {
	*t, err = ParseTick(string(text))
	return err
}
