package datasets

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/datasets/internal/decode"
	"tandem/datasets/internal/input"
)

// endless is text with a beginning and an endlessly repeated piece. It counts the bytes read.
type endless struct {
	begin, piece string
	read         int
}

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		at := e.read + i
		if at < len(e.begin) {
			p[i] = e.begin[at]
		} else {
			p[i] = e.piece[(at-len(e.begin))%len(e.piece)]
		}
	}
	e.read += len(p)
	return len(p), nil
}

// A row without end is refused with file and line, after a few times the bytes of the longest row.
func TestRowsWithoutEnd(t *testing.T) {
	commented := testCSV()
	commented.CSV.Comment = "#"
	const good = "ann,30,x|y,1,\n"
	for name, c := range map[string]struct {
		cfg  job.Data
		text endless
		line int
	}{
		"criteo": {job.Data{Kind: job.KindCriteo}, endless{piece: "x"}, 1},
		"libfm":  {job.Data{Kind: job.KindLibFM}, endless{begin: "1 3:1\n\n", piece: "4:1 "}, 3},
		"movielens": {job.Data{Kind: job.KindMovieLens}, endless{begin: "1\t7\t4\t881250949\n", piece: "9"},
			2},
		"implicit":    {job.Data{Kind: job.KindMovieLensImplicit}, endless{piece: "1-"}, 1},
		"csv header":  {testCSV(), endless{piece: "a,"}, 1},
		"csv comment": {commented, endless{begin: "\n", piece: "#"}, 2},
		"csv row":     {testCSV(), endless{begin: csvHeader + good, piece: "x"}, 3},
		"csv fields":  {testCSV(), endless{begin: csvHeader, piece: ","}, 2},
		"csv quote":   {testCSV(), endless{begin: csvHeader + good + "\"", piece: "x\n"}, 3},
		"csv quotes":  {testCSV(), endless{begin: csvHeader + "\"", piece: "\"\"\n"}, 2},
		"csv rows, far down": {testCSV(), endless{begin: csvHeader + strings.Repeat(good, 100_000),
			piece: "x"}, 100_002},
	} {
		in, err := input.New("file", &c.text)
		if err != nil {
			t.Fatal(err)
		}
		_, err = formatOf(&c.cfg).readText(in, &droppedRows{policy: job.OnBadRow{Skip: 10}})
		want := fmt.Sprintf("file:%d: a row is longer than 1048575 bytes: check that the file has the "+
			"given kind", c.line)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", name, err, want)
		}
		if most := len(c.text.begin) + 4*input.RowBytesMax; c.text.read > most {
			t.Errorf("%s: %d bytes were read, want at most %d", name, c.text.read, most)
		}
	}
}

// Rows of a table have the same limit as lines, quoted or not, wherever blocks end.
func TestLongRowsOfTables(t *testing.T) {
	for _, quoted := range []bool{false, true} {
		for _, n := range []int{input.RowBytesMax - 1, input.RowBytesMax} {
			for _, end := range []string{"", "\n"} {
				row := strings.Repeat("x", n-len(",30,x|y,1,")) + ",30,x|y,1,"
				if quoted {
					row = "\"" + strings.Repeat("x\n", n/2)[:n-len("\"\",30,x|y,1,")] + "\",30,x|y,1,"
				}
				text := csvHeader + "ann,30,x|y,1,\n\n" + row + end
				for _, size := range []int{1000, decode.BlockBytes, 4 * decode.BlockBytes} {
					cfg := testCSV()
					in, err := input.New("file", strings.NewReader(text))
					if err != nil {
						t.Fatal(err)
					}
					b, err := formatOf(&cfg).readBlocks(in, &droppedRows{}, 2, size)
					switch {
					case n < input.RowBytesMax && (err != nil || b.Samples != 2):
						t.Errorf("quoted %t, %d bytes, blocks of %d: %v", quoted, n, size, err)
					case n == input.RowBytesMax && (err == nil ||
						!strings.HasPrefix(err.Error(), "file:4: a row is longer than 1048575")):
						t.Errorf("quoted %t, %d bytes, blocks of %d: %v, want an error of line 4", quoted, n,
							size, err)
					}
				}
			}
		}
	}
}

// Attribute files have the same limit.
func TestLongLineOfAnAttributeFile(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "u.user"),
		[]byte("1|2|3|4|5\n"+strings.Repeat("x", input.RowBytesMax)), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := newMovieLensDecoder(filepath.Join(folder, "u.data"))
	if err == nil || !strings.Contains(err.Error(), "u.user:2: a row is longer than 1048575 bytes") {
		t.Errorf("error %v", err)
	}
}
