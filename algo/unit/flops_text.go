package unit

import "strconv"

// works are the unit names of FLOPs.
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

// rates are the unit names of FLOPsPerSec.
func rates() *quantity {
	q := works()
	q.name = "rate of work"
	for i := range q.scales {
		q.scales[i].name += "/s"
	}
	return q
}

// ParseFLOPs reads an amount of work such as "77MFLOP" or a bare "0". The error
// of a missing or unknown unit names the accepted ones.
func ParseFLOPs(text string) (FLOPs, error) {
	value, err := works().parseFloat(text)
	return FLOPs(value), err
}

// exact returns the number and unit of the shortest text that reads back as f.
func (f FLOPs) exact() (number, unit string) {
	return works().exact(float64(f), strconv.FormatFloat(float64(f), 'f', -1, 64), func(text string) bool {
		back, err := ParseFLOPs(text)
		return err == nil && back == f
	})
}

// String returns f for people, as "77MFLOP": exact if that takes at most five
// characters and a unit, otherwise rounded to four significant digits.
func (f FLOPs) String() string {
	number, unit := f.exact()
	return works().short(float64(f), number, unit)
}

// MarshalText returns the shortest text that UnmarshalText reads back as f
// exactly. The error is always nil.
func (f FLOPs) MarshalText() ([]byte, error) {
	number, unit := f.exact()
	return []byte(number + unit), nil
}

// UnmarshalText sets f as ParseFLOPs reads it.
func (f *FLOPs) UnmarshalText(text []byte) (err error) {
	*f, err = ParseFLOPs(string(text))
	return err
}

// ParseFLOPsPerSec reads a rate of work such as "15.7TFLOP/s" or a bare "0". The
// error of a missing or unknown unit names the accepted ones.
func ParseFLOPsPerSec(text string) (FLOPsPerSec, error) {
	value, err := rates().parseFloat(text)
	return FLOPsPerSec(value), err
}

// exact returns the number and unit of the shortest text that reads back as r.
func (r FLOPsPerSec) exact() (number, unit string) {
	return rates().exact(float64(r), strconv.FormatFloat(float64(r), 'f', -1, 64), func(text string) bool {
		back, err := ParseFLOPsPerSec(text)
		return err == nil && back == r
	})
}

// String returns r for people, as "15.7TFLOP/s": exact if that takes at most five
// characters and a unit, otherwise rounded to four significant digits.
func (r FLOPsPerSec) String() string {
	number, unit := r.exact()
	return rates().short(float64(r), number, unit)
}

// MarshalText returns the shortest text that UnmarshalText reads back as r
// exactly. The error is always nil.
func (r FLOPsPerSec) MarshalText() ([]byte, error) {
	number, unit := r.exact()
	return []byte(number + unit), nil
}

// UnmarshalText sets r as ParseFLOPsPerSec reads it.
func (r *FLOPsPerSec) UnmarshalText(text []byte) (err error) {
	*r, err = ParseFLOPsPerSec(string(text))
	return err
}
