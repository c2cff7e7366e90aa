package unit

// works returns the units of FLOPs.
func works() *quantity {
	return &quantity{name: "amount of work", scales: []scale{
		{"FLOP", 1, always},
		{"kFLOP", 1e3, always},
		{"MFLOP", 1e6, always},
		{"GFLOP", 1e9, always},
		{"TFLOP", 1e12, always},
		{"PFLOP", 1e15, always},
		{"EFLOP", 1e18, always},
	}}
}

// rates returns the units of FLOPsPerSec.
func rates() *quantity {
	q := works()
	q.name = "rate of work"
	for i := range q.scales {
		q.scales[i].name += "/s"
	}
	return q
}

// ParseFLOPs reads an amount of work such as "77MFLOP" or a bare "0". The error of a missing or unknown unit
// lists the accepted ones.
func ParseFLOPs(text string) (FLOPs, error) {
	value, err := works().parseFloat(text)
	return FLOPs(value), err
}

// String returns a text for people, such as "77MFLOP": exact if the number has at most five characters,
// otherwise rounded to four significant digits.
func (f FLOPs) String() string {
	return works().shortFloat(float64(f))
}

// MarshalText returns the shortest text that UnmarshalText reads back as f exactly. The error is always nil.
func (f FLOPs) MarshalText() ([]byte, error) {
	number, unit := works().exactFloat(float64(f))
	return []byte(number + unit), nil
}

// UnmarshalText sets f to the value that ParseFLOPs returns.
func (f *FLOPs) UnmarshalText(text []byte) (err error) {
	*f, err = ParseFLOPs(string(text))
	return err
}

// ParseFLOPsPerSec reads a rate of work such as "15.7TFLOP/s" or a bare "0". The error of a missing or
// unknown unit lists the accepted ones.
func ParseFLOPsPerSec(text string) (FLOPsPerSec, error) {
	value, err := rates().parseFloat(text)
	return FLOPsPerSec(value), err
}

// String returns a text for people, such as "15.7TFLOP/s": exact if the number has at most five characters,
// otherwise rounded to four significant digits.
func (r FLOPsPerSec) String() string {
	return rates().shortFloat(float64(r))
}

// MarshalText returns the shortest text that UnmarshalText reads back as r exactly. The error is always nil.
func (r FLOPsPerSec) MarshalText() ([]byte, error) {
	number, unit := rates().exactFloat(float64(r))
	return []byte(number + unit), nil
}

// UnmarshalText sets r to the value that ParseFLOPsPerSec returns.
func (r *FLOPsPerSec) UnmarshalText(text []byte) (err error) {
	*r, err = ParseFLOPsPerSec(string(text))
	return err
}
