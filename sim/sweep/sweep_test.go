package sweep

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseAxis(t *testing.T) {
	for text, want := range map[string]string{
		"mode=sync,hybrid":         "sync hybrid",
		"gpus=8..64*2":             "8 16 32 64",
		"gpus=3..5":                "3 4 5",
		"gpus=10..35+10,64":        "10 20 30 64",
		"gpus=7..7":                "7",
		"network=25,100,400Gbps":   "25Gbps 100Gbps 400Gbps",
		"network=3GB/s,4,5Gbps":    "3GB/s 4Gbps 5Gbps",
		"network.latency=0.5,10us": "0.5us 10us",
		"precision=fp32,half":      "fp32 half",
		"preset=./a.yaml,dgx-h100": "./a.yaml dgx-h100",
	} {
		a, err := ParseAxis(text)
		if got := strings.Join(a.Values, " "); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"gpus": "want NAME=VALUES", "=3": "want NAME=VALUES", "gpus=": "want NAME=VALUES",
		"gpus=8,,9": "a value is empty", "gpus=60..2": "60..2 is empty: want 2..60",
		"gpus=1..60+0": "does not end", "gpus=0..60*2": "does not end", "gpus=1..60*1": "does not end",
		"gpus=1..1000000": "has too many values; want at most 10000", "gpus=8,7..9": "8 is there twice",
		"gpus=1..99999999999999999999": "has too large a number",
	} {
		if _, err := ParseAxis(text); !errors.Is(err, ErrAxis) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", text, err, want)
		}
	}
}

func TestGrid(t *testing.T) {
	a, b := Axis{"a", []string{"1", "2"}}, Axis{"b", []string{"x", "y", "z"}}
	points, err := Grid([]Axis{a, b})
	if err != nil || len(points) != 6 || strings.Join(points[1], "") != "1y" ||
		strings.Join(points[5], "") != "2z" {
		t.Errorf("%v, %v", points, err)
	}
	many := Axis{"m", make([]string, 5001)}
	for _, axes := range [][]Axis{nil, {a, a}, {a, many}} {
		if _, err := Grid(axes); !errors.Is(err, ErrAxis) {
			t.Errorf("%d axes: %v", len(axes), err)
		}
	}
}

func inputsOf(values []string) string { return "of " + strings.Join(values, "") }

// rowOf is what is known of a point.
func rowOf(values []string) *Row {
	r := &Row{Values: values, Inputs: inputsOf(values), Throughput: 1e7 / 3, Low: 1.5, High: 2e300,
		PerHour: 0.1, PerGiga: 7, StepMillis: 1e-9, Bound: `a "wire", long`, BoundShare: 0.25}
	if values[0] == "2" {
		r = &Row{Values: values, Inputs: inputsOf(values), Refusal: "does not\nfit, it says"}
	}
	return r
}

// A complete file has the same bytes in any order of its points and wherever the sweep was stopped,
// also within a line; and no point is known twice.
func TestAFileIsContinuedAtAnyByte(t *testing.T) {
	axes := []Axis{{"a", []string{"1", "2", "3"}}, {"b", []string{"x", "y"}}}
	name := filepath.Join(t.TempDir(), "sweep.csv")
	r := rand.New(rand.NewPCG(1, 1))
	var whole string
	for stops := 0; stops < 300; stops++ {
		f, err := Open(name, axes, inputsOf)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(name); err != nil || info.Mode().Perm()&0o133 != 0 {
			t.Fatalf("a table that others can write, or anyone execute: %v, error %v", info, err)
		}
		left := f.Left()
		r.Shuffle(len(left), func(i, j int) { left[i], left[j] = left[j], left[i] })
		some := len(left)
		if whole != "" { // the first is not stopped
			some = r.IntN(some + 1)
		}
		for _, values := range left[:some] {
			if err := f.Append(rowOf(values)); err != nil {
				t.Fatal(err)
			}
		}
		complete := some == len(left)
		if complete {
			err = f.Close()
		} else {
			err = f.out.Close()
		}
		text, failed := os.ReadFile(name)
		if err := errors.Join(err, failed); err != nil {
			t.Fatal(err)
		}
		if whole == "" {
			whole = string(text)
		}
		if complete && string(text) != whole {
			t.Fatalf("after %d stops:\n%s\nwithout:\n%s", stops, text, whole)
		}
		if have := len(axes[0].Values)*len(axes[1].Values) - len(left) + some; bytes.Count(text,
			[]byte("\n")) !=
			have+1 {
			t.Fatalf("%d points are known of\n%s", have, text)
		}
		cut := text[:len(text)-r.IntN(min(len(text), 90))] // where a write was stopped
		if err := os.WriteFile(name, cut, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if lines := strings.Split(whole, "\n"); len(lines) != 8 || !strings.HasPrefix(lines[4], "2,y,of 2y,,,") {
		t.Errorf("%s", whole)
	}
}

// Rows are read as they were written.
func TestRowsAreKept(t *testing.T) {
	axes := []Axis{{"a", []string{"1", "2"}}}
	name := filepath.Join(t.TempDir(), "sweep.csv")
	f, err := Open(name, axes, inputsOf)
	if err != nil {
		t.Fatal(err)
	}
	for _, values := range f.Left() {
		if err := f.Append(rowOf(values)); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	f, err = Open(name, axes, inputsOf)
	if err != nil {
		t.Fatal(err)
	}
	rows := f.Rows()
	got, want := rows[0], rowOf([]string{"1"})
	if got.Throughput != want.Throughput || got.Low != want.Low ||
		got.High != want.High || got.PerHour != want.PerHour || got.PerGiga != want.PerGiga ||
		got.StepMillis != want.StepMillis || got.Bound != want.Bound || got.BoundShare != want.BoundShare ||
		rows[1].Refusal != "does not fit, it says" {
		t.Errorf("%+v", rows)
	}
	_, err = Open(name, axes, inputsOf)
	if err == nil || !strings.Contains(err.Error(), "another sweep is") {
		t.Errorf("two sweeps write one file: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// A file with anything else is refused, and stays as it is.
func TestOtherFilesAreRefused(t *testing.T) {
	axes := []Axis{{"a", []string{"1", "2"}}}
	header := "a," + strings.Join(results, ",") + "\n"
	for text, want := range map[string]string{
		"my notes":                              "its columns are not",
		"my notes\nand more":                    "its columns are not",
		"b," + strings.Join(results, ","):       "its columns are not",
		header + "3,of 3,1,,,,,,,,\n":           "line 2, 3, is no point of this sweep",
		header + "1,of 2,1,,,,,,,,\n":           "line 2, 1, is of other flags",
		header + "1,of 1,many,,,,,,,,\n":        "line 2",
		header + "1,of 1,1,,,,,,,,\n2,of 2\n":   "its columns are not",
		header + "1,of 1,1,,,,,,,,\n\"2,of 2\n": "its columns are not",
	} {
		name := filepath.Join(t.TempDir(), "file.csv")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open(name, axes, inputsOf)
		if !errors.Is(err, ErrFile) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", text, err, want)
		}
		if after, err := os.ReadFile(name); err != nil || string(after) != text {
			t.Errorf("%q became %q, %v", text, after, err)
		}
	}
}
