package datasets

import (
	"bytes"
	"math"
	"strconv"

	"tandem/algo/numeric/batch"
	"tandem/algo/rng"
	"tandem/datasets/internal/decode"
)

// The numbers of columns of a Criteo file.
const (
	criteoIntegers   = 13
	criteoCategories = 26
	criteoFields     = 1 + criteoIntegers + criteoCategories
)

// criteoSchema names the columns as Criteo does: I1 to I13 and C1 to C26.
func criteoSchema() batch.Schema {
	return newSchema(numbered("C", criteoCategories), numbered("I", criteoIntegers), "clicked")
}

func numbered(prefix string, count int) []string {
	names := make([]string, count)
	for i := range names {
		names[i] = prefix + strconv.Itoa(i+1)
	}
	return names
}

// criteoDecoder decodes the click logs that Criteo published (Kaggle 2014 and the
// 1 TB set): tab-separated, no header, a label of 0 or 1, 13 integers and 26
// categories as hexadecimal hashes; an empty field is missing.
//
//	integer x  ->  log(1 + max(x, 0))
//
// as in DLRM: counts are heavy-tailed, and the few negative values (down to −3, in I2) are
// markers rather than amounts. A missing integer becomes 0, and a missing category has an id
// of its own.
//
// It is fast because one pass over the bytes of a category finds the end of the field, checks
// it and hashes it, and because a table holds the logarithms of small counts, which are the
// most frequent.
type criteoDecoder struct {
	schema batch.Schema
	logs   [1 << 12]float64 // of 1 + i
}

func newCriteoDecoder() *criteoDecoder {
	c := &criteoDecoder{schema: criteoSchema()}
	for i := range c.logs {
		c.logs[i] = math.Log1p(float64(i))
	}
	return c
}

func (c *criteoDecoder) decode(line []byte, r *decode.Row) *decode.BadRow {
	if n := bytes.Count(line, []byte{'\t'}) + 1; n != criteoFields {
		return decode.BadRecord("%d tab-separated fields, want %d", n, criteoFields)
	}
	label, rest, _ := bytes.Cut(line, []byte{'\t'})
	if len(label) != 1 || label[0] != '0' && label[0] != '1' {
		return decode.BadField(c.schema.Labels[0], label, "label must be 0 or 1")
	}
	r.Labels[0] = float32(label[0] - '0')
	for i := range criteoIntegers {
		var ok bool
		at := 0
		if r.Dense[i], at, ok = c.integer(rest); !ok {
			field, _, _ := bytes.Cut(rest, []byte{'\t'})
			return decode.BadField(c.schema.Dense[i], field, "not an integer")
		}
		rest = rest[at+1:]
	}
	for i := range criteoCategories {
		hash, at := uint64(fnvBasis), 0
		for ; at < len(rest) && rest[at] != '\t'; at++ {
			if !hexadecimal[rest[at]] {
				field, _, _ := bytes.Cut(rest, []byte{'\t'})
				return decode.BadField(c.schema.Slots[i].Name, field, "not a hexadecimal hash")
			}
			hash = (hash ^ uint64(rest[at])) * fnvPrime
		}
		r.IDs[i] = append(r.IDs[i], rng.Mix(hash))
		rest = rest[min(at+1, len(rest)):] // nothing follows the last
	}
	return nil
}

// integer decodes the integer at the beginning of text and returns the index of the tab behind
// it.
func (c *criteoDecoder) integer(text []byte) (value float64, at int, ok bool) {
	n := 0
	for at < 18 && text[at]-'0' < 10 { // 18 digits do not overflow
		n = 10*n + int(text[at]-'0')
		at++
	}
	if text[at] != '\t' {
		at = bytes.IndexByte(text, '\t')
		signed, err := strconv.ParseInt(string(text[:at]), 10, 64)
		if err != nil {
			return 0, at, false
		}
		n = int(max(signed, 0))
	}
	if n < len(c.logs) {
		return c.logs[n], at, true
	}
	return math.Log1p(float64(n)), at, true
}

// hexadecimal reports for each byte whether it is a hexadecimal digit.
var hexadecimal = func() (is [256]bool) {
	for _, c := range "0123456789abcdefABCDEF" {
		is[c] = true
	}
	return is
}()
