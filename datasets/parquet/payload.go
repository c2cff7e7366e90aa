package parquet

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
	"slices"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

// payload checks that the content of a page is not larger, and does not have more values, than
// its header claims. Cost: decompressing the page.
func (c *column) payload(h *format.PageHeader, codec format.CompressionCodec, packed []byte,
	u *unpacker) error {
	whole := int(h.UncompressedPageSize)
	switch {
	case h.DataPageHeader.Valid:
		v := &h.DataPageHeader.V
		data, err := u.unpack(codec, packed, whole)
		if err != nil {
			return err
		}
		if data, err = levelsV1(data, c.repetition, v.RepetitionLevelEncoding,
			int64(v.NumValues)); err != nil {
			return fmt.Errorf("repetition levels: %w", err)
		}
		if data, err = levelsV1(data, c.definition, v.DefinitionLevelEncoding,
			int64(v.NumValues)); err != nil {
			return fmt.Errorf("definition levels: %w", err)
		}
		return checkValues(v.Encoding, data, int64(v.NumValues))
	case h.DataPageHeaderV2.Valid:
		v := &h.DataPageHeaderV2.V
		data, n := packed, int64(v.NumValues)
		for _, l := range []struct {
			length int32
			most   int
		}{{v.RepetitionLevelsByteLength, c.repetition}, {v.DefinitionLevelsByteLength, c.definition}} {
			if l.length < 0 || int(l.length) > len(data) {
				return fmt.Errorf("levels of %d bytes, of %d", l.length, len(data))
			}
			if err := checkRuns(data[:l.length], bits.Len(uint(l.most)), n); err != nil {
				return fmt.Errorf("levels: %w", err)
			}
			data = data[l.length:]
		}
		if v.IsCompressed.Valid && !v.IsCompressed.V {
			codec = format.Uncompressed
		}
		data, err := u.unpack(codec, data, whole)
		if err != nil {
			return err
		}
		return checkValues(v.Encoding, data, n)
	case h.DictionaryPageHeader.Valid: // plain values
		_, err := u.unpack(codec, packed, whole)
		return err
	}
	return nil
}

// levelsV1 checks levels of at most a value, with their length before them, and returns the bytes
// behind them. The number of levels in the old bit-packed encoding is bounded by their bytes.
func levelsV1(data []byte, most int, encoding format.Encoding, n int64) ([]byte, error) {
	if most == 0 {
		return data, nil
	}
	if len(data) < 4 || int64(binary.LittleEndian.Uint32(data)) > int64(len(data)-4) {
		return nil, errShort
	}
	end := 4 + int(binary.LittleEndian.Uint32(data))
	if encoding != format.RLE {
		return data[end:], nil
	}
	return data[end:], checkRuns(data[4:end], bits.Len(uint(most)), n)
}

// checkValues checks that there are at most n values.
func checkValues(encoding format.Encoding, data []byte, n int64) error {
	if len(data) == 0 {
		return nil // nulls
	}
	var err error
	const plainDictionary = format.Encoding(2) // RLEDictionary of old writers
	switch encoding {
	case plainDictionary, format.RLEDictionary:
		err = checkRuns(data[1:], int(data[0]), n)
	case format.RLE:
		_, err = levelsV1(data, 1, format.RLE, n) // booleans, in the encoding of levels
	case format.DeltaBinaryPacked, format.DeltaLengthByteArray:
		_, err = checkDelta(data, n)
	case format.DeltaByteArray:
		err = checkPrefixes(data, n, max(pageGrowthMax*int64(len(data)), pageBytesMax))
	}
	if err != nil {
		return fmt.Errorf("values: %w", err)
	}
	return nil
}

// unpacker decompresses one page after another into the same memory.
type unpacker struct{ out []byte }

// unpack decompresses data to at most a number of bytes, and allocates no more. The result is
// valid until the next call.
func (u *unpacker) unpack(codec format.CompressionCodec, packed []byte, most int) (out []byte, err error) {
	if codec == format.Uncompressed {
		return packed, nil
	}
	defer func() { u.out = out[:0] }()
	out = u.out
	var r io.Reader
	switch codec {
	case format.Snappy:
		if n, err := snappy.DecodedLen(packed); err != nil || n > most {
			return nil, errUnpack(n, most, err)
		}
		return snappy.Decode(out[:cap(out)], packed)
	case format.Lz4Raw:
		out = slices.Grow(out, most)[:most]
		n, err := lz4.UncompressBlock(packed, out)
		if err != nil {
			return nil, errUnpack(n, most, err)
		}
		return out[:n], nil
	case format.Gzip:
		unzipped, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			return nil, err
		}
		r = unzipped
	case format.Zstd:
		decoder, err := zstd.NewReader(bytes.NewReader(packed), zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderMaxWindow(pageBytesMax), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, err
		}
		defer decoder.Close()
		r = decoder
	case format.Brotli:
		r = brotli.NewReader(bytes.NewReader(packed))
	default:
		return nil, fmt.Errorf("compressed with %v: write it with zstd", codec)
	}
	whole := bytes.NewBuffer(out)
	if n, err := io.Copy(whole, io.LimitReader(r, int64(most)+1)); err != nil || n > int64(most) {
		return nil, errUnpack(int(n), most, err)
	}
	return whole.Bytes(), nil
}

func errUnpack(n, most int, err error) error {
	if err != nil {
		return fmt.Errorf("it cannot be decompressed: %w", err)
	}
	return fmt.Errorf("it decompresses to %d bytes, and its header claims %d", n, most)
}
