package wire

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// The bytes of a frame of each type of payload are recorded: a change that moves a byte needs another
// Version. -rewrite rewrites them.
func TestGoldenBytes(t *testing.T) {
	frames := seeds(t)
	shown := map[string]bool{}
	datadriven.RunTest(t, "testdata/frames.txt", func(t *testing.T, d *datadriven.TestData) string {
		frame, known := frames[d.Input]
		if !known || d.Cmd != "encode" {
			t.Fatalf("%s: no frame is called %q", d.Cmd, d.Input)
		}
		shown[d.Input] = true
		return described(frame)
	})
	for _, c := range codecs {
		if !shown[c.name] {
			t.Errorf("no frame of %s is written down", c.name)
		}
	}
}

// described returns a frame in hexadecimal, with the names of the fields of its header.
func described(frame []byte) string {
	var b strings.Builder
	at := 0
	for _, f := range []struct {
		name string
		size int
	}{
		{"version", 1}, {"code of the payload", 1}, {"kind", 1}, {"from: role", 1}, {"to: role", 1},
		{"zero", 3},
		{"length", 4}, {"from: index", 4}, {"to: index", 4}, {"rank", 4}, {"step", 4}, {"floor", 4},
		{"samples", 4},
		{"samples of the step", 4}, {"bytes", 8}, {"run", 16}, {"incarnation", 4}, {"view", 4},
	} {
		fmt.Fprintf(&b, "%2d %-20s % x\n", at, f.name, frame[at:at+f.size])
		at += f.size
	}
	b.WriteString(hex.Dump(frame[at:]))
	return b.String()
}
