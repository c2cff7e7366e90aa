//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"tandem/runtime/checkpoint"
)

// lockedBuffer is what a program prints, for reading while it prints.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String returns what was written.
func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// object returns click number n as an object of JSON.
func object(n int) string {
	draw := rand.New(rand.NewPCG(uint64(n), 5))
	return fmt.Sprintf(`{"user":%d,"item":%d,"price":%.2f,"click":%d}`+"\n", draw.IntN(40), draw.IntN(15),
		10*draw.Float64(), draw.IntN(2))
}

// piping is the program, which trains on rows that a pipe brings.
type piping struct {
	*following
	said *lockedBuffer
	in   io.WriteCloser
}

// startPiping starts the program, whose results have a name.
func startPiping(t *testing.T, results string, args ...string) *piping {
	t.Helper()
	p := &piping{said: new(lockedBuffer)}
	p.following = &following{exec.Command("train", append(args, "--out", results)...), nil, results}
	p.Stdout, p.Stderr = p.said, p.said
	var err error
	if p.in, err = p.StdinPipe(); err == nil {
		err = p.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.end(os.Kill) })
	return p
}

// send sends the objects first to end−1.
func (p *piping) send(t *testing.T, first, end int) {
	t.Helper()
	for n := first; n < end; n++ {
		if _, err := io.WriteString(p.in, object(n)); err != nil {
			t.Fatalf("%v:\n%s", err, p.said)
		}
	}
}

var receivedBefore = regexp.MustCompile(`train: (\d+) rows of standard input came before`)

// A training that a pipe brings its rows, and that is killed while they come, has received every row that it
// says, and goes on with the next: it ends with the bits of one that was not killed. The end of the pipe ends
// it. Rows that a checkpoint has do not stay.
func TestAKilledPipeGoesOnWithItsBits(t *testing.T) {
	const rows, block, steps = 800, 200, 4 * 13 // of 16 rows, and one of 8 in each file
	place := t.TempDir()
	finish := func(p *piping) *checkpoint.Checkpoint {
		t.Helper()
		if err := errors.Join(p.in.Close(), p.Wait()); err != nil {
			t.Fatalf("%v:\n%s", err, p.said)
		}
		said := strings.Join(strings.Fields(p.said.String()), " ")
		if !strings.Contains(said, fmt.Sprint(rows, " rows predicted before")) {
			t.Errorf("not all rows in\n%s", p.said)
		}
		newest, _, err := checkpoint.OpenNewest(filepath.Join(p.results, "sync", checkpointFolder))
		if err != nil || newest == nil {
			t.Fatalf("no checkpoint: %v\n%s", err, p.said)
		}
		t.Cleanup(func() { _ = newest.Close() })
		return newest
	}
	begin := func(name string) *piping {
		return startPiping(t, filepath.Join(place, name), "--follow", "-", "--block-rows", fmt.Sprint(block),
			"--block-time", "1h", "--mode", "sync", "--seed", "3", "--checkpoint-every", "4 steps",
			"--keep-checkpoints", "1")
	}
	p := begin("0")
	sent := 0
	for number := 1; number < rows/block; number++ {
		p.send(t, sent, number*block+50)
		p.until(t, "a checkpoint", func() bool { return p.saved(number * 10) })
		spool := filepath.Join(place, "0.rows", fmt.Sprintf("%012d.jsonl.part", number*block))
		p.until(t, "the last rows", func() bool {
			text, _ := os.ReadFile(spool)
			return bytes.Count(text, []byte{'\n'}) == 50
		})
		_ = p.end(os.Kill)
		before := p.results
		p = startPiping(t, filepath.Join(place, fmt.Sprint(number)), "--resume", before, "--checkpoint-every",
			"4 steps", "--keep-checkpoints", "1")
		p.until(t, "to go on", func() bool { return receivedBefore.MatchString(p.said.String()) })
		n, err := strconv.Atoi(receivedBefore.FindStringSubmatch(p.said.String())[1])
		if err != nil || n != number*block+50 {
			t.Fatalf("%d rows were received, want %d, error %v", n, number*block+50, err)
		}
		sent = n
	}
	p.send(t, sent, rows)
	killed := finish(p)
	undisturbed := begin("undisturbed")
	undisturbed.send(t, 0, rows)
	want := finish(undisturbed)
	difference, err := checkpoint.Compare(killed, want)
	if err != nil || !difference.None() || want.Step != steps || killed.Step != steps {
		t.Errorf("after %d and %d steps: %+v, error %v", killed.Step, want.Step, difference, err)
	}
	left, err := filepath.Glob(filepath.Join(place, "undisturbed.rows", "*.jsonl"))
	if err != nil || len(left) != 1 {
		t.Errorf("there are still the rows %q", left)
	}
	refused := func(p *piping, want string) {
		t.Helper()
		_ = p.in.Close() // it may have ended
		err := p.Wait()
		said := strings.Join(strings.Fields(p.said.String()), " ")
		if err == nil || !strings.Contains(said, want) {
			t.Errorf("error %v, want %q in\n%s", err, want, p.said)
		}
	}
	first := filepath.Join(place, "0")
	refused(begin("0"), "--out "+first+": a training with these results was killed, and has checkpoints "+
		"train: hint: continue it with --resume "+first+" --out "+first+"-2 --checkpoint-every '4 steps' "+
		"--keep-checkpoints 1, or move ")
	refused(startPiping(t, first+"-again", "--resume", first), "are gone, as another training has used them")
}
