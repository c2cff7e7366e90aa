package parquet

import (
	"bytes"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/format"
	"pgregory.net/rapid"
)

// Runs and deltas that the library writes are accepted, and refused for fewer values.
func TestRunsAndDeltas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.Int32Range(0, 300).Draw(t, "most")
		values := rapid.SliceOfN(rapid.Int32Range(0, most), 9, 600).Draw(t, "values")
		if rapid.Bool().Draw(t, "one run") {
			for i := range values {
				values[i] = values[0]
			}
		}
		n := int64(len(values))
		indices, err := new(rle.DictionaryEncoding).EncodeInt32(nil, values)
		if err != nil {
			t.Fatal(err)
		}
		if err := checkValues(format.RLEDictionary, indices, n); err != nil {
			t.Fatalf("runs of %v: %v", values, err)
		}
		packed, err := new(delta.BinaryPackedEncoding).EncodeInt32(nil, values)
		if err != nil {
			t.Fatal(err)
		}
		if rest, err := checkDelta(append(packed, 1, 2), n); err != nil || !bytes.Equal(rest, []byte{1, 2}) {
			t.Fatalf("deltas of %v: %v left, %v", values, rest, err)
		}
		if _, err := checkDelta(packed, n-1); err == nil {
			t.Fatalf("%d deltas in a page of %d", n, n-1)
		}
	})
}

func TestTooHighCounts(t *testing.T) {
	for name, c := range map[string]struct {
		data []byte
		bits int
		want string
	}{
		"a run": {[]byte{10 << 1, 3}, 8, ""},
		"a long run": {[]byte{0xfe, 0xff, 0xff, 0xff, 0x0f, 3}, 8,
			"a run of 2147483647 values in a page of 10"},
		"runs":                {[]byte{9 << 1, 3, 9 << 1, 3}, 8, "a run of 9 values in a page of 1"},
		"packed without bits": {[]byte{0xff, 0xff, 0x03}, 0, "a run of 262136 values in a page of 10"},
		"packed, not there":   {[]byte{2<<1 | 1, 1, 2}, 8, "cut short"},
		"packed":              {[]byte{2<<1 | 1, 1, 2}, 1, ""},
		"as many as can be": {append([]byte{0x80 | 1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
			1}, 0), 32, "cut short"},
		"bits of no number":       {[]byte{2, 1}, 33, "values of 33 bits"},
		"a run that is cut short": {[]byte{2, 1}, 16, "cut short"},
	} {
		if err := checkRuns(c.data, c.bits, 10); c.want == "" && err != nil || c.want != "" &&
			(err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// n texts of one byte that share all of the previous text represent n²/2 bytes.
func TestTooLongPrefixes(t *testing.T) {
	const n = 20_000
	texts, offsets := []byte(nil), []uint32{0}
	for i := range n {
		texts = append(texts, strings.Repeat("x", i%100)...)
		offsets = append(offsets, uint32(len(texts)))
	}
	data, err := new(delta.ByteArrayEncoding).EncodeByteArray(nil, texts, offsets)
	if err != nil {
		t.Fatal(err)
	}
	if err := checkValues(format.DeltaByteArray, data, n); err != nil {
		t.Error(err)
	}
	if err := checkPrefixes(data, n, 50*n/2); err == nil ||
		!strings.Contains(err.Error(), "prefixes of more than 500000 bytes") {
		t.Errorf("error %v", err)
	}
	const all = n / 100 * 99 * 98 / 2 // of a hundred texts in a row, one shares 0 bytes, 1, 2, and so on
	for most, fits := range map[int64]bool{all - 1: false, all: true} {
		if err := checkPrefixes(data, n, most); (err == nil) != fits {
			t.Errorf("prefixes of %d bytes, of which %d are allowed: %v", all, most, err)
		}
	}
}

// No codec decompresses data to more than the limit.
func TestUnpack(t *testing.T) {
	var u unpacker
	text := bytes.Repeat([]byte("a page of text. "), 1000)
	for codec, packer := range map[format.CompressionCodec]interface {
		Encode(dst, src []byte) ([]byte, error)
	}{
		format.Snappy: &parquet.Snappy, format.Gzip: &parquet.Gzip, format.Zstd: &parquet.Zstd,
		format.Brotli: &parquet.Brotli, format.Lz4Raw: &parquet.Lz4Raw,
	} {
		packed, err := packer.Encode(nil, text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := u.unpack(codec, packed, len(text)); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%v: %d bytes, %v", codec, len(got), err)
		}
		if _, err := u.unpack(codec, packed, len(text)-1); err == nil {
			t.Errorf("%v: a byte too many", codec)
		}
		if _, err := u.unpack(codec, packed[:len(packed)/2], len(text)); err == nil {
			t.Errorf("%v: half of the data", codec)
		}
	}
	if _, err := u.unpack(format.LZO, nil, 1); err == nil ||
		!strings.Contains(err.Error(), "compressed with LZO: write it with zstd") {
		t.Errorf("error %v", err)
	}
}
