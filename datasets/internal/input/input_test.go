package input

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// A small file cannot fill the memory with what it decompresses to.
func TestExpansionIsBounded(t *testing.T) {
	open := func(rows int) error {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		io.WriteString(w, strings.Repeat(strings.Repeat("1", 60_000)+"\n", rows))
		w.Close()
		path := filepath.Join(t.TempDir(), "rows.gz")
		if err := os.WriteFile(path, packed.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		in, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		reader := NewLineReader(in)
		for lines := 0; ; lines++ {
			if _, err := reader.NextLine(); err == io.EOF {
				if lines != rows {
					t.Errorf("%d lines, want %d", lines, rows)
				}
				return nil
			} else if err != nil {
				return err
			}
		}
	}
	if err := open(1000); err != nil { // 60 MB
		t.Error(err)
	}
	if err := open(5000); err == nil || !strings.Contains(err.Error(), "decompresses to more than 500") {
		t.Errorf("300 MB of one line: error %v", err)
	}
}

// compressed returns a text, compressed by gzip.
func compressed(text string) string {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write([]byte(text)) // a buffer takes all
	_ = w.Close()
	return out.String()
}

// The hint for spreadsheets is no line of the table, and the lines keep their numbers.
func TestHintForSpreadsheets(t *testing.T) {
	for text, want := range map[string]string{
		"sep=;\na;b\n": "\na;b\n", "\xef\xbb\xbfsep=\t\r\na\tb\n": "\r\na\tb\n",
		"sep=user,a\n": "sep=user,a\n", "sep=;": "sep=;",
	} {
		in, err := New("x", strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(in); err != nil || string(got) != want {
			t.Errorf("%q is read as %q, want %q, error %v", text, got, want, err)
		}
	}
}

// A file that is no text of rows is named for what it is.
func TestForeignFiles(t *testing.T) {
	const jsonLines = "x: JSON, but not an object in each line: write each row as one, in a line of its own"
	const web = "x: a page of the web, or XML: download the table itself, or save it as CSV"
	for content, want := range map[string]string{
		"PK\x03\x04\x14\x00":      "x: a zip archive, or a spreadsheet: unpack it, or save it as CSV",
		"BZh91AY":                 "x: compressed with bzip2: decompress it, or use gzip or zstd",
		"\xfd7zXZ\x00\x00":        "x: compressed with xz: decompress it, or use gzip or zstd",
		`{"user": "u1"}`:          "",
		compressed(`{"user": 1}`): "",
		`[{"user": "u1"}]`:        jsonLines,
		"[\n  {\n":                jsonLines,
		"{\n  \"user\"":           jsonLines,
		"<!DOCTYPE html>\n":       web,
		"<html><body>a,b":         web,
		"<?xml version=":          web,
		"PAR1\x15\x04":            "x: a Parquet file: describe its columns in a job file, with kind parquet",
		"PK,BZh,user\n1,2,3\n":    "",
		"PK\n":                    "",
		"[user],{user}\n1,2,3\n":  "",
	} {
		_, err := New("x", strings.NewReader(content))
		if got := ""; err != nil {
			got = err.Error()
			if got != want {
				t.Errorf("%q: error %q, want %q", content, got, want)
			}
		} else if want != "" {
			t.Errorf("%q: no error, want %q", content, want)
		}
	}
}

// A zstd file that requests more memory than zstd --long is refused.
func TestZstdWindowIsBounded(t *testing.T) {
	decompress := func(window int) error {
		var file bytes.Buffer
		w, err := zstd.NewWriter(&file, zstd.WithWindowSize(window))
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, strings.Repeat("1 3:1\n", 1<<17))
		w.Close()
		in, err := New("file", &file)
		if err != nil {
			return err
		}
		defer in.Close()
		_, err = io.Copy(io.Discard, in)
		return err
	}
	if err := decompress(zstdWindowMax); err != nil {
		t.Errorf("a window of %d bytes: %v", zstdWindowMax, err)
	}
	if err := decompress(2 * zstdWindowMax); err == nil || !strings.Contains(err.Error(), "window") {
		t.Errorf("a window of %d bytes: error %v", 2*zstdWindowMax, err)
	}
}

// A pipe is not read to find out what it is, because those who read its text would miss the beginning.
func TestPipesAreReadOnce(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	path := fmt.Sprintf("/dev/fd/%d", r.Fd())
	if _, err := os.Stat(path); err != nil {
		t.Skip("pipes have no names here:", err)
	}
	io.WriteString(w, "PAR1\x15")
	w.Close()
	if is, err := IsParquet(path); is || err != nil {
		t.Errorf("a Parquet file %t, error %v", is, err)
	}
	if text, err := io.ReadAll(r); string(text) != "PAR1\x15" {
		t.Errorf("%q is left, error %v", text, err)
	}
}

// JSON lines are known by their first byte that is no blank, however many come before, also in UTF-16.
func TestJSONLinesAreRecognised(t *testing.T) {
	blanks := strings.Repeat(" \r\n", 1000)
	for text, want := range map[string]bool{
		`{"a":1}`: true, blanks + `{` + blanks[:1] + `"a":1}`: true,
		"\xef\xbb\xbf{\"a\":1}": true, "{\t\"a": true,
		"{}": false, "a,b\n": false, "": false, blanks: false, "{\n": false,
		strings.Repeat("\n", 1<<17) + `{"a"`:                                            false,
		"\xff\xfe" + strings.Join(strings.Split(blanks+`{"a":1}`, ""), "\x00") + "\x00": true,
		"\xff\xfea\x00,\x00b\x00":                                                       false,
	} {
		in, err := New("x", strings.NewReader(text))
		if err == nil && in.JSON != want {
			t.Errorf("%.20q: JSON %t, want %t", text, in.JSON, want)
		}
		if err != nil && text != "{\n" {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}

// A URL that this program cannot open is an error that says what can: another build, where there is one.
func TestURLsThatCannotBeOpened(t *testing.T) {
	for url, want := range map[string]string{
		"s3://clicks/a.csv": "s3://clicks/a.csv: this program opens no s3:// URLs: build it with -tags s3",
		"gs://clicks/a.csv": `gs://clicks/a.csv: URLs of scheme "gs" cannot be opened`,
	} {
		if _, err := OpenFile(url); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// Parquet files are recognised by their first bytes, which leaves no file open.
func TestParquetIsRecognised(t *testing.T) {
	before, err := os.ReadDir("/proc/self/fd")
	if err != nil && runtime.GOOS == "linux" {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		"PAR1\x15\x04": true, "PAR1,2\n": false, "PAR1\n": false, "PAR1\t2": false, "PAR1": false, "": false,
		"PAR2\x15\x04": false,
	} {
		path := filepath.Join(t.TempDir(), "rows")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got, err := IsParquet(path); err != nil || got != want {
			t.Errorf("%q: %t, %v", text, got, err)
		}
	}
	if after, err := os.ReadDir("/proc/self/fd"); err == nil && len(after) != len(before) {
		t.Errorf("%d files were open before, and %d after", len(before), len(after))
	}
}

// A topic is opened by what was registered for its scheme, with the offsets to begin at. Without, the error
// names the build that reads it.
func TestTopicsAreOpenedByScheme(t *testing.T) {
	const url = "log://broker/clicks"
	want := "this program reads no log:// topics: build it with -tags log, as in go run -tags log ./cmd/train"
	if _, err := OpenTopic(t.Context(), url, nil); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	opened := ""
	RegisterTopics("log", func(_ context.Context, url string, next map[int32]int64) (Topic, error) {
		opened = fmt.Sprint(url, next)
		return nil, nil
	})
	defer delete(topics, "log")
	if _, err := OpenTopic(t.Context(), url, map[int32]int64{3: 4}); err != nil ||
		opened != url+"map[3:4]" {
		t.Errorf("%q is opened, %v", opened, err)
	}
}
