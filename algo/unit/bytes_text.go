package unit

import "strconv"

// sizes are the unit names of Bytes.
func sizes() *quantity {
	return &quantity{name: "size", scales: []scale{
		{"B", 1, always},
		{"kB", 1e3, always},
		{"KB", 1e3, readOnly},
		{"MB", 1e6, always},
		{"GB", 1e9, always},
		{"TB", 1e12, always},
		{"PB", 1e15, always},
		{"KiB", 1 << 10, exactOnly},
		{"MiB", 1 << 20, exactOnly},
		{"GiB", 1 << 30, exactOnly},
		{"TiB", 1 << 40, exactOnly},
		{"PiB", 1 << 50, exactOnly},
	}}
}

// ParseBytes reads a size such as "12TB" (12e12), "480GiB" (480·2³⁰), "64KiB"
// or a bare "0". A fraction of a byte is rounded to the nearest. The error of a
// missing or unknown unit names the accepted ones.
func ParseBytes(text string) (Bytes, error) {
	value, err := sizes().parseInt(text)
	return Bytes(value), err
}

// exact returns the number and unit of the shortest text that reads back as b.
func (b Bytes) exact() (number, unit string) {
	return sizes().exact(float64(b), strconv.FormatInt(int64(b), 10), func(text string) bool {
		back, err := ParseBytes(text)
		return err == nil && back == b
	})
}

// String returns b for people, as "64KiB" or "123.5GB": exact if that takes at
// most five characters and a unit, otherwise rounded to four significant
// digits of a decimal unit.
func (b Bytes) String() string {
	number, unit := b.exact()
	return sizes().short(float64(b), number, unit)
}

// MarshalText returns the shortest text that UnmarshalText reads back as b
// exactly. The error is always nil.
func (b Bytes) MarshalText() ([]byte, error) {
	number, unit := b.exact()
	return []byte(number + unit), nil
}

// UnmarshalText sets b as ParseBytes reads it.
func (b *Bytes) UnmarshalText(text []byte) (err error) {
	*b, err = ParseBytes(string(text))
	return err
}
