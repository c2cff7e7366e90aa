package datasets

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"tandem/datasets/internal/input"
)

// A message is one line, also where it has several: what is no JSON is a bad row of its own.
func TestAMessageIsALine(t *testing.T) {
	for value, want := range map[string]string{
		`{"a":1}`: "{\"a\":1}\n", " {\"a\":1}\r\n": "{\"a\":1}\n", "{\"a\":\n1}": "{\"a\":1}\n",
		"": "", "\n ": "",
		"{\"a\":\n1": "{\"a\": 1\n", "a\rb": "a b\n", `{"a":"\n"}`: `{"a":"\n"}` + "\n",
	} {
		if got := lineOf([]byte(value)); string(got) != want {
			t.Errorf("%q is %q, want %q", value, got, want)
		}
	}
	long := lineOf([]byte(`{"a":"` + strings.Repeat("x", input.RowBytesMax) + `"}`))
	if len(long) > 200 || json.Valid(long) {
		t.Errorf("a message that is too long is %q", long)
	}
}

// A folder with rows that a pipe has left is not one for a topic, nor the other way round: nothing is
// removed.
func TestFoldersOfPipesAndTopics(t *testing.T) {
	folder := t.TempDir()
	arrive(t, folder, "000000000000.jsonl.part", "{\"user\":1}\n")
	data := piped(folder, 4)
	data.From = "kafka://127.0.0.1:1/clicks"
	if _, err := StartFeed(t.Context(), data, "", nil, nil); err == nil ||
		!strings.Contains(err.Error(), "it has rows, and none of a topic") {
		t.Error(err)
	}
	if got := texts(t, folder); len(got) != 1 {
		t.Errorf("files %q", got)
	}
	arrive(t, folder, positionName, "{}")
	if _, err := StartFeed(t.Context(), piped(folder, 4), "", strings.NewReader(""), nil); err == nil ||
		!strings.Contains(err.Error(), "its rows are those of a topic") {
		t.Error(err)
	}
}

// A row that is no object is left out wherever it is, also where a file begins with it.
func TestABadRowBeginsAFile(t *testing.T) {
	for _, bad := range []string{"{}", "null", "[1]", "bad", "{"} {
		folder := t.TempDir()
		data := piped(folder, 2)
		data.OnBadRow.Skip = 5
		row := `{"user":"a","price":1,"click":1}` + "\n"
		f := mustFeed(t, data, strings.NewReader(row+row+bad+"\n"+row))
		s, _, err := Follow(t.Context(), data, "", "", f, func(time.Duration) {})
		if err != nil {
			t.Fatal(err)
		}
		mustBegin(t, s, followJob(4, 0))
		rows := 0
		for step := 0; ; {
			block, _, end, err := s.Next(step)
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", bad, err)
			}
			if block != nil {
				rows, step = rows+block.Samples, end
			}
		}
		if rows != 3 || s.Dropped() != 1 {
			t.Errorf("%s: %d rows, %d left out, want 3 and 1", bad, rows, s.Dropped())
		}
	}
}
