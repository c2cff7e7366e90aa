package parquet

import (
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"tandem/datasets"
	"tandem/datasets/internal/decode"
)

// piece is one column of a row group.
type piece struct {
	rows   int
	ids    []uint64
	counts []int32   // ids of each row, or their weights
	values []float32 // of labels, numbers and weights
	bad    []*decode.BadRow
	text   []byte // scratch: the text of the current value
}

// cursor reads a column of a row group from its beginning.
type cursor struct {
	*column
	pages  parquet.Pages
	page   parquet.Page // the current one, or nil
	values parquet.ValueReader
	buffer []parquet.Value
	held   []parquet.Value // values of the page that were read and not decoded, in buffer
}

// cursor returns a cursor at the beginning of a column chunk. close must be called.
func (c *column) cursor(chunk parquet.ColumnChunk) *cursor {
	return &cursor{column: c, pages: chunk.Pages(), buffer: make([]parquet.Value, 1024)}
}

// next decodes the next rows.
func (r *cursor) next(rows int) (piece, error) {
	p := piece{}
	likely := min(rows, 1<<20) // the file can claim more than it has
	if r.use >= ids {
		p.counts = make([]int32, 0, likely)
	}
	if r.use == ids {
		p.ids = make([]uint64, 0, likely)
	} else {
		p.values = make([]float32, 0, likely)
	}
	for {
		for i := range r.held {
			if p.rows == rows && r.held[i].RepetitionLevel() == 0 {
				r.held = r.held[i:]
				return p, nil
			}
			r.addValue(&p, &r.held[i])
		}
		r.held = nil
		if err := r.fill(); err == io.EOF {
			break
		} else if err != nil {
			return p, fmt.Errorf("%w (%w)", errDamaged, err)
		}
	}
	if p.rows != rows {
		return p, fmt.Errorf("%w (%d values for %d rows)", errDamaged, p.rows, rows)
	}
	return p, nil
}

// end returns an error unless all rows were decoded.
func (r *cursor) end() error {
	_, err := r.next(0)
	if err == nil && len(r.held) > 0 {
		err = fmt.Errorf("%w (more values than rows)", errDamaged)
	}
	return err
}

// fill reads further values, or returns io.EOF behind the last.
func (r *cursor) fill() error {
	for {
		if r.page == nil {
			page, err := r.pages.ReadPage()
			if err != nil {
				return err
			}
			r.page, r.values = page, page.Values()
		}
		n, err := r.values.ReadValues(r.buffer)
		r.held = r.buffer[:n]
		if err == io.EOF && n == 0 {
			r.release()
			continue
		}
		if err != nil && err != io.EOF {
			return err
		}
		return nil
	}
}

// release releases the current page.
func (r *cursor) release() {
	if r.page != nil {
		parquet.Release(r.page)
		r.page, r.values = nil, nil
	}
}

// close releases what the cursor holds.
func (r *cursor) close() {
	r.release()
	r.pages.Close()
}

// addValue adds a value to a piece: a new row, or another element of a list.
func (c *column) addValue(p *piece, v *parquet.Value) {
	isFirst := v.RepetitionLevel() == 0
	if isFirst {
		p.rows++
	}
	if c.use >= ids {
		if isFirst {
			p.counts = append(p.counts, 0)
		}
		if c.isList && v.DefinitionLevel() < c.present {
			return // an empty list, or null
		}
		p.counts[len(p.counts)-1]++
	}
	if c.use == ids {
		p.text = c.appendText(p.text[:0], v)
		p.ids = append(p.ids, datasets.CategoryID(p.text))
		return
	}
	value, reason := c.number(p, v)
	if reason != "" {
		p.bad = append(p.bad, &decode.BadRow{
			Line: p.rows, Column: c.name, Value: string(c.appendText(nil, v)), Reason: reason,
		})
	}
	p.values = append(p.values, value)
}

// number returns the value of a label or numeric column, or the reason why it is bad.
func (c *column) number(p *piece, v *parquet.Value) (value float32, reason string) {
	if c.use == label {
		p.text = c.appendText(p.text[:0], v)
		return c.label(string(p.text))
	}
	x := 0.0
	switch {
	case v.IsNull() && (c.empty == nil || c.use != numeric):
		return 0, "not a number"
	case v.IsNull():
		return float32(*c.empty), ""
	default:
		x = c.real(v)
	}
	if math.IsNaN(x) && c.isMissingNaN && c.use == numeric {
		return float32(x), "" // until the mean is known
	}
	if math.IsNaN(x) || math.Abs(x) > math.MaxFloat32 {
		return 0, "not a finite 32-bit number"
	}
	if c.use == weight || c.use == impressions {
		return float32(x), decode.CheckWeight(x)
	}
	return float32(x), ""
}

// real returns a value, which is neither null nor text, as a number.
func (c *column) real(v *parquet.Value) float64 {
	if c.decimal {
		return unscaled(v) / math.Pow10(c.scale)
	}
	switch kind := v.Kind(); {
	case kind == parquet.Boolean && v.Boolean():
		return 1
	case kind == parquet.Boolean:
		return 0
	case kind == parquet.Int32 && c.unsigned:
		return float64(v.Uint32())
	case kind == parquet.Int32:
		return float64(v.Int32())
	case kind == parquet.Int64 && c.unsigned:
		return float64(v.Uint64())
	case kind == parquet.Int64:
		return float64(v.Int64())
	case kind == parquet.Float:
		return float64(v.Float())
	default:
		return v.Double()
	}
}

// unscaled returns the integer that the digits of a decimal are. As bytes, it is big-endian in two's
// complement; it is NaN without bytes.
func unscaled(v *parquet.Value) (x float64) {
	switch v.Kind() {
	case parquet.Int32:
		return float64(v.Int32())
	case parquet.Int64:
		return float64(v.Int64())
	}
	digits := v.ByteArray()
	if len(digits) == 0 {
		return math.NaN()
	}
	x = float64(int8(digits[0]))
	for _, b := range digits[1:] {
		x = 256*x + float64(b)
	}
	return x
}

// appendText appends a value as a text file would hold it: nothing for a null, 1 or 0 for a
// boolean.
func (c *column) appendText(text []byte, v *parquet.Value) []byte {
	if v.IsNull() {
		return text
	}
	switch kind := v.Kind(); {
	case c.decimal:
		return strconv.AppendFloat(text, c.real(v), 'f', -1, 64)
	case kind == parquet.ByteArray || kind == parquet.FixedLenByteArray:
		return append(text, v.ByteArray()...)
	case kind == parquet.Int64 && c.unsigned:
		return strconv.AppendUint(text, v.Uint64(), 10)
	case kind == parquet.Int64:
		return strconv.AppendInt(text, v.Int64(), 10)
	default: // exact in float64
		return strconv.AppendFloat(text, c.real(v), 'f', -1, 64)
	}
}
