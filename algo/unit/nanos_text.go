package unit

// ParseNanos reads a time such as "2.7ns" or "1.2us", in the units of ParseTick, without rounding.
func ParseNanos(text string) (Nanos, error) {
	value, err := durations().parseFloat(text)
	return Nanos(value), err
}

// String returns the time to four significant digits.
func (n Nanos) String() string { return durations().shortFloat(float64(n)) }

// MarshalText returns a text that ParseNanos reads back exactly.
func (n Nanos) MarshalText() ([]byte, error) {
	number, name := durations().exactFloat(float64(n))
	return []byte(number + name), nil
}

// UnmarshalText is ParseNanos.
func (n *Nanos) UnmarshalText(text []byte) (err error) {
	*n, err = ParseNanos(string(text))
	return err
}
