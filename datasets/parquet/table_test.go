package parquet

import (
	"bytes"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// The first rows of a table, over its row groups, and all its values are passed on as texts: of a list the
// elements with | between them, or one by one.
func TestTextsOfATable(t *testing.T) {
	type row struct {
		User string   `parquet:"user"`
		Tags []string `parquet:"tags,list"`
	}
	var file bytes.Buffer
	w := parquet.NewGenericWriter[row](&file)
	for _, group := range [][]row{{{"ann", []string{"a", "b"}}, {"ben", nil}}, {{"cid", []string{"c"}}},
		{{"dan", nil}, {"eve", []string{"d", "e", "f"}}}} {
		_, err := w.Write(group)
		if err == nil {
			err = w.Flush() // which ends a row group
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	table, err := openTable(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil || table.Rows() != 5 {
		t.Fatalf("%+v, %v", table, err)
	}
	for number, want := range []struct{ texts, values []string }{
		{[]string{"ann", "ben", "cid", "dan", "eve"}, []string{"ann", "ben", "cid", "dan", "eve"}},
		{[]string{"a|b", "", "c", "", "d|e|f"}, []string{"a", "b", "c", "d", "e", "f"}},
	} {
		for rows := range 6 {
			texts := make([]string, rows)
			calls := 0
			err := table.Texts(number, rows, func(row int, text string) { texts[row], calls = text, calls+1 })
			if err != nil || !slices.Equal(texts, want.texts[:rows]) || calls != rows {
				t.Errorf("column %d, %d rows: %q in %d calls, %v", number, rows, texts, calls, err)
			}
		}
		var values []string
		err := table.Values(number, func(text string) { values = append(values, text) })
		if err != nil || !slices.Equal(values, want.values) {
			t.Errorf("column %d: %q, %v", number, values, err)
		}
	}
}
