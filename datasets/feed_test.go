package datasets

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"tandem/algo/job"
	"tandem/algo/unit"
	"tandem/datasets/internal/input"
)

// piped returns the data of rows of standard input that are kept in a folder, in files of a number of rows.
func piped(folder string, rows int) job.Data {
	data := followed(folder)
	data.From, data.Block = job.FromInput, job.Block{Rows: rows, Time: unit.Hour / 10}
	return data
}

// mustFeed starts a feed of standard input.
func mustFeed(t *testing.T, data job.Data, in io.Reader, taken ...string) *Feed {
	t.Helper()
	f, err := StartFeed(t.Context(), data, "", in, taken)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Stop() })
	return f
}

// waitUntil waits for a condition.
func waitUntil(t *testing.T, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not within a minute")
		}
	}
}

// ended waits for the end of a feed and returns its error.
func ended(t *testing.T, f *Feed) (err error) {
	t.Helper()
	waitUntil(t, func() (over bool) { over, err = f.over(); return over })
	return err
}

// texts returns the files of a folder by name, without the lock.
func texts(t *testing.T, folder string) map[string]string {
	t.Helper()
	all := map[string]string{}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if e.Name() != ".lock" {
			all[e.Name()] = string(text)
		}
	}
	return all
}

// Standard input is cut into files of whole rows, each with the header of the first line, and named by the
// number of lines before. A line end within quotes ends no row, and no file.
func TestStandardInputIsCutIntoFiles(t *testing.T) {
	const header = "user,price,click\n"
	for name, c := range map[string]struct {
		text, header string
		want         map[string]string
	}{
		"rows": {header + "a,1,0\nb,2,1\nc,3,0\nd,4,1\ne,5,0\n", header, map[string]string{
			"000000000000.csv": "a,1,0\nb,2,1\n", "000000000002.csv": "c,3,0\nd,4,1\n",
			"000000000004.csv": "e,5,0\n"}},
		"quotes": {header + "a,1,0\n\"b\nc\",2,1\nd,3,0\n", header, map[string]string{
			"000000000000.csv": "a,1,0\n\"b\nc\",2,1\n", "000000000003.csv": "d,3,0\n"}},
		"a long row": {header + "\"b\nc\nd\",2,1\ne,3,0\n", header, map[string]string{
			"000000000000.csv": "\"b\nc\nd\",2,1\n", "000000000003.csv": "e,3,0\n"}},
		"carriage returns": {"\r\nuser;price;click\r\na;1;0\r\n", "user;price;click\r\n", map[string]string{
			"000000000000.csv": "a;1;0\r\n"}},
		"JSON": {"{\"a\":1}\n{\"a\":\"\\\"b\"}\n{\"a\":2}\n", "", map[string]string{
			"000000000000.jsonl": "{\"a\":1}\n{\"a\":\"\\\"b\"}\n", "000000000002.jsonl": "{\"a\":2}\n"}},
		"compressed": {gzipped(t, header+"a,1,0\n"), header, map[string]string{
			"000000000000.csv": "a,1,0\n"}},
		"a header":     {header, "", map[string]string{}},
		"nothing":      {"", "", map[string]string{}},
		"an empty end": {header + "a,1,0\n\n", header, map[string]string{"000000000000.csv": "a,1,0\n\n"}},
	} {
		folder := filepath.Join(t.TempDir(), "rows") // which the feed makes
		data := piped(folder, 2)
		data.CSV = nil // as before columns are inferred
		f := mustFeed(t, data, strings.NewReader(c.text))
		if err := ended(t, f); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		got := texts(t, folder)
		for file, rows := range c.want {
			if got[file] != c.header+rows {
				t.Errorf("%s: %s is %q, want %q", name, file, got[file], c.header+rows)
			}
		}
		if len(got) != len(c.want) {
			t.Errorf("%s: files %q, want %q", name, got, c.want)
		}
	}
}

// What is wrong with the input is named, after all rows before it were given to the stream.
func TestBadStandardInputIsNamed(t *testing.T) {
	const header, row = "user,price,click\n", "a,1,0\n"
	const within = "it has ended within a row"
	for name, c := range map[string]struct{ text, want string }{
		"torn": {header + row + row + row + "b,2", "standard input:5: " + within},
		"too long": {header + row + row + "\"" + strings.Repeat("x\n", input.RowBytesMax),
			"standard input:4: a row is"},
		"binary":    {"PK\x03\x04aa", "standard input: a zip archive"},
		"torn JSON": {`{"user":"a","price":1,"click":1}` + "\n{", "standard input:2: " + within},
		"torn gzip": {gzipped(t, header+row)[:30], "standard input: compressed data ends early"},
	} {
		f := mustFeed(t, piped(t.TempDir(), 2), strings.NewReader(c.text))
		if err := ended(t, f); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	folder := t.TempDir()
	f := mustFeed(t, piped(folder, 2), strings.NewReader(header+row+row+row+"b,2"))
	s, _, err := Follow(t.Context(), piped(folder, 2), "", "", f, func(time.Duration) {})
	if err != nil {
		t.Fatal(err)
	}
	mustBegin(t, s, followJob(4, 0))
	for step := range 2 {
		waitUntil(t, func() bool { rows, _, _ := mustNext(t, s, step); return rows != nil })
	}
	if _, _, _, err := s.Next(2); err == nil || !strings.Contains(err.Error(), "within a row") {
		t.Error(err)
	}
}

// A stream whose input has ended says so after its last row; without a row it does not begin.
func TestAStreamOfStandardInputEnds(t *testing.T) {
	folder := t.TempDir()
	data := piped(folder, 5)
	f := mustFeed(t, data, strings.NewReader(clicks(0, 12)))
	s, _, err := Follow(t.Context(), data, "", "", f, func(time.Duration) {})
	if err != nil {
		t.Fatal(err)
	}
	mustBegin(t, s, followJob(5, 0))
	var got []uint64
	for step := 0; ; {
		rows, _, end, err := s.Next(step)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if rows != nil {
			got, step = append(got, rows.Slots[0].IDs...), end
		}
	}
	if !slices.Equal(got, users(0, 12)) {
		t.Errorf("%d rows", len(got))
	}
	empty := piped(t.TempDir(), 5)
	f = mustFeed(t, empty, strings.NewReader("user,price,click\n"))
	_, _, err = Follow(t.Context(), empty, "", "", f, func(time.Duration) {})
	if !errors.Is(err, ErrNoRows) {
		t.Error(err)
	}
}

// Rows that wait for others become a file after the time of a block; the first ones wait longer.
func TestRowsOfStandardInputDoNotWaitForLong(t *testing.T) {
	folder := t.TempDir()
	data := piped(folder, 1000)
	data.Block.Time = 50 * unit.Millisecond
	out, in := io.Pipe()
	mustFeed(t, data, out)
	for n, least := range []time.Duration{500 * time.Millisecond, 50 * time.Millisecond} {
		begun := time.Now()
		if _, err := in.Write([]byte(clicks(n, n+1)[min(n, 1)*len("user,price,click\n"):])); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(folder, fmt.Sprintf("%012d.csv", n))
		waitUntil(t, func() bool { _, err := os.Stat(file); return err == nil })
		if took := time.Since(begun); took < least {
			t.Errorf("file %d came after %v, want at least %v", n, took, least)
		}
	}
}

// A program that is killed has left every row that it had received whole. The next one goes on after them,
// whether the producer begins with the header again or not. Files that were trained on and removed count.
func TestReceivedRowsOutliveAKill(t *testing.T) {
	for _, header := range []string{"user,price,click\n", ""} {
		folder := t.TempDir()
		out, in := io.Pipe()
		killed := mustFeed(t, piped(folder, 4), out)
		if _, err := in.Write([]byte(clicks(0, 11) + "11,")); err != nil {
			t.Fatal(err)
		}
		waitUntil(t, func() bool {
			killed.mu.Lock()
			defer killed.mu.Unlock()
			return len(killed.ahead) == 2
		})
		if err := killed.lock.Close(); err != nil { // as the end of the process does
			t.Fatal(err)
		}
		part, err := os.OpenFile(filepath.Join(folder, "000000000008.csv.part"), os.O_APPEND|os.O_WRONLY, 0)
		if err == nil {
			_, err = part.WriteString("11,1") // of a write that was cut off
		}
		if err == nil {
			err = os.Remove(filepath.Join(folder, "000000000000.csv"))
		}
		if err != nil {
			t.Fatal(err)
		}
		next := clicks(11, 14)[len("user,price,click\n"):]
		f := mustFeed(t, piped(folder, 4), strings.NewReader(header+next), "000000000000.csv",
			"000000000004.csv")
		if err := ended(t, f); err != nil || f.Received() != 11 {
			t.Errorf("%d rows received before, error %v", f.Received(), err)
		}
		want := map[string]string{"000000000004.csv": clicks(4, 8), "000000000008.csv": clicks(8, 12),
			"000000000012.csv": clicks(12, 14)}
		if got := texts(t, folder); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("files %q, want %q", got, want)
		}
		if len(f.ahead) != 2 {
			t.Errorf("%d files ahead, want 2", len(f.ahead))
		}
	}
}

// Where the input begins with other rows than before, JSON and not CSV, the file that was begun ends before.
func TestAnotherFormatBeginsAFile(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, "000000000000.csv.part", clicks(0, 2))
	rows := `{"user":"u2","price":2,"click":0}` + "\n" + `{"user":"u3","price":3,"click":1}` + "\n"
	if err := ended(t, mustFeed(t, piped(folder, 4), strings.NewReader(rows))); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"000000000000.csv": clicks(0, 2), "000000000002.jsonl": rows}
	if got := texts(t, folder); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("files %q, want %q", got, want)
	}
}

// The names of the files say which rows are in them, so rows that are gone are noticed: those that another
// training has used and removed.
func TestRowsThatAreGoneAreAnError(t *testing.T) {
	const gone = "are gone, as another training has used them"
	for name, c := range map[string]struct {
		there []string // of four rows each, but of two in a file that is being written
		taken []string
		want  string // in the error; "" for none
	}{
		"nothing":              {},
		"all are new":          {there: []string{"0", "4", "8.part"}},
		"all but the last":     {there: []string{"8", "12"}, taken: []string{"0", "4", "8"}},
		"a row that is taken":  {there: []string{"4", "8"}, taken: []string{"0", "4", "8"}},
		"a part that follows":  {there: []string{"8", "12.part"}, taken: []string{"0", "4", "8"}},
		"a new training":       {there: []string{"8", "12"}, want: "rows before number 9 " + gone},
		"a new training, part": {there: []string{"8.part"}, want: "rows before number 9 " + gone},
		"rows between":         {there: []string{"0", "8"}, want: "rows before number 9 " + gone},
		"a part after others":  {there: []string{"0", "8.part"}, taken: []string{"0"}, want: gone},
		"another went on":      {there: []string{"8"}, taken: []string{"0", "4"}, want: gone},
		"another removed all":  {taken: []string{"0", "4"}, want: "rows from 000000000004.csv on " + gone},
		"names that are none":  {there: []string{"-4"}, want: "none of the files"},
	} {
		folder, taken := t.TempDir(), []string{}
		file := func(name string) string {
			n, err := strconv.Atoi(strings.TrimSuffix(name, partName))
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprintf("%012d.csv", n)
		}
		for _, name := range c.there {
			n, _ := strconv.Atoi(strings.TrimSuffix(name, partName))
			rows := clicks(max(n, 0), max(n, 0)+4)
			if strings.HasSuffix(name, partName) {
				rows = clicks(n, n+2)
			}
			arrive(t, folder, file(name)+strings.TrimPrefix(name, strconv.Itoa(n)), rows)
		}
		for _, name := range c.taken {
			taken = append(taken, file(name))
		}
		f, err := StartFeed(t.Context(), piped(folder, 4), "", strings.NewReader(""), taken)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if err := f.Stop(); err != nil {
			t.Error(err)
		}
	}
}

// Any number of blocks without a row may come before the first one.
func TestBlocksWithoutRowsDoNotStopAStream(t *testing.T) {
	folder := t.TempDir()
	data := piped(folder, 1)
	const header = "user,price,click\n"
	text := header + strings.Repeat("\n", 3*aheadMost) + clicks(0, 3)[len(header):]
	f := mustFeed(t, data, strings.NewReader(text))
	s, _, err := Follow(t.Context(), data, "", "", f, func(waited time.Duration) {
		if waited > time.Minute {
			t.Fatal("it waits for the first row")
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.First(); got != filepath.Join(folder, fmt.Sprintf("%012d.csv", 3*aheadMost)) {
		t.Error("the first file is", got)
	}
}

// Where columns are known, an input with other columns, or in another order, is refused: its rows would stand
// below the names of others. A row that has the name of a column somewhere is one.
func TestAnotherHeaderIsNoRow(t *testing.T) {
	for begin, want := range map[string]string{
		"user,price,click\n":            "",
		"price,user,click\n":            "its columns are price,user,click, and those of the rows",
		"\"price\", user,click\r\n":     "those of the rows before user,price,click: give it the same",
		"user,price,age,click\n":        "its columns are user,price,age,click",
		"user,2,1\n":                    "",
		"click,2,1\nuser,price,click\n": "",
	} {
		folder := t.TempDir()
		before := mustFeed(t, piped(folder, 4), strings.NewReader(clicks(0, 4)))
		if err := errors.Join(ended(t, before), before.Stop()); err != nil {
			t.Fatal(err)
		}
		err := ended(t, mustFeed(t, piped(folder, 4), strings.NewReader(begin+"a,1,0\n")))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", begin, err, want)
		}
	}
}

// Rows are the same if they arrive in pieces, each a part of a line.
func TestStandardInputInPieces(t *testing.T) {
	whole, pieces := t.TempDir(), t.TempDir()
	for folder, in := range map[string]io.Reader{whole: strings.NewReader(clicks(0, 10)),
		pieces: iotest.OneByteReader(strings.NewReader(clicks(0, 10)))} {
		f := mustFeed(t, piped(folder, 4), in)
		if err := errors.Join(ended(t, f), f.Stop()); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := texts(t, pieces), texts(t, whole); !maps.Equal(got, want) || len(got) != 3 {
		t.Errorf("%q, want %q", got, want)
	}
}

// A source that is faster than the training waits, so that the disk does not fill.
func TestAFeedWaitsForTheTraining(t *testing.T) {
	folder := t.TempDir()
	data := piped(folder, 1)
	f := mustFeed(t, data, strings.NewReader(clicks(0, 30)))
	waitUntil(t, func() bool { f.mu.Lock(); defer f.mu.Unlock(); return len(f.ahead) == aheadMost })
	time.Sleep(20 * time.Millisecond)
	if n := len(texts(t, folder)); n != aheadMost {
		t.Errorf("%d files, want %d", n, aheadMost)
	}
	s, _, err := Follow(t.Context(), data, "", "", f, func(time.Duration) {})
	if err != nil {
		t.Fatal(err)
	}
	mustBegin(t, s, followJob(5, 0))
	waitUntil(t, func() bool { mustNext(t, s, s.Steps()-1); s.Next(s.Steps()); return s.Steps() == 30 })
	if err := s.Forget(7); err != nil {
		t.Fatal(err)
	}
	if got := texts(t, folder); len(got) != 23 || got["000000000006.csv"] != "" ||
		got["000000000007.csv"] == "" {
		t.Errorf("after 7 steps %d files are left", len(got))
	}
	if err := s.Forget(30); err != nil {
		t.Fatal(err)
	}
	if got := texts(t, folder); len(got) != 1 || got["000000000029.csv"] == "" {
		t.Errorf("after all steps there are %q", got)
	}
}

// A feed that is stopped while it waits for the training writes the rows that it has read.
func TestAStoppedFeedKeepsItsRows(t *testing.T) {
	folder := t.TempDir()
	f := mustFeed(t, piped(folder, 1), strings.NewReader(clicks(0, 30)))
	waitUntil(t, func() bool { f.mu.Lock(); defer f.mu.Unlock(); return len(f.ahead) == aheadMost })
	if err := f.Stop(); err != nil {
		t.Fatal(err)
	}
	got := 0
	for _, text := range texts(t, folder) {
		got += lines([]byte(text)) - 1
	}
	if got != 30 {
		t.Errorf("%d rows of 30", got)
	}
}

// A folder is for one feed, and for its files alone.
func TestFoldersOfFeeds(t *testing.T) {
	folder := t.TempDir()
	out, _ := io.Pipe()
	f := mustFeed(t, piped(folder, 4), out)
	if _, err := StartFeed(t.Context(), piped(folder, 4), "", out, nil); err == nil ||
		!strings.Contains(err.Error(), "another training brings rows") {
		t.Error(err)
	}
	if err := f.Stop(); err != nil {
		t.Error(err)
	}
	arrive(t, folder, "clicks.csv", clicks(0, 1))
	if _, err := StartFeed(t.Context(), piped(folder, 4), "", out, nil); err == nil ||
		!strings.Contains(err.Error(), "clicks.csv: it is none of the files") {
		t.Error(err)
	}
}
