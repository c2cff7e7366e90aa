package device

import (
	"encoding"
	"fmt"
	"strconv"
	"strings"

	"tandem/algo/quantity"
)

// Text returns the YAML of the profile, which LoadAccelerator reads back, below a comment of one line.
func (p *AcceleratorProfile) Text(comment string) string {
	b := &profileWriter{}
	fmt.Fprintf(b, "# %s\n", comment)
	b.word("name", p.Name)
	writeValue(b, "memory", p.Memory)
	writeValue(b, "memory-bandwidth", p.MemoryBandwidth)
	writeValue(b, "peak-fp32", p.PeakFP32)
	writeValue(b, "peak-tf32", p.PeakTF32)
	writeValue(b, "peak-half", p.PeakHalf)
	writeValue(b, "units", p.Units)
	writeValue(b, "cache", p.Cache)
	writeValue(b, "launch", p.Launch)
	writeCurve(b, "compute-share", &p.ComputeShare)
	writeCurve(b, "compute-share-fp32", &p.ComputeShareFP32)
	writeCurve(b, "compute-share-tf32", &p.ComputeShareTF32)
	writeCurve(b, "memory-share", &p.MemoryShare)
	writeCurve(b, "row-share", &p.RowShare)
	writeValue(b, "dollars-per-hour", p.DollarsPerHour)
	b.word("inside", p.Inside)
	b.word("host-link", p.HostLink)
	b.word("port", p.Port)
	return b.String()
}

// Text returns the YAML of the profile, which LoadWire reads back, below a comment of one line.
func (p *WireProfile) Text(comment string) string {
	b := &profileWriter{}
	fmt.Fprintf(b, "# %s\n", comment)
	b.word("name", p.Name)
	b.word("port", p.Port)
	b.word("shape", p.Shape)
	writeValue(b, "bandwidth", p.Bandwidth)
	writeValue(b, "share", p.Share)
	writeValue(b, "latency", p.Latency)
	return b.String()
}

// profileWriter collects the text of a profile.
type profileWriter struct{ strings.Builder }

// word writes a key with a text, or nothing for an empty one. YAML reads a quoted text as Go does.
func (b *profileWriter) word(key, text string) {
	if text != "" {
		fmt.Fprintf(b, "%s: %s\n", key, strconv.Quote(text))
	}
}

// origin writes where a quantity is from.
func (b *profileWriter) origin(kind quantity.Kind, source, date string) {
	fmt.Fprintf(b, "  kind: %s\n", kind)
	b.word("  source", source)
	b.word("  date", date)
}

// numberText returns the text of a number that reads back as the same number.
func numberText[U quantity.Number](value U) string {
	if m, ok := any(value).(encoding.TextMarshaler); ok {
		if text, err := m.MarshalText(); err == nil {
			return string(text)
		}
	}
	return strconv.FormatFloat(float64(value), 'f', -1, 64)
}

// writeValue writes a quantity, or nothing if it is not given.
func writeValue[U quantity.Number](b *profileWriter, key string, q quantity.Value[U]) {
	if !q.Given() {
		return
	}
	fmt.Fprintf(b, "%s:\n", key)
	if low, high := q.Range(); low != high {
		fmt.Fprintf(b, "  low: %s\n  mid: %s\n  high: %s\n", numberText(low), numberText(q.Mid),
			numberText(high))
	} else {
		fmt.Fprintf(b, "  mid: %s\n", numberText(q.Mid))
	}
	b.origin(q.Kind, q.Source, q.Date)
}

// writeCurve writes a curve, or nothing if it is not given.
func writeCurve[U quantity.Number](b *profileWriter, key string, c *CurveProfile[U]) {
	if !c.Given() {
		return
	}
	fmt.Fprintf(b, "%s:\n  points:\n", key)
	for _, p := range c.Points {
		fmt.Fprintf(b, "    - {size: %s, share: %s}\n", numberText(p.Size),
			strconv.FormatFloat(p.Share, 'f', -1, 64))
	}
	fmt.Fprintf(b, "  spread: %s\n", strconv.FormatFloat(c.Spread, 'f', -1, 64))
	b.origin(c.Kind, c.Source, c.Date)
}
