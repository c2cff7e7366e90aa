package datasets

import (
	"bytes"
	"fmt"
	"math"
	"strconv"

	"tandem/algo/batch"
)

// The columns of a Criteo file after the label.
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

// criteoReader reads the click logs that Criteo published (Kaggle 2014 and the
// 1 TB set): tab-separated, no header, a label of 0 or 1, 13 integers and 26
// categories as hexadecimal hashes; an empty field is missing.
//
//	integer x  ->  log(1 + max(x, 0))
//
// as DLRM does: counts are heavy-tailed, and the few negative values (down to
// −3, in I2) mean a marker rather than an amount. A missing integer becomes 0,
// a missing category an id of its own.
type criteoReader struct {
	lines  *lineReader
	schema batch.Schema
}

func newCriteoReader(in *input) *criteoReader {
	return &criteoReader{lines: newLineReader(in), schema: criteoSchema()}
}

func (c *criteoReader) next(r *row) error {
	line, err := c.lines.next()
	if err != nil {
		return err
	}
	if n := bytes.Count(line, []byte{'\t'}) + 1; n != criteoFields {
		return c.lines.bad("", nil, fmt.Sprintf("%d tab-separated fields, want %d", n, criteoFields))
	}
	label, rest, _ := bytes.Cut(line, []byte{'\t'})
	switch string(label) {
	case "0":
		r.labels[0] = 0
	case "1":
		r.labels[0] = 1
	default:
		return c.lines.bad(c.schema.Labels[0], label, "label must be 0 or 1")
	}
	for i := range criteoIntegers {
		var field []byte
		field, rest, _ = bytes.Cut(rest, []byte{'\t'})
		value, ok := criteoInteger(field)
		if !ok {
			return c.lines.bad(c.schema.Dense[i], field, "not an integer")
		}
		r.dense[i] = value
	}
	for i := range criteoCategories {
		var field []byte
		field, rest, _ = bytes.Cut(rest, []byte{'\t'})
		if !isHex(field) {
			return c.lines.bad(c.schema.Slots[i].Name, field, "not a hexadecimal hash")
		}
		r.ids[i] = append(r.ids[i], CategoryID(field))
	}
	return nil
}

func criteoInteger(field []byte) (value float64, ok bool) {
	if len(field) == 0 {
		return 0, true
	}
	integer, err := strconv.ParseInt(string(field), 10, 64)
	return math.Log1p(float64(max(integer, 0))), err == nil
}

func isHex(field []byte) bool {
	for _, c := range field {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
			return false
		}
	}
	return true
}
