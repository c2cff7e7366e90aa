package datasets

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/algo/job"
)

func TestKindsAreGuessed(t *testing.T) {
	ijcai := "Label," + strings.Join(append(numbered("I", 13), numbered("C", 8)...), ",")
	for _, c := range []struct {
		line    string
		want    job.DataKind
		columns []string // the first of them
	}{
		{strings.TrimSpace(criteoLine("1", "", "")), job.KindCriteo, []string{"label", "I1"}},
		{strings.TrimSpace(avazuHeader), job.KindAvazu, []string{"id", "click"}},
		{strings.TrimSpace(avazuShortHeader), job.KindAvazu, []string{"click", "hour"}},
		{taobaoRow(nil), job.KindTaobaoAd, []string{"cont_btag"}},
		{strings.Join(taobaoColumns(), ","), job.KindTaobaoAd, []string{"cont_btag"}},
		{ijcai, job.KindIJCAI18, []string{"Label", "I1"}},
		{"196\t242\t3\t881250949", job.KindMovieLens, []string{"user", "item", "rating"}},
		{"1-6041-6042-6043,3186-3711", job.KindMovieLensImplicit, []string{"user", "gender"}},
		{"-1 3:1 17:1", job.KindLibFM, []string{"label", "field1", "field2"}},
		{"user;item;click", job.KindCSV, []string{"user", "item", "click"}},
		{"lonely", "", nil},
	} {
		h := &Head{Lines: []string{c.line}}
		kind, ok := h.Kind()
		if kind != c.want || ok != (c.want != "") {
			t.Errorf("%.40q: guessed %q, want %q", c.line, kind, c.want)
			continue
		}
		if !ok {
			continue
		}
		columns, _ := h.Table(kind, &job.Table{Delimiter: h.Delimiter()})
		if len(columns) < len(c.columns) || !slices.Equal(columns[:len(c.columns)], c.columns) {
			t.Errorf("%s: columns %q, want %q first", kind, columns, c.columns)
		}
	}
}

// Rows are returned as they are written, right or wrong, without headers.
func TestTableOfHead(t *testing.T) {
	for _, c := range []struct {
		kind  job.DataKind
		lines []string
		want  []string // of the first row
		rows  int
	}{
		{job.KindCSV, []string{"a,b", "1,\"x,y\"", "2"}, []string{"1", "x,y"}, 2},
		{job.KindTaobaoAd, []string{strings.Join(taobaoColumns(), ","), taobaoRow(nil)},
			strings.Split(taobaoRow(nil), ","), 1},
		{job.KindTaobaoAd, []string{taobaoRow(nil)}, strings.Split(taobaoRow(nil), ","), 1},
		{job.KindMovieLensImplicit, []string{"1-2-3-4,5-6", "bad"}, []string{"1", "2", "3", "4", "5", "6"},
			2},
		{job.KindLibFM, []string{"1 2:1", "0 3:1 4:1"}, []string{"1", "2:1"}, 2},
	} {
		_, rows := (&Head{Lines: c.lines}).Table(c.kind, &job.Table{})
		if len(rows) != c.rows || !slices.Equal(rows[0], c.want) {
			t.Errorf("%s: rows %q, want %d, the first %q", c.kind, rows, c.rows, c.want)
		}
	}
}

func TestReadHead(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "plain", "a\n\nb\nc\n")
	write(t, dir, "gzip", gzipped(t, "a\r\nb\nc\n"))
	write(t, dir, "zstd", zstandard(t, "\xef\xbb\xbfa\nb\nc\n"))
	write(t, dir, "empty", "\n")
	before, _ := os.ReadDir("/proc/self/fd") // where the system has it
	for name, want := range map[string]string{"plain": "none", "gzip": "gzip", "zstd": "zstd"} {
		h, err := ReadHead(filepath.Join(dir, name), 2)
		if err != nil || h.Compression != want || !slices.Equal(h.Lines, []string{"a", "b"}) {
			t.Errorf("%s: %+v, error %v", name, h, err)
		}
	}
	if after, _ := os.ReadDir("/proc/self/fd"); len(after) != len(before) {
		t.Errorf("%d files were open before, and %d after", len(before), len(after))
	}
	if _, err := ReadHead(filepath.Join(dir, "empty"), 2); !errors.Is(err, ErrNoRows) {
		t.Errorf("empty: %v", err)
	}
	if _, err := ReadHead(filepath.Join(dir, "none"), 2); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
}

// Lines that begin with # above the header are comments, one as well as several. A first line that has the
// delimiters of the line below it is the header.
func TestCommentsAboveAHeader(t *testing.T) {
	for text, want := range map[string]string{
		"# made today\na,b\n1,2": "#", "# made\n# today\na,b\n1,2": "#", "#a,b\n1,2": "", "a,b\n1,2": "",
		"a,b\n#1,2": "", "# only": "",
	} {
		if got := (&Head{Lines: strings.Split(text, "\n")}).Comment(); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// ReadRows neither splits nor standardises, and returns the rows that it skipped.
func TestReadRows(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "t.csv", csvHeader+"ann,30,x,1,\nbob,old,x,1,\ncid,50,x|y,0,\n")
	cfg := testCSV()
	cfg.OnBadRow.Skip = 1
	rows, err := ReadRows(cfg, filepath.Join(dir, "t.csv"))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(rows.Batch.Dense, []float32{30, 50}) || rows.DroppedRows != 1 ||
		len(rows.BadRows) != 1 || rows.BadRows[0].Value != "old" {
		t.Errorf("%+v", rows)
	}
	write(t, dir, "bad.csv", csvHeader+"bob,old,x,1,\n")
	_, err = ReadRows(cfg, filepath.Join(dir, "bad.csv"))
	if !errors.Is(err, ErrNoRows) || !strings.Contains(err.Error(), "bad.csv:2: bad row: column age") {
		t.Errorf("only bad rows: %v", err)
	}
	if _, err := ReadRows(job.Data{Kind: job.KindAdultIncome}, "x"); err == nil ||
		!strings.Contains(err.Error(), "reads no files") {
		t.Errorf("a kind without files: %v", err)
	}
}
