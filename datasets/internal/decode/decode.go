// Package decode turns the text of a file into columns, in parallel.
//
// A file is cut into blocks of whole rows. Goroutines decode blocks, and their columns are
// joined in the order of the file, so the result depends neither on the number of goroutines
// nor on the size of blocks. A Format says what a row is: a line, or a record of delimited
// text with the quoting of RFC 4180.
package decode

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"tandem/algo/numeric/batch"
	"tandem/datasets/internal/input"
)

// ErrNoRows says that a file or data set holds no sample.
var ErrNoRows = errors.New("no rows")

// Row is one decoded sample. Decoders fill the same Row again and again.
type Row struct {
	IDs [][]uint64 // by slot
	// IDWeights are the weights of these ids, of slots that have some.
	IDWeights [][]float32
	Dense     []float64 // by numeric column, not yet standardised
	Labels    []float32 // by label
	Weight    float32   // if the schema has weights

	weighted []int // the slots whose ids have weights
}

// NewRow returns a row with space for the columns of a schema.
func NewRow(schema *batch.Schema) *Row {
	r := &Row{
		IDs: make([][]uint64, len(schema.Slots)), IDWeights: make([][]float32, len(schema.Slots)),
		Dense: make([]float64, len(schema.Dense)), Labels: make([]float32, len(schema.Labels)),
	}
	for s, slot := range schema.Slots {
		if slot.Weighted {
			r.weighted = append(r.weighted, s)
		}
	}
	return r
}

// Reset removes the ids of all slots.
func (r *Row) Reset() {
	for i := range r.IDs {
		r.IDs[i] = r.IDs[i][:0]
	}
	for _, s := range r.weighted {
		r.IDWeights[s] = r.IDWeights[s][:0]
	}
}

// fill decodes a record, and returns why it cannot, or why the weights of its ids cannot be used in the slots
// of a schema.
func (r *Row) fill(record []string, decode RecordDecoder, schema *batch.Schema) *BadRow {
	if bad := decode(record, r); bad != nil {
		return bad
	}
	for _, s := range r.weighted {
		if err := schema.Slots[s].CheckWeights(r.IDWeights[s]); err != nil {
			return BadField(schema.Slots[s].Name, fmt.Sprint(r.IDWeights[s]), err.Error())
		}
	}
	return nil
}

// BadRow says why a row cannot be decoded.
type BadRow struct {
	Line   int    // of the file, from 1; decoders leave it 0
	Column string // name of the column; empty if the row as a whole is bad
	Value  string // the field as read; empty if the row as a whole is bad
	Reason string // the problem, and what would be valid
}

// Error returns the reason.
func (b *BadRow) Error() string { return b.Reason }

// BadField returns the BadRow for the value of a column.
func BadField[T string | []byte](column string, value T, reason string) *BadRow {
	return &BadRow{Column: column, Value: strings.Clone(string(value)), Reason: reason}
}

// BadRecord returns the BadRow for a row as a whole.
func BadRecord(reason string, args ...any) *BadRow {
	return &BadRow{Reason: fmt.Sprintf(reason, args...)}
}

// Format describes the rows of a file. Exactly one of Lines and Table is set.
type Format struct {
	Schema batch.Schema
	// Lines returns the decoder of a file with one row per line, given its name.
	Lines func(name string) (LineDecoder, error)
	Table *Table
}

// Skip is what to do with bad rows.
type Skip struct {
	// Allowed is the number of bad rows after which further ones need not be reported.
	Allowed int
	// Bad is called with every bad row, in the order of the file. An error ends reading.
	Bad func(*BadRow) error
}

// Read reads all rows of an input, which it does not close, on a number of goroutines and in
// blocks of a number of bytes. Without a good row the batch has no samples. Dense values are
// not standardised.
func (f Format) Read(in *input.Input, skip Skip, workers, blockBytes int) (*batch.Batch, error) {
	all := newJoiner(&f.Schema)
	if _, err := f.decode(in, skip, workers, blockBytes, func(b *block) error {
		return all.add(b.out)
	}); err != nil {
		return nil, err
	}
	return all.batch(workers), nil
}

// Each decodes all rows of an input as Read does, but keeps none: it calls use with the rows of
// every block, in the order of the file. An error of use ends it.
func (f Format) Each(in *input.Input, skip Skip, workers, blockBytes int,
	use func(rows *batch.Batch) error) error {
	_, err := f.decode(in, skip, workers, blockBytes, func(b *block) error {
		all := newJoiner(&f.Schema)
		if err := all.add(b.out); err != nil {
			return err
		}
		return use(all.batch(1))
	})
	return err
}

// decode decodes all rows of an input and calls use with every block, in the order of the file.
func (f Format) decode(in *input.Input, skip Skip, workers, blockBytes int,
	use func(*block) error) (rowFormat, error) {
	cut := &blockCutter{in: in, size: blockBytes, skip: skip.Allowed}
	rows, first, err := f.begin(cut)
	if err != nil {
		return nil, err
	}
	line := cut.line
	return rows, decodeBlocks(cut, rows, first, workers, func(b *block) error {
		for _, bad := range b.bad {
			bad.Line += line
			if err := skip.Bad(bad); err != nil {
				return err
			}
		}
		if tooLong, ok := b.err.(*input.RowTooLong); ok {
			tooLong.Line += line
		}
		if b.err != nil {
			return in.Explain(b.err)
		}
		line += b.lines
		if err := use(b); err != nil {
			return fmt.Errorf("%s: %w", in.Name, err)
		}
		return nil
	})
}

// begin returns how to decode the rows of an input, and its first block.
func (f Format) begin(cut *blockCutter) (rowFormat, *block, error) {
	if cut.in.JSON && (f.Table == nil || f.Table.Names == nil) {
		return nil, nil, fmt.Errorf("%s: JSON lines: describe its columns in a job file, with kind csv",
			cut.in.Name)
	}
	if f.Table != nil {
		return f.Table.begin(&f.Schema, cut)
	}
	decode, err := f.Lines(cut.in.Name)
	if err != nil {
		return nil, nil, err
	}
	rows := &lineFormat{&f.Schema, decode}
	cut.rowsEnd = rows.rowsEnd
	return rows, cut.nextBlock(), nil
}

// ParseNumber parses a number that is finite in float32. The reason says why it is not one,
// and is empty otherwise.
func ParseNumber(text string) (value float64, reason string) {
	value, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange):
		return 0, "not a number"
	case math.IsNaN(value) || math.Abs(value) > math.MaxFloat32:
		return 0, "not a finite 32-bit number"
	}
	return value, ""
}

// Style is how a column writes its numbers.
type Style uint8

// The styles.
const (
	DecimalPoint Style = iota // 16711.5
	Thousands                 // 16,711.5
	DecimalComma              // 16711,5 and 16.711,5
)

// Parse is ParseNumber for a style. It accepts what Bare removes: 5 % is 5, and ($1.50) is −1.5.
func (s Style) Parse(text string) (value float64, reason string) {
	if value, reason = s.parse(text); reason != "" {
		if bare, ok := Bare(text); ok {
			return s.parse(bare)
		}
	}
	return value, reason
}

// parse is Parse for numbers without signs.
func (s Style) parse(text string) (value float64, reason string) {
	if s == DecimalPoint {
		return ParseNumber(text)
	}
	whole, fraction := text, ""
	separators := ","
	if s == DecimalComma {
		separators = ". \u00a0\u202f"
		if at := strings.IndexByte(text, ','); at >= 0 {
			whole, fraction = text[:at], "."+text[at+1:]
		}
	} else if at := strings.IndexAny(text, ".eE"); at >= 0 {
		whole, fraction = text[:at], text[at:]
	}
	whole, ok := joinThousands(whole, separators)
	if !ok || strings.ContainsRune(fraction, ',') {
		return 0, "not a number"
	}
	return ParseNumber(whole + fraction)
}

// Bare returns a number without what people write around it: a currency sign, a percent sign, brackets that
// stand for a minus, or apostrophes between thousands; and with a minus of ASCII for the longer one. It
// reports false if there is none of them. The rest need not be a number.
func Bare(text string) (bare string, ok bool) {
	inner, negative := text, false
	if strings.HasPrefix(inner, "(") && strings.HasSuffix(inner, ")") {
		inner, negative = strings.TrimSpace(inner[1:len(inner)-1]), true
	}
	for { // a minus may stand before or behind the currency
		first, size := utf8.DecodeRuneInString(inner)
		isMinus := first == '-' || first == '−'
		if isMinus && negative || !isMinus && !unicode.Is(unicode.Sc, first) {
			break
		}
		negative = negative || isMinus
		inner = strings.TrimLeftFunc(inner[size:], unicode.IsSpace)
	}
	if last, size := utf8.DecodeLastRuneInString(inner); last == '%' || unicode.Is(unicode.Sc, last) {
		inner = strings.TrimRightFunc(inner[:len(inner)-size], unicode.IsSpace)
	}
	if at := strings.IndexAny(inner, ".,"); strings.ContainsAny(inner, "'’") {
		if at < 0 {
			at = len(inner)
		}
		if whole, grouped := joinThousands(inner[:at], "'’"); grouped {
			inner = whole + inner[at:]
		}
	}
	if negative {
		inner = "-" + inner
	}
	return inner, inner != text
}

// joinThousands removes one of the separators from between groups of three digits. It reports false if the
// groups have another size.
func joinThousands(text, separators string) (digits string, ok bool) {
	at := strings.IndexAny(text, separators)
	if at < 0 {
		return text, true
	}
	separator, _ := utf8.DecodeRuneInString(text[at:])
	groups := strings.Split(text, string(separator))
	first := strings.TrimLeft(groups[0], "+-")
	if len(first) == 0 || len(first) > 3 || first[0] == '0' ||
		strings.Trim(first, "0123456789") != "" {
		return "", false
	}
	for _, group := range groups[1:] {
		if len(group) != 3 || strings.Trim(group, "0123456789") != "" {
			return "", false
		}
	}
	return strings.Join(groups, ""), true
}

// WholeText returns the text of a whole number without a fraction of zeros, as in 17.0, and any other text as
// it is.
func WholeText(text string) string {
	whole, fraction, found := strings.Cut(text, ".")
	if !found || whole == "" || strings.Trim(fraction, "0") != "" ||
		strings.Trim(strings.TrimPrefix(whole, "-"), "0123456789") != "" {
		return text
	}
	return whole
}

// ParseBinaryLabel parses a label that is 0 or 1.
func ParseBinaryLabel(text string) (label float32, ok bool) {
	switch text {
	case "0":
		return 0, true
	case "1":
		return 1, true
	}
	return 0, false
}
