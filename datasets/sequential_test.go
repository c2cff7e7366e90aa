package datasets

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/datasets/internal/decode"
	"tandem/datasets/internal/input"
)

// readSequentially is a simple reference for format.readText: it reads one row after another, line
// by line or with encoding/csv, and appends it to the columns.
func readSequentially(f format, in *input.Input, dropped *droppedRows) (*batch.Batch, error) {
	next, err := sequentialRows(f, in)
	if err != nil {
		return nil, err
	}
	out := &batch.Batch{Slots: make([]batch.Jagged, len(f.Schema.Slots))}
	for s := range out.Slots {
		out.Slots[s].Offsets = []int32{0}
	}
	r := decode.NewRow(&f.Schema)
	for {
		r.Reset()
		line, err := next(r)
		var bad *decode.BadRow
		switch {
		case err == io.EOF && out.Samples == 0 && len(dropped.first) > 0:
			return nil, fmt.Errorf("%s: %w: all are bad: %v", in.Name, ErrNoRows,
				dropped.first[len(dropped.first)-1])
		case err == io.EOF && out.Samples == 0:
			return nil, fmt.Errorf("%s: %w: check that the file is whole and of the given kind", in.Name,
				ErrNoRows)
		case err == io.EOF:
			return out, nil
		case errors.As(err, &bad):
			bad.Line = line
			if err := dropped.skip(in.Name).Bad(bad); err != nil {
				return nil, err
			}
			continue
		case err != nil:
			return nil, err
		}
		for s, ids := range r.IDs {
			slot := &out.Slots[s]
			slot.IDs = append(slot.IDs, ids...)
			slot.Offsets = append(slot.Offsets, int32(len(slot.IDs)))
		}
		for _, value := range r.Dense {
			out.Dense = append(out.Dense, float32(value))
		}
		out.Labels = append(out.Labels, r.Labels...)
		out.Samples++
	}
}

// sequentialRows returns a function that decodes the next row and returns its line.
func sequentialRows(f format, in *input.Input) (next func(*decode.Row) (line int, err error), err error) {
	if f.Table == nil {
		decodeLine, err := f.Lines(in.Name)
		if len(f.Schema.Slots) == criteoCategories {
			decodeLine = plainCriteo(f.Schema)
		}
		lines := input.NewLineReader(in)
		return func(r *decode.Row) (int, error) {
			text, err := lines.NextLine()
			if err != nil {
				return 0, err
			}
			return lines.Line(), orNil(decodeLine(text, r))
		}, err
	}
	records, err := decode.NewRecordReader(in, f.Table.Delimiter, f.Table.Comment, f.Table.Columns)
	if err != nil {
		return nil, err
	}
	decodeRecord, err := f.Table.NewDecoder(records)
	first := f.Table.OptionalHeader
	return func(r *decode.Row) (int, error) {
		record, err := records.NextRecord()
		if err == nil && first && record[0] == records.Columns[0] {
			record, err = records.NextRecord()
		}
		first = false
		if err != nil {
			return records.Line(), err
		}
		return records.Line(), orNil(decodeRecord(record, r))
	}, err
}

// plainCriteo is a simple reference for criteoDecoder that uses the standard library.
func plainCriteo(schema batch.Schema) decode.LineDecoder {
	return func(line []byte, r *decode.Row) *decode.BadRow {
		fields := strings.Split(string(line), "\t")
		if len(fields) != criteoFields {
			return decode.BadRecord("%d tab-separated fields, want %d", len(fields), criteoFields)
		}
		var ok bool
		if r.Labels[0], ok = decode.ParseBinaryLabel(fields[0]); !ok {
			return decode.BadField("clicked", fields[0], "label must be 0 or 1")
		}
		for i, field := range fields[1 : 1+criteoIntegers] {
			if field == "" {
				field = "0"
			}
			integer, err := strconv.ParseInt(field, 10, 64)
			if err != nil {
				return decode.BadField(schema.Dense[i], field, "not an integer")
			}
			r.Dense[i] = math.Log1p(float64(max(integer, 0)))
		}
		for i, field := range fields[1+criteoIntegers:] {
			if strings.Trim(field, "0123456789abcdefABCDEF") != "" {
				return decode.BadField(schema.Slots[i].Name, field, "not a hexadecimal hash")
			}
			r.IDs[i] = append(r.IDs[i], CategoryID(field))
		}
		return nil
	}
}

// orNil returns a nil error for a nil pointer.
func orNil(bad *decode.BadRow) error {
	if bad == nil {
		return nil
	}
	return bad
}

// sameRows checks that reading a text in blocks gives the rows, bad rows and errors of
// readSequentially.
func sameRows(t rapid.TB, cfg job.Data, text string, skip, workers, size int) {
	t.Helper()
	f := formatOf(&cfg)
	open := func() *input.Input {
		in, err := input.New("file", strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return in
	}
	wantDropped, gotDropped := &droppedRows{policy: job.OnBadRow{Skip: skip}},
		&droppedRows{policy: job.OnBadRow{Skip: skip}}
	want, wantErr := readSequentially(f, open(), wantDropped)
	got, gotErr := f.readBlocks(open(), gotDropped, workers, size)
	if fmt.Sprint(gotErr) != fmt.Sprint(wantErr) {
		t.Fatalf("error %v, want %v; text %q", gotErr, wantErr, cut(text))
	}
	if gotDropped.count != wantDropped.count ||
		fmt.Sprint(gotDropped.first) != fmt.Sprint(wantDropped.first) {
		t.Fatalf("dropped %d %v, want %d %v; text %q", gotDropped.count, gotDropped.first, wantDropped.count,
			wantDropped.first, cut(text))
	}
	if wantErr == nil {
		sameBatch(t, got, want)
	}
}

func cut(text string) string { return text[:min(len(text), 2000)] }

// sameBatch compares batches bit by bit.
func sameBatch(t rapid.TB, got, want *batch.Batch) {
	t.Helper()
	bits := func(values []float32) (out []uint32) {
		for _, v := range values {
			out = append(out, math.Float32bits(v))
		}
		return out
	}
	if got.Samples != want.Samples || !slices.Equal(bits(got.Dense), bits(want.Dense)) ||
		!slices.Equal(bits(got.Labels), bits(want.Labels)) {
		t.Fatalf("%d rows, dense %v, labels %v; want %d, %v, %v", got.Samples, got.Dense, got.Labels,
			want.Samples, want.Dense, want.Labels)
	}
	for s := range want.Slots {
		if !slices.Equal(got.Slots[s].IDs, want.Slots[s].IDs) ||
			!slices.Equal(got.Slots[s].Offsets, want.Slots[s].Offsets) {
			t.Fatalf("slot %d: %v, want %v", s, got.Slots[s], want.Slots[s])
		}
	}
}

// pieces returns texts from which good and bad lines of a kind are assembled.
func pieces(kind job.DataKind) []string {
	switch kind {
	case job.KindCriteo:
		return []string{criteoLine("1", "5", "0a"), criteoLine("0", "-3", ""),
			criteoLine("0", "+7", "68fd1e64"),
			criteoLine("1", "99999999999999999999", "a"), criteoLine("0", "123456789012345678", "a"),
			criteoLine("2", "5", "0a"),
			criteoLine("0", "", "0g"), "\n", "\r\n", "\t", "\r", "x"}
	case job.KindLibFM:
		return []string{"1 3:1 4:1\n", "0\n", "-1 7:1\t8:1 \r\n", "1 3:0.5\n", "2 3:1\n", "\n",
			"1 1:1 2:1 3:1 4:1", " ", "\r"}
	case job.KindTaobaoAd:
		return []string{strings.Join(taobaoColumns(), ",") + "\n", taobaoRow(nil) + "\n",
			taobaoRow(map[int]string{264: "x"}) + "\n",
			taobaoRow(map[int]string{260: `"4"`}) + "\n", "\n", ",\n", `"`}
	case job.KindAvazu:
		return []string{avazuHeader, avazuRow, avazuRow, avazuShortRow, "\n", "\"", "x,"}
	case job.KindMovieLens:
		return []string{"1\t7\t4\t881250949\n", "2\t7\t1\t0\n", "1\t2\t6\t0\n", "\n", "1\t"}
	case job.KindMovieLensImplicit:
		return []string{"1-2-3-4,5-6\n", "1-2-3-4,5-7\r\n", "---,-\n", "1,2\n", "\n", "1-"}
	}
	return []string{csvHeader, "ann,30,x|y,1,\n", "bob, 3e1 ,,0,ünused\r\n", "# comment \" here\n", "#", "\n",
		"\r\n", " \n", " ", ",", "\"", "\"\"",
		"\"a \"\"b\"\" \",4,\"x\ny\",1,\n", " \"c,d\" ,5,y,0,\n", "\"open,6,z,1,\n", "\"e\"f,7,z,1,\n",
		"g\"h,8,z,1,\n", "ann,old,x,1,\n", "\"end\",1,z,1,\"\"\n", "\r", "é"}
}

// Blocks of any size, on any number of goroutines, give the rows of sequential reading.
func TestBlocksGiveTheRowsOfSequentialReading(t *testing.T) {
	tabbed := testCSV()
	tabbed.CSV.Delimiter, tabbed.CSV.Comment, tabbed.CSV.Columns = "\t", "#",
		[]string{"user", "age", "tags", "click"}
	wide := testCSV()
	wide.CSV.Delimiter, wide.CSV.Comment = "é", "#"
	commented := testCSV()
	commented.CSV.Comment = "#"
	for name, cfg := range map[string]job.Data{
		"criteo": {Kind: job.KindCriteo}, "libfm": {Kind: job.KindLibFM}, "taobao": {Kind: job.KindTaobaoAd},
		"avazu": {Kind: job.KindAvazu}, "movielens": {Kind: job.KindMovieLens},
		"implicit": {Kind: job.KindMovieLensImplicit}, "csv": testCSV(), "tabs": tabbed, "two bytes": wide,
		"comments": commented,
	} {
		t.Run(name, func(t *testing.T) {
			parts, delimiters := pieces(cfg.Kind), []string{","}
			if cfg.CSV != nil {
				delimiters = append(delimiters, cfg.CSV.FieldDelimiter())
			}
			rapid.Check(t, func(t *rapid.T) {
				var text strings.Builder
				if rapid.Bool().Draw(t, "begin well") {
					text.WriteString(parts[0])
				}
				for range rapid.IntRange(0, 40).Draw(t, "pieces") {
					text.WriteString(rapid.SampledFrom(parts).Draw(t, "piece"))
				}
				sameRows(t, cfg, strings.ReplaceAll(text.String(), ",",
					rapid.SampledFrom(delimiters).Draw(t, "delimiter")),
					rapid.SampledFrom([]int{0, 1, 3, 100}).Draw(t, "skip"),
					rapid.IntRange(1, 4).Draw(t, "workers"), rapid.IntRange(1, 600).Draw(t, "block"))
			})
		})
	}
}

// A line of input.RowBytesMax bytes is too long, wherever it stands; bad rows before it are
// reported first.
func TestLongLinesInBlocks(t *testing.T) {
	for _, n := range []int{input.RowBytesMax - 1, input.RowBytesMax, input.RowBytesMax + 1} {
		for _, end := range []string{"", "\n", "\r\n", "\n1 3:1\n"} {
			for _, begin := range []string{"", "1 3:1\n", "bad\n"} {
				text := begin + "1 " + strings.Repeat("3:1 ", n/4+1)[:n-2] + end
				for _, size := range []int{1000, decode.BlockBytes, 4 * decode.BlockBytes} {
					sameRows(t, job.Data{Kind: job.KindLibFM}, text, 1, 2, size)
				}
			}
		}
	}
}

func TestCriteoIntegersEqualStrconv(t *testing.T) {
	c := newCriteoDecoder()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.StringMatching(`[-+]?[0-9]{0,21}`),
			rapid.StringMatching(`[-+0-9a_x.]{0,4}`)).Draw(t, "field")
		want, err := strconv.ParseInt(text, 10, 64)
		got, at, ok := c.integer([]byte(text + "\t9\t"))
		switch {
		case text == "":
			if got != 0 || at != 0 || !ok {
				t.Fatalf("empty: %v at %d, %v", got, at, ok)
			}
		case ok != (err == nil):
			t.Fatalf("%q: ok %v, want %v", text, ok, err)
		case ok && (got != math.Log1p(float64(max(want, 0))) || at != len(text)):
			t.Fatalf("%q: %v at %d, want log1p of %d", text, got, at, want)
		}
	})
}

// criteoText repeats the head of the real file or, without it, generated lines.
func criteoText(b *testing.B, size int) []byte {
	var text []byte
	if in, err := input.Open(filepath.Join(os.Getenv("TANDEM_DATA"),
		"criteo-kaggle-head/train_head10k.txt.gz")); err == nil {
		text, _ = io.ReadAll(in)
		in.Close()
	}
	for i := 0; len(text) == 0 || len(text) < 1<<20 && i < 4000; i++ {
		text = append(text, criteoLine(strconv.Itoa(i%2), strconv.Itoa(i),
			strconv.FormatInt(int64(i)*0x9e3779b9, 16))...)
	}
	return bytes.Repeat(text, size/len(text)+1)
}

func gunzipped(b *testing.B, text []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	w.Write(text)
	w.Close()
	return out.Bytes()
}

// BenchmarkRead compares reading with finding the line ends of the same text, which is the upper
// bound for any reader of lines.
func BenchmarkRead(b *testing.B) {
	text := criteoText(b, 64<<20)
	var table bytes.Buffer
	table.WriteString(csvHeader)
	for i := range 1 << 20 {
		fmt.Fprintf(&table, "user%d,%d.5,x|tag%d,%d,\n", i, i%90, i%100, i%2)
	}
	var quoted bytes.Buffer
	quoted.WriteString(csvHeader)
	for i := range 1 << 20 {
		fmt.Fprintf(&quoted, "user%d,%d.5,\"x,y|tag%d\",%d,\n", i, i%90, i%100, i%2)
	}
	limit := func(b *testing.B, text []byte) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			for rest := text; len(rest) > 0; {
				rest = rest[bytes.IndexByte(rest, '\n')+1:]
			}
		}
	}
	read := func(b *testing.B, cfg job.Data, text []byte, size int,
		how func(f format, in *input.Input) (*batch.Batch, error)) {
		b.SetBytes(int64(size))
		rows := 0
		for b.Loop() {
			in, err := input.New("file", bytes.NewReader(text))
			if err != nil {
				b.Fatal(err)
			}
			got, err := how(formatOf(&cfg), in)
			if err != nil {
				b.Fatal(err)
			}
			rows += got.Samples
		}
		b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
	}
	for _, c := range []struct {
		name string
		cfg  job.Data
		text []byte
	}{{"criteo", job.Data{Kind: job.KindCriteo}, text}, {"csv", testCSV(), table.Bytes()},
		{"quoted-csv", testCSV(), quoted.Bytes()}} {
		b.Run(c.name+"/lines-only", func(b *testing.B) { limit(b, c.text) })
		b.Run(c.name+"/in-order", func(b *testing.B) {
			read(b, c.cfg, c.text, len(c.text),
				func(f format, in *input.Input) (*batch.Batch,
					error) {
					return readSequentially(f, in, &droppedRows{})
				})
		})
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/workers-%d", c.name, workers), func(b *testing.B) {
				read(b, c.cfg, c.text, len(c.text), func(f format, in *input.Input) (*batch.Batch, error) {
					return f.readBlocks(in, &droppedRows{}, workers, decode.BlockBytes)
				})
			})
		}
	}
	packed := gunzipped(b, text[:len(text)/4])
	b.Run("criteo/gzip", func(b *testing.B) {
		read(b, job.Data{Kind: job.KindCriteo}, packed, len(text)/4,
			func(f format, in *input.Input) (*batch.Batch, error) { return f.readText(in, &droppedRows{}) })
	})
	b.Run("criteo/gunzip-only", func(b *testing.B) {
		b.SetBytes(int64(len(text) / 4))
		for b.Loop() {
			in, _ := input.New("file", bytes.NewReader(packed))
			io.Copy(io.Discard, in)
		}
	})
}
