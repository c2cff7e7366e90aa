//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tandem/internal/cli"
	"tandem/runtime/checkpoint"
)

// arrive renames a file of 200 clicks into a folder.
func arrive(t *testing.T, folder string, number int) {
	t.Helper()
	draw := rand.New(rand.NewPCG(uint64(number), 5))
	text := "user,item,price,click\n"
	for range 200 {
		text += fmt.Sprintf("%d,%d,%.2f,%d\n", draw.IntN(40), draw.IntN(15), 10*draw.Float64(), draw.IntN(2))
	}
	arriveText(t, folder, fmt.Sprintf("%d.csv", number), text)
}

// arriveText renames a file into a folder.
func arriveText(t *testing.T, folder, name, text string) {
	t.Helper()
	name = filepath.Join(folder, name)
	err := os.WriteFile(name+".tmp", []byte(text), 0o644)
	if err == nil {
		err = os.Rename(name+".tmp", name)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// following is the program, which follows a folder.
type following struct {
	*exec.Cmd
	printed *bytes.Buffer
	results string
}

// startFollowing starts the program, whose results have a name.
func startFollowing(t *testing.T, results string, args ...string) *following {
	t.Helper()
	f := &following{exec.Command("train", append(args, "--out", results)...), new(bytes.Buffer), results}
	f.Stderr, f.Stdout = f.printed, f.printed
	if err := f.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.end(os.Kill) })
	return f
}

// end sends a signal and waits for the end of the program.
func (f *following) end(signal os.Signal) error {
	_ = f.Process.Signal(signal) // it may have ended
	return f.Wait()
}

// trainedLines returns the lines of progress.csv, or nil while there are none.
func (f *following) trainedLines() []string {
	for _, folder := range append(cli.Unfinished(f.results), f.results) {
		if text, err := os.ReadFile(filepath.Join(folder, progressName)); err == nil {
			return strings.Split(strings.TrimSpace(string(text)), "\n")
		}
	}
	return nil
}

// saved reports whether there is a checkpoint after a number of steps or more.
func (f *following) saved(steps int) bool {
	for _, folder := range append(cli.Unfinished(f.results), f.results) {
		step, ok, err := checkpoint.Newest(filepath.Join(folder, "sync", checkpointFolder))
		if err == nil && ok && step >= steps {
			return true
		}
	}
	return false
}

// until waits for a condition.
func (f *following) until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			f.end(os.Kill)
			t.Fatalf("%s: not within two minutes; the program printed\n%s", what, f.printed)
		}
	}
}

// A training that follows a folder and is killed, and continues, while files arrive, has the bits of one that
// was not killed, and has predicted every file once. Ctrl-C ends it without an error.
func TestAKilledStreamGoesOnWithItsBits(t *testing.T) {
	const files, steps = 4, 4 * 13 // of 16 rows, and one of 8 in each file
	clicks, place := t.TempDir(), t.TempDir()
	finish := func(f *following) *checkpoint.Checkpoint {
		t.Helper()
		f.until(t, "all steps", func() bool { return f.saved(steps) })
		if err := f.end(syscall.SIGINT); err != nil {
			t.Fatalf("%v:\n%s", err, f.printed)
		}
		for _, want := range []string{"800 rows predicted before", "continue with: go run ./cmd/train " +
			"--resume " + f.results, "--checkpoint-every '4 steps'", "--out " + nextFolder(f.results),
			"the model is " + filepath.Join(f.results, "sync", checkpointFolder, fmt.Sprint(steps))} {
			if !strings.Contains(strings.Join(strings.Fields(f.printed.String()), " "), want) {
				t.Errorf("no %q in\n%s", want, f.printed)
			}
		}
		newest, _, err := checkpoint.OpenNewest(filepath.Join(f.results, "sync", checkpointFolder))
		if err != nil || newest == nil {
			t.Fatalf("no checkpoint: %v\n%s", err, f.printed)
		}
		t.Cleanup(func() { _ = newest.Close() })
		if page, err := os.ReadFile(filepath.Join(f.results, pageName)); err != nil ||
			!bytes.Contains(page, []byte("<svg")) {
			t.Errorf("the page has no figure, error %v", err)
		}
		return newest
	}
	arrive(t, clicks, 0)
	begin := []string{"--follow", clicks, "--mode", "sync", "--seed", "3", "--checkpoint-every", "4 steps"}
	f := startFollowing(t, filepath.Join(place, "0"), begin...)
	for number := 1; number < files; number++ {
		f.until(t, "a checkpoint", func() bool { return f.saved(number * 10) })
		_ = f.end(os.Kill)
		before := f.results
		arrive(t, clicks, number)
		f = startFollowing(t, filepath.Join(place, fmt.Sprint(number)), "--resume", before,
			"--checkpoint-every", "4 steps")
	}
	killed := finish(f)
	if lines := f.trainedLines(); len(lines) != 1+files {
		t.Errorf("%s has %q", progressName, lines)
	}
	want := finish(startFollowing(t, filepath.Join(place, "undisturbed"), begin...))
	difference, err := checkpoint.Compare(killed, want)
	if err != nil || !difference.None() || want.Step != steps || killed.Step != steps {
		t.Errorf("after %d and %d steps: %+v, error %v", killed.Step, want.Step, difference, err)
	}
}

// A training that continues, and is interrupted before there are rows, leaves nothing, and names the results
// that it has begun with.
func TestAStreamThatContinuesWithoutRows(t *testing.T) {
	clicks, place := t.TempDir(), t.TempDir()
	arrive(t, clicks, 0)
	first := startFollowing(t, filepath.Join(place, "first"), "--follow", clicks, "--mode", "sync",
		"--checkpoint-every", "13 steps")
	first.until(t, "all steps", func() bool { return first.saved(13) })
	if err := first.end(syscall.SIGINT); err != nil {
		t.Fatalf("%v:\n%s", err, first.printed)
	}
	second := startFollowing(t, filepath.Join(place, "second"), "--resume", first.results)
	second.until(t, "to wait", func() bool { return len(second.trainedLines()) == 2 })
	if err := second.end(syscall.SIGINT); err != nil {
		t.Fatalf("%v:\n%s", err, second.printed)
	}
	_, err := os.Stat(second.results)
	want := "continue with: go run ./cmd/train --resume " + first.results
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(second.printed.String(), want) ||
		!strings.Contains(second.printed.String(), "no rows were trained on") ||
		!strings.Contains(second.printed.String(), "continues after 13 steps with the next row of "+clicks) {
		t.Errorf("%v, no %q in\n%s", err, want, second.printed)
	}
}

// A training whose only checkpoint cannot be written does not end as if it were saved.
func TestAStreamThatCannotBeSaved(t *testing.T) {
	clicks := t.TempDir()
	arrive(t, clicks, 0)
	f := startFollowing(t, filepath.Join(t.TempDir(), "results"), "--follow", clicks, "--mode", "sync")
	f.until(t, "a file", func() bool { return len(f.trainedLines()) == 2 })
	for _, folder := range cli.Unfinished(f.results) {
		if err := os.WriteFile(filepath.Join(folder, "sync"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var exit *exec.ExitError
	if err := f.end(syscall.SIGINT); !errors.As(err, &exit) || exit.ExitCode() != 1 ||
		strings.Contains(f.printed.String(), "continue with: ") {
		t.Errorf("%v:\n%s", err, f.printed)
	}
}

// A bad row ends a training with its file and line, after what was trained is saved. It continues without the
// row where --on-bad-row allows that.
func TestAStreamWithABadRow(t *testing.T) {
	clicks, place := t.TempDir(), t.TempDir()
	arrive(t, clicks, 0)
	f := startFollowing(t, filepath.Join(place, "1"), "--follow", clicks, "--mode", "sync")
	f.until(t, "a file", func() bool { return len(f.trainedLines()) == 2 })
	arriveText(t, clicks, "1.csv", "user,item,price,click\n1,2\n1,2,3,1\n")
	var exit *exec.ExitError
	if err := f.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 1 ||
		!strings.Contains(f.printed.String(), "1.csv:2: bad row") ||
		!strings.Contains(f.printed.String(), "has the model after 13 steps") ||
		!strings.Contains(f.printed.String(), "--on-bad-row skip:100") {
		t.Fatalf("%v:\n%s", err, f.printed)
	}
	second := startFollowing(t, filepath.Join(place, "2"), "--resume", f.results, "--on-bad-row", "skip:1")
	second.until(t, "the other row", func() bool { return len(second.trainedLines()) == 3 })
	if err := second.end(syscall.SIGINT); err != nil ||
		!strings.Contains(second.printed.String(), "1 bad row left out") {
		t.Errorf("%v:\n%s", err, second.printed)
	}
}

// A torn line ends a training with its file and line, after what was trained is saved.
func TestAStreamWithATornLine(t *testing.T) {
	clicks := t.TempDir()
	arrive(t, clicks, 0)
	f := startFollowing(t, filepath.Join(t.TempDir(), "results"), "--follow", clicks, "--mode", "sync")
	f.until(t, "a file", func() bool { return len(f.trainedLines()) == 2 })
	arriveText(t, clicks, "1.csv", "user,item,price,click\n1,2")
	var exit *exec.ExitError
	if err := f.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 1 ||
		!strings.Contains(f.printed.String(), "1.csv:2: the line is torn") ||
		!strings.Contains(f.printed.String(), "continue with: ") || !f.saved(1) {
		t.Errorf("%v:\n%s", err, f.printed)
	}
}
