package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tandem/datasets"
)

// What is wrong with any first file is said before it has come.
func TestAFileIsNotWaitedForInVain(t *testing.T) {
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "results"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	for want, args := range map[string][]string{
		"--epochs: not with": {"--epochs", "3"}, "--mode: ": {"--mode", "sinc"},
		"in one mode": {"--mode", "sync,hybrid"}, "--wire: ": {"--wire", "fp8"},
		"--complete: ": {"--complete", "soon"}, "is not empty": {"--out", full},
		"interrupted; nothing was written": nil,
	} {
		p := &program{stdout: io.Discard, stderr: io.Discard, now: time.Now}
		c := p.command()
		c.SetArgs(append(args, "--follow", t.TempDir()))
		if err := c.ExecuteContext(ended); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want %s", args, err, want)
		}
	}
}

// A line that cannot be written, as on a full disk, leaves nothing behind and is no end of others.
func TestLinesAfterOneThatCannotBeWritten(t *testing.T) {
	name := filepath.Join(t.TempDir(), progressName)
	full, err := os.Create(name + ".full")
	if err != nil {
		t.Fatal(err)
	}
	full.Close() // writing fails
	c := &course{out: full}
	if c.write([]string{"1"}) == nil {
		t.Error("a line was written to a file that is closed")
	}
	if c.out, err = os.Create(name); err != nil {
		t.Fatal(err)
	}
	defer c.out.Close()
	for _, field := range []string{"2", "3"} {
		if err := c.write([]string{field}); err != nil {
			t.Error(err)
		}
	}
	if text, err := os.ReadFile(name); string(text) != "2\n3\n" || err != nil {
		t.Errorf("%q, error %v", text, err)
	}
}

// Of an earlier progress.csv, a last line without an end is left out. Any other that is wrong is an error.
func TestEarlierProgress(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "0,a": "",
		"0,a\n1,b\n": "record on line 2: wrong number of fields",
		"0,a.csv,now,1,clicked,0,8,0.5,0.6,0.1,0.1\n": `first_step 0: a line that is none of progress.csv: ` +
			`the job has no label "clicked"`,
	} {
		c := &course{stream: new(datasets.Stream), earlier: filepath.Join(t.TempDir(), progressName)}
		err := os.WriteFile(c.earlier, []byte(strings.Join(c.header(), ",")+"\n"+text), 0o644)
		if err == nil {
			c.out, err = os.Create(c.earlier + ".new")
		}
		if err != nil {
			t.Fatal(err)
		}
		defer c.out.Close()
		if err := c.begin(1); err == nil && want != "" || err != nil && (want == "" ||
			!strings.HasSuffix(err.Error(), want)) {
			t.Errorf("%q: error %v, want %s", text, err, want)
		}
	}
}
