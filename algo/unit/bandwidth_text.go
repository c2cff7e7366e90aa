package unit

// bandwidths returns the units of BytesPerSec. A lower-case b is a bit.
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

// ParseBytesPerSec reads a bandwidth in bits ("25Gbps") or bytes ("900GB/s") per second, or a bare "0". The
// error of a missing or unknown unit lists the accepted ones.
func ParseBytesPerSec(text string) (BytesPerSec, error) {
	value, err := bandwidths().parseFloat(text)
	return BytesPerSec(value), err
}

// String returns a text for people, such as "25Gbps" or "900GB/s": exact if the number has at most five
// characters, otherwise rounded to four significant digits.
func (b BytesPerSec) String() string {
	return bandwidths().shortFloat(float64(b))
}

// MarshalText returns the shortest text that UnmarshalText reads back as b exactly. The error is always nil.
func (b BytesPerSec) MarshalText() ([]byte, error) {
	number, unit := bandwidths().exactFloat(float64(b))
	return []byte(number + unit), nil
}

// UnmarshalText sets b to the value that ParseBytesPerSec returns.
func (b *BytesPerSec) UnmarshalText(text []byte) (err error) {
	*b, err = ParseBytesPerSec(string(text))
	return err
}
