package infer

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/encoding/unicode"

	"tandem/algo/job"
	"tandem/datasets"
)

// A table in UTF-16 is the table in UTF-8, in memory and streamed.
func TestTablesInUTF16(t *testing.T) {
	var text strings.Builder
	text.WriteString("user,größe,label\n")
	for i := range 300 {
		fmt.Fprintf(&text, "Zoë%d 😀,%d.5,%s\n", i%9, i%40, clicked(i))
	}
	plain := file(t, text.String())
	want, err := CSV(plain, Options{})
	if err != nil {
		t.Fatal(err)
	}
	wanted, err := datasets.ReadRows(want.Data, plain)
	if err != nil {
		t.Fatal(err)
	}
	for _, order := range []unicode.Endianness{unicode.LittleEndian, unicode.BigEndian} {
		for _, mark := range []unicode.BOMPolicy{unicode.UseBOM, unicode.IgnoreBOM} {
			wide, err := unicode.UTF16(order, mark).NewEncoder().String(text.String())
			if err != nil {
				t.Fatal(err)
			}
			path := file(t, wide)
			got, err := CSV(path, Options{})
			if err != nil {
				t.Fatalf("order %v, mark %v: %v", order, mark, err)
			}
			rows, err := datasets.ReadRows(got.Data, path)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(rows.Batch.Slots[0].IDs, wanted.Batch.Slots[0].IDs) ||
				!slices.Equal(rows.Batch.Dense, wanted.Batch.Dense) {
				t.Errorf("order %v, mark %v: other rows", order, mark)
			}
			split := job.Split{How: job.SplitLast, Test: 0.5}
			_, set, _, err := Open(Request{File: path, Split: split, Memory: 20_000})
			if err != nil || set.Rows == nil {
				t.Errorf("order %v, mark %v: streamed: %v", order, mark, err)
			}
		}
	}
}

// A header in another encoding is named, with the remedy.
func TestHeaderInAnotherEncoding(t *testing.T) {
	wide := func(text string) (all string) {
		for _, letter := range text {
			all += string(letter) + "\x00\x00\x00"
		}
		return all
	}
	for text, want := range map[string][]string{
		"user,gr\xf6\xdfe,label\nu,1.5,1\nv,2.5,0\n": {"its first line is not UTF-8",
			"iconv -f LATIN1 -t UTF-8"},
		"\xff\xfe\x00\x00" + wide("user,size,label\nu,1.5,1\nv,2.5,0\n"): {"its first line has zero bytes",
			"iconv -f UTF-32 -t UTF-8"},
	} {
		_, err := CSV(file(t, text), Options{})
		if err == nil || !strings.Contains(err.Error(), want[0]) || !strings.Contains(err.Error(), want[1]) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}
