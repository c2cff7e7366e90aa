package decode

import (
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tandem/algo/numeric/batch"
	"tandem/datasets/internal/input"
)

// tested has a slot of one id, one of weighted ids, a number, a label and weights.
func tested(table bool) Format {
	f := Format{Schema: batch.Schema{
		Slots: []batch.Slot{{Name: "user", Dim: 1}, {Name: "tags", Dim: 1, Weighted: true}},
		Dense: []string{"x"}, Labels: []string{"y"}, Weight: "w",
	}}
	if !table {
		f.Lines = func(string) (LineDecoder, error) {
			return func(line []byte, r *Row) *BadRow {
				return decodeTested(strings.Split(string(line), ","), r)
			}, nil
		}
		return f
	}
	f.Table = &Table{Delimiter: ",", Comment: "#", NewDecoder: func(r *RecordReader) (RecordDecoder, error) {
		at, err := r.Positions([]string{"user", "tags", "x", "y", "w"})
		return func(record []string, r *Row) *BadRow {
			var own []string
			for _, i := range at {
				own = append(own, record[i])
			}
			return decodeTested(own, r)
		}, err
	}}
	return f
}

// decodeTested decodes user, tags as id:weight separated by blanks, x, y and w.
func decodeTested(fields []string, r *Row) *BadRow {
	if len(fields) != 5 {
		return BadRecord("%d fields", len(fields))
	}
	user, err := strconv.ParseUint(fields[0], 10, 64)
	if err != nil {
		return BadField("user", fields[0], "no id")
	}
	r.IDs[0] = append(r.IDs[0], user)
	for _, tag := range strings.Fields(fields[1]) {
		id, weight, _ := strings.Cut(tag, ":")
		n, _ := strconv.ParseUint(id, 10, 64)
		x, _ := strconv.ParseFloat(weight, 32)
		r.IDs[1] = append(r.IDs[1], n)
		r.IDWeights[1] = append(r.IDWeights[1], float32(x))
	}
	r.Dense[0], _ = strconv.ParseFloat(fields[2], 64)
	y, _ := ParseBinaryLabel(fields[3])
	w, _ := strconv.ParseFloat(fields[4], 32)
	r.Labels[0], r.Weight = y, float32(w)
	return nil
}

// good is what the texts of TestRead hold.
func good() *batch.Batch {
	return &batch.Batch{Samples: 4,
		Slots: []batch.Jagged{
			{Offsets: []int32{0, 1, 2, 3, 4}, IDs: []uint64{7, 8, 9, 10}},
			{Offsets: []int32{0, 1, 3, 3, 4}, IDs: []uint64{1, 2, 3, 4}, Weights: []float32{0.5, 1, 2, 4}},
		},
		Dense: []float32{1.5, -2, 0, 3}, Labels: []float32{1, 0, 1, 0}, Weights: []float32{1, 2, 3, 4}}
}

// sameRows reports whether batches have the same rows.
func sameRows(a, b *batch.Batch) bool {
	plain := func(b *batch.Batch) string {
		return fmt.Sprint(b.Samples, b.Slots, b.Dense, b.Labels, b.Weights)
	}
	return plain(a) == plain(b)
}

// The size of a block and the number of goroutines change nothing: a file has the same rows, and bad rows
// have the lines at which they begin.
func TestRead(t *testing.T) {
	type badRow struct {
		line                  int
		column, value, reason string
	}
	wrong := []badRow{{4, "user", "z", "no id"}, {5, "", "", "2 fields"},
		{6, "tags", "[NaN]", "the weight NaN of an id is not a finite 32-bit number"}}
	lines := "7,1:0.5,1.5,1,1\n\n8,2:1 3:2,-2,0,2\r\nz,,,,\n1,2\n5,1:NaN,0,0,1\n\r\n9,,0,1,3\n10,4:4,3,0,4"
	for _, c := range []struct {
		name, text string
		table      bool
		bad        []badRow
	}{
		{"lines", lines, false, wrong[:2]},
		{"table", "# of users\n\nuser,tags,x,y,w\n7,1:0.5,1.5,1,1\n8,2:1 3:2,-2,0,2\r\nz,,,,\n1,2\n" +
			"# more\n5,1:NaN,0,0,1\n\r\n9,,0,1,3\n10,4:4,3,0,4\n", true,
			[]badRow{{6, "user", "z", "no id"}, {7, "", "", "2 fields, want 5"},
				{9, wrong[2].column, wrong[2].value, wrong[2].reason}}},
		{"quotes", "w,y,x,tags,user\n1,1,1.5,\"1:0.5\n\n\",7\n2,0,-2,2:1 3:2,\"8\"\n,,,,\"z\n\"\n\"1\",2\n" +
			"1,0,0,1:NaN,5\n" + `1,0,0,"1"2,5` + "\n3,1,0,,9\n4,0,3,\"4:4\", \"10\"\n", true,
			[]badRow{{6, "user", "z", "no id"}, {8, "", "", "2 fields, want 5"},
				{9, wrong[2].column, wrong[2].value, wrong[2].reason},
				{10, "", "", `extraneous or missing " in quoted-field`}}},
	} {
		if !c.table { // which checks no weights
			c.text = strings.Replace(c.text, "5,1:NaN,0,0,1", "", 1)
		}
		f := tested(c.table)
		for _, workers := range []int{1, 3} {
			for _, size := range []int{1, 2, 7, 16, 40, 1 << 18} {
				var bad []badRow
				skip := Skip{10, func(b *BadRow) error {
					bad = append(bad, badRow{b.Line, b.Column, b.Value, b.Error()})
					return nil
				}}
				got, err := f.Read(input.Plain("x", strings.NewReader(c.text)), skip, workers, size)
				if err != nil || !sameRows(got, good()) {
					t.Errorf("%s, blocks of %d: %+v, error %v", c.name, size, got, err)
				}
				if !slices.Equal(bad, c.bad) {
					t.Errorf("%s, blocks of %d: bad rows %v, want %v", c.name, size, bad, c.bad)
				}
			}
		}
	}
}

// Each gives the rows of one block after the other, and an index finds the rows of each block again.
func TestBlocksAreReadAgain(t *testing.T) {
	const head, rows = "user,tags,x,y,w\n",
		"7,1:0.5,1.5,1,1\n8,2:1 3:2,-2,0,2\nz,,,,\n9,,0,1,3\n10,4:4,3,0,4\n"
	text, f := head+rows, tested(true)
	for _, size := range []int{1, 30, 1 << 18} {
		var each, parts []*batch.Batch
		skip := Skip{1, func(*BadRow) error { return nil }}
		keep := func(all *[]*batch.Batch) func(*batch.Batch) error {
			return func(b *batch.Batch) error { *all = append(*all, b); return nil }
		}
		if err := f.Each(input.Plain("x", strings.NewReader(text)), skip, 2, size, keep(&each)); err != nil {
			t.Fatal(err)
		}
		in := input.Plain("x", strings.NewReader(text))
		in.Begin = 3 // behind a byte-order mark
		x, err := f.Index(in, skip, 2, size, keep(&parts))
		if err != nil || x.Samples() != 4 || x.Blocks() != len(each) || !reflect.DeepEqual(each, parts) {
			t.Fatalf("blocks of %d: %d rows in %d blocks, error %v", size, x.Samples(), x.Blocks(), err)
		}
		file := "\xef\xbb\xbf" + text
		next := 0
		for i, want := range parts {
			lo, hi := x.Range(i)
			if lo != next || hi-lo != want.Samples {
				t.Errorf("block %d has rows %d to %d, want %d from %d on", i, lo, hi, want.Samples, next)
			}
			next = hi
			got, err := x.Read(strings.NewReader(file), i)
			if err != nil || !sameRows(got, want) {
				t.Errorf("block %d: %+v, error %v, want %+v", i, got, err, want)
			}
		}
		last := x.Blocks() - 1
		for _, changed := range []string{file[:len(file)-1], strings.Replace(file, "10,4", "zz,4", 1)} {
			if _, err := x.Read(strings.NewReader(changed), last); err == nil ||
				!strings.HasPrefix(err.Error(), "x: the file has changed") {
				t.Errorf("%q: error %v", changed, err)
			}
		}
		if _, err := x.Read(failing{}, last); err == nil || err.Error() != "x: "+errBroken.Error() {
			t.Errorf("a file that cannot be read: error %v", err)
		}
	}
}

// failing is a file that cannot be read.
type failing struct{}

var errBroken = errors.New("the disk is broken")

func (failing) Read([]byte) (int, error)          { return 0, errBroken }
func (failing) ReadAt([]byte, int64) (int, error) { return 0, errBroken }

// A file ends with the first error: of the file itself, of a row that is too long, and of what is called with
// rows, bad ones included. Good rows before it are used.
func TestErrorsOfReading(t *testing.T) {
	long := strings.Repeat("1", input.RowBytesMax)
	wanted := errors.New("enough")
	for _, c := range []struct {
		name, text, want string
		table            bool
		rows             int // that are used before
		broken           bool
		bad, use         error
	}{
		{name: "a broken file", text: "user,tags,x,y,w\n1,,0,0,1\n2,",
			want: "x: cannot read: the disk is broken", table: true, rows: 1, broken: true},
		{name: "broken lines", text: "1,,0,0,1\n2,,0,0,1\n3",
			want: "x: cannot read: the disk is broken", rows: 2, broken: true},
		{name: "no file", want: "x: cannot read: the disk is broken", table: true, broken: true},
		{name: "a long line", text: "1,,0,0,1\n" + long + "\n", want: "x:2: a row is longer", rows: 1},
		{name: "a long record", text: "user,tags,x,y,w\n1,,0,0,1\n2,,0,0,1\n" + long + "\n",
			want: "x:4: a row is longer", table: true, rows: 2},
		{name: "a long header", text: "\n# \n" + strings.Repeat(long, 3), want: "x:3: a row is longer",
			table: true},
		{name: "a bad row", text: "1,,0,0,100\nz,,,,\n2,,0,0,1\n", want: "enough", rows: 1, bad: wanted},
		{name: "rows", text: "1,,0,0,1\n", want: "x: enough", use: wanted},
		{name: "no header", text: "\n# only\n",
			want: "x: no rows: not even a header: check that the file is whole", table: true},
		{name: "another header", text: "user,tags,x,y\n1\n",
			want: `x:1: no column "w": the file has ["user" "tags" "x" "y"]`, table: true},
		{name: "a header of another encoding", text: "us\xe9r,tags\n",
			want: "x: its first line is not UTF-8", table: true},
		{name: "a header of zeros", text: "u\x00ser,tags\n", want: "x: its first line has zero bytes",
			table: true},
	} {
		for _, size := range []int{8, 1 << 18} {
			if c.rows > 0 && size > 8 && c.name != "a broken file" { // one block: none of its rows
				c.rows = 0
			}
			var text io.Reader = strings.NewReader(c.text)
			if c.broken {
				text = io.MultiReader(text, failing{})
			}
			rows := 0
			skip := Skip{0, func(*BadRow) error { return c.bad }}
			use := func(b *batch.Batch) error {
				if c.use == nil {
					rows += b.Samples
				}
				return c.use
			}
			err := tested(c.table).Each(input.Plain("x", text), skip, 2, size, use)
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%s, blocks of %d: error %.200v, want %s", c.name, size, err, c.want)
			}
			if size == 8 && rows != c.rows {
				t.Errorf("%s: %d rows, want %d", c.name, rows, c.rows)
			}
		}
	}
}

// After one bad row more than is allowed, a block is not decoded further.
func TestUnwantedRowsAreNotDecoded(t *testing.T) {
	for _, text := range []string{strings.Repeat("z,,,,\n", 50), strings.Repeat("\"z\",,,,\n", 50)} {
		bad := 0
		skip := Skip{3, func(*BadRow) error { bad++; return nil }}
		f := tested(true)
		f.Table.Columns = []string{"user", "tags", "x", "y", "w"}
		_, err := f.Read(input.Plain("x", strings.NewReader(text)), skip, 1, BlockBytes)
		if err != nil || bad != 4 {
			t.Errorf("%.8q: %d bad rows, want 4, error %v", text, bad, err)
		}
	}
}

// A header that need not be there is skipped once, at the beginning.
func TestOptionalHeaders(t *testing.T) {
	for text, want := range map[string]int{
		"user,tags,x,y,w\n1,,0,0,1\n": 1, "1,,0,0,1\n2,,0,0,1\n": 2, "\"user\",tags,x,y,w\n1,,0,0,1\n": 1,
		"\n# \nuser,tags,x,y,w\n1,,0,0,1\n": 1, "": 0,
	} {
		f := tested(true)
		f.Table.Columns, f.Table.OptionalHeader = []string{"user", "tags", "x", "y", "w"}, true
		for _, size := range []int{2, 1 << 18} {
			var bad []*BadRow
			skip := Skip{9, func(b *BadRow) error { bad = append(bad, b); return nil }}
			got, err := f.Read(input.Plain("x", strings.NewReader(text)), skip, 1, size)
			if err != nil || got.Samples != want || bad != nil {
				t.Errorf("%q: %+v, bad rows %v, error %v", text, got, bad, err)
			}
		}
	}
	f := tested(true)
	f.Table.Columns, f.Table.OptionalHeader = []string{"user", "tags", "x", "y", "w"}, true
	var bad []int
	skip := Skip{9, func(b *BadRow) error { bad = append(bad, b.Line); return nil }}
	in := input.Plain("x", strings.NewReader("1,,0,0,1\nuser,tags,x,y,w\n"))
	if _, err := f.Read(in, skip, 1, 1<<18); err != nil || !slices.Equal(bad, []int{2}) {
		t.Errorf("a header behind a row: bad rows %v, error %v", bad, err)
	}
}

// Records end at the ends of lines outside of quotes; without a delimiter, lines do.
func TestRowCutter(t *testing.T) {
	for _, c := range []struct {
		delimiter, comment, text string
		want                     int
	}{
		{"", "", "a\n\"b\nc", 5}, {"", "", "abc", 0}, {"", "", "", 0},
		{",", "", "a,b\nc,d", 4}, {",", "", "a,\"b\nc\"\nd", 8}, {",", "", "a\nb,\"c\nd", 2},
		{",", "", `a,"b""` + "\n\"\nc", 9}, {",", "", "a\"b\nc", 4}, {",", "", "a, \"b\nc\"\nd", 9},
		{"\t", "", "a\t \"b\nc\"\nd", 9}, {",", "#", "#\"\na", 3}, {",", "", "#\"\na\n", 5},
		{",", "", "a,\"b\"c\nd", 7}, {",", "", "\"a\",\"b\",\"c\nd\"\n\"", 14}, {",", "", "\"a\nb\nc\"\n", 8},
		{"→", "", "a→\"b\n\"\n", 9}, {",", "", "x\n\"a\nb\"\n\"c", 8},
	} {
		if got := RowCutter(c.delimiter, c.comment)([]byte(c.text)); got != c.want {
			t.Errorf("%q with %q: %d, want %d", c.text, c.delimiter, got, c.want)
		}
	}
}

// A reader of records gives their fields without blanks and the lines at which they begin.
func TestRecords(t *testing.T) {
	in := input.Plain("x", strings.NewReader("\n# no\n a , b\n1, 2 \n\"3\n\", 4\n5\n\"6\"7,8\n\n9,10\n"))
	r, err := NewRecordReader(in, ",", "#", nil)
	if err != nil || !slices.Equal(r.Columns, []string{"a", "b"}) || r.Line() != 3 {
		t.Fatalf("%q at line %d, error %v", r.Columns, r.Line(), err)
	}
	if at, err := r.Positions([]string{"b", "a"}); err != nil || !slices.Equal(at, []int{1, 0}) {
		t.Errorf("positions %v, error %v", at, err)
	}
	if _, err := r.Positions([]string{"a", "c"}); err == nil ||
		err.Error() != `x:3: no column "c": the file has ["a" "b"]` {
		t.Error(err)
	}
	if kind, problem := r.Kind(0); kind != AnyText || problem != "" {
		t.Errorf("kind %v, problem %q", kind, problem)
	}
	r.ReadOnly("b", "|") // nothing, for delimited text
	for _, want := range []struct {
		line   int
		record []string
		bad    string
	}{
		{4, []string{"1", "2"}, ""}, {5, []string{"3", "4"}, ""}, {7, nil, "1 fields, want 2"},
		{8, nil, `extraneous or missing " in quoted-field`}, {10, []string{"9", "10"}, ""},
	} {
		record, err := r.NextRecord()
		var bad *BadRow
		if r.Line() != want.line || !slices.Equal(record, want.record) ||
			errors.As(err, &bad) != (want.bad != "") ||
			bad != nil && (bad.Reason != want.bad || bad.Line != 0) {
			t.Errorf("line %d: %q, error %v, want %+v", r.Line(), record, err, want)
		}
	}
	if _, err := r.NextRecord(); err != io.EOF {
		t.Error(err)
	}
	in = input.Plain("x", io.MultiReader(strings.NewReader("1;2\n3"), failing{}))
	r, err = NewRecordReader(in, ";", "", []string{"a", "b"})
	if err != nil || r.Line() != 0 {
		t.Fatalf("line %d, error %v", r.Line(), err)
	}
	if _, err := r.Position("c"); err == nil || err.Error() != `x: no column "c": the file has ["a" "b"]` {
		t.Error(err)
	}
	if record, err := r.NextRecord(); err != nil || !slices.Equal(record, []string{"1", "2"}) {
		t.Errorf("%q, error %v", record, err)
	}
	if _, err := r.NextRecord(); err == nil || !strings.Contains(err.Error(), errBroken.Error()) {
		t.Error(err)
	}
}

// The remaining records are as they are written, up to an error of syntax.
func TestRemainingRecords(t *testing.T) {
	in := input.Plain("x", strings.NewReader("a,b\n1, 2 \n3\n4,5,6\n\"7\"8\n9,10\n"))
	r, err := NewRecordReader(in, ",", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.RemainingRecords(); !reflect.DeepEqual(got, [][]string{{"1", "2 "}, {"3"}, {"4", "5", "6"}}) {
		t.Errorf("%q", got)
	}
	in = input.Plain("x", strings.NewReader(`{"a":1,"b":[2]}`+"\n"+`{"b":[3,4]}`+"\nno\n"))
	in.JSON = true
	if r, err = NewRecordReader(in, "", "", nil); err != nil {
		t.Fatal(err)
	}
	if got := r.RemainingRecords(); !reflect.DeepEqual(got, [][]string{{"1", "2"}, {"", "3|4"}}) {
		t.Errorf("%q", got)
	}
}

// One column of JSON lines can be read alone, with its own separator; objects in it are then bad rows.
func TestOneColumnOfJSONLines(t *testing.T) {
	in := input.Plain("x", strings.NewReader(`{"a":[1,2]}`+"\n"+`{"b":1}`+"\n"+`{"a":{}}`+"\n"))
	in.JSON = true
	r, err := NewRecordReader(in, "", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.ReadOnly("a", "/")
	var got []string
	for {
		record, err := r.NextRecord()
		if err == io.EOF {
			break
		}
		got = append(got, fmt.Sprint(record, err))
	}
	want := []string{"[1/2] <nil>", "[] <nil>", "[] want a text, a number or a list of these"}
	if !slices.Equal(got, want) || !slices.Equal(r.Columns, []string{"a"}) {
		t.Errorf("%q of %q", got, r.Columns)
	}
}

// JSON lines are read as the columns that a table names, and refused without names.
func TestReadJSONLines(t *testing.T) {
	text := `{"user":7,"tags":["1:0.5"],"x":1.5,"y":1,"w":1}` + "\n" +
		`{"user":"8","tags":"2:1 3:2","x":-2,"y":"0","w":2}` + "\nno\n" +
		`{"user":5,"tags":"1:NaN","w":1}` + "\n" + `{"user":9,"y":1,"w":3}` + "\n" +
		`{"w":4,"x":3,"tags":["4:4"],"user":10}`
	open := func() *input.Input {
		in := input.Plain("x", strings.NewReader(text))
		in.JSON = true
		return in
	}
	for _, size := range []int{10, 1 << 18} {
		var bad []int
		skip := Skip{9, func(b *BadRow) error { bad = append(bad, b.Line); return nil }}
		f := tested(true)
		_, err := f.Read(open(), skip, 2, size)
		if err == nil || !strings.HasPrefix(err.Error(), "x: JSON lines:") {
			t.Errorf("without names: error %v", err)
		}
		f.Table.Names = []string{"user", "tags", "x", "y", "w"}
		f.Table.Separators = []string{"", " ", "", "", ""}
		got, err := f.Read(open(), skip, 2, size)
		if err != nil || !sameRows(got, good()) || !slices.Equal(bad, []int{3, 4}) {
			t.Errorf("%+v, bad rows %v, error %v", got, bad, err)
		}
		f.Table.NewDecoder = func(*RecordReader) (RecordDecoder, error) { return nil, errBroken }
		if _, err := f.Read(open(), skip, 2, size); err != errBroken {
			t.Error(err)
		}
	}
	if _, err := tested(false).Read(open(), Skip{}, 1, 100); err == nil {
		t.Error("JSON is read as lines")
	}
}

// A column has at most 2³¹ − 1 ids, because offsets have 32 bits.
func TestColumnsAreBounded(t *testing.T) {
	schema := &batch.Schema{Slots: []batch.Slot{{}}}
	for samples, ok := range map[int]bool{math.MaxInt32 - 1: true, math.MaxInt32: false} {
		j := newJoiner(schema)
		if err := j.add(columns{samples: samples, slots: make([]column, 1)}); (err == nil) != ok {
			t.Errorf("%d samples: %v", samples, err)
		}
	}
	for ids, ok := range map[int]bool{math.MaxInt32: true, math.MaxInt32 + 1: false} {
		j := newJoiner(schema)
		j.ids[0] = ids - 1
		if err := j.add(columns{samples: 1, slots: []column{{ids: []uint64{5}}}}); (err == nil) != ok {
			t.Errorf("%d ids: %v", ids, err)
		}
	}
}

// A value of a bad field does not change with the line that it is from.
func TestBadFieldsKeepTheirValue(t *testing.T) {
	line := []byte("abc")
	bad := BadField("x", line[:2], "no")
	line[0] = 'z'
	if *bad != (BadRow{0, "x", "ab", "no"}) {
		t.Errorf("%+v", bad)
	}
}
