package unit

// sizes returns the units of Bytes.
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

// ParseBytes reads a size such as "12TB" (12e12), "480GiB" (480·2³⁰), "64KiB" or a bare "0". It rounds to
// whole bytes. The error of a missing or unknown unit lists the accepted ones.
func ParseBytes(text string) (Bytes, error) {
	value, err := sizes().parseInt(text)
	return Bytes(value), err
}

// String returns a text for people, such as "64KiB" or "123.5GB": exact if the number has at most five
// characters, otherwise rounded to four significant digits of a decimal unit.
func (b Bytes) String() string {
	return sizes().shortInt(int64(b))
}

// MarshalText returns the shortest text that UnmarshalText reads back as b exactly. The error is always nil.
func (b Bytes) MarshalText() ([]byte, error) {
	number, unit := sizes().exactInt(int64(b))
	return []byte(number + unit), nil
}

// UnmarshalText sets b to the value that ParseBytes returns.
func (b *Bytes) UnmarshalText(text []byte) (err error) {
	*b, err = ParseBytes(string(text))
	return err
}
