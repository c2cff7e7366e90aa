package job

import "tandem/algo/unit"

// ParseRetry reads a value of wire.retry, such as 100ms, and checks its range.
func ParseRetry(text string) (unit.Tick, error) {
	j := Default()
	if err := j.Wire.Retry.UnmarshalText([]byte(text)); err != nil {
		return 0, err
	}
	return j.Wire.Retry, j.Validate()
}
