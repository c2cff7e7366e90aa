package datasets

import (
	"errors"
	"strings"
	"testing"

	"tandem/datasets/internal/input"
)

// A message is one line, also where it has several: what is no JSON is a bad row of its own.
func TestAMessageIsALine(t *testing.T) {
	for value, want := range map[string]string{
		`{"a":1}`: "{\"a\":1}\n", " {\"a\":1}\r\n": "{\"a\":1}\n", "{\"a\":\n1}": "{\"a\":1}\n",
		"": "", "\n ": "",
		"{\"a\":\n1": "{\"a\": 1\n", "a\rb": "a b\n", `{"a":"\n"}`: `{"a":"\n"}` + "\n",
	} {
		if got, err := lineOf([]byte(value)); err != nil || string(got) != want {
			t.Errorf("%q is %q, want %q, error %v", value, got, want, err)
		}
	}
	var tooLong *input.RowTooLong
	if _, err := lineOf([]byte(strings.Repeat("x", input.RowBytesMax))); !errors.As(err, &tooLong) {
		t.Error(err)
	}
}
