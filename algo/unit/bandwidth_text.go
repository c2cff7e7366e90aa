package unit

import "strconv"

// bandwidths are the unit names of BytesPerSec. A lower-case b is a bit.
func bandwidths() *quantity {
	return &quantity{name: "bandwidth", scales: []scale{
		{"B/s", 1, always},
		{"kB/s", 1e3, always},
		{"MB/s", 1e6, always},
		{"GB/s", 1e9, always},
		{"TB/s", 1e12, always},
		{"KiB/s", 1 << 10, readOnly},
		{"MiB/s", 1 << 20, readOnly},
		{"GiB/s", 1 << 30, readOnly},
		{"TiB/s", 1 << 40, readOnly},
		{"bps", 1.0 / 8, exactOnly},
		{"kbps", 1e3 / 8, exactOnly},
		{"Kbps", 1e3 / 8, readOnly},
		{"Mbps", 1e6 / 8, exactOnly},
		{"Gbps", 1e9 / 8, exactOnly},
		{"Tbps", 1e12 / 8, exactOnly},
	}}
}

// ParseBytesPerSec reads a bandwidth in bits ("25Gbps") or bytes ("900GB/s") per
// second, or a bare "0". The error of a missing or unknown unit names the
// accepted ones.
func ParseBytesPerSec(text string) (BytesPerSec, error) {
	value, err := bandwidths().parseFloat(text)
	return BytesPerSec(value), err
}

// exact returns the number and unit of the shortest text that reads back as b.
func (b BytesPerSec) exact() (number, unit string) {
	return bandwidths().exact(float64(b), strconv.FormatFloat(float64(b), 'f', -1, 64), func(text string) bool {
		back, err := ParseBytesPerSec(text)
		return err == nil && back == b
	})
}

// String returns b for people, as "25Gbps" or "900GB/s": exact if that takes at
// most five characters and a unit, otherwise rounded to four significant
// digits.
func (b BytesPerSec) String() string {
	number, unit := b.exact()
	return bandwidths().short(float64(b), number, unit)
}

// MarshalText returns the shortest text that UnmarshalText reads back as b
// exactly. The error is always nil.
func (b BytesPerSec) MarshalText() ([]byte, error) {
	number, unit := b.exact()
	return []byte(number + unit), nil
}

// UnmarshalText sets b as ParseBytesPerSec reads it.
func (b *BytesPerSec) UnmarshalText(text []byte) (err error) {
	*b, err = ParseBytesPerSec(string(text))
	return err
}
