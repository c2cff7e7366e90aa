package wire

import (
	"encoding/hex"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// The bytes of a frame of each type of payload are written down: a change that
// moves one needs another Version. Rewritten by -rewrite.
func TestBytesAreThoseOfTheVersion(t *testing.T) {
	frames := seeds(t)
	shown := map[string]bool{}
	datadriven.RunTest(t, "testdata/frames.txt", func(t *testing.T, d *datadriven.TestData) string {
		frame, known := frames[d.Input]
		if !known || d.Cmd != "encode" {
			t.Fatalf("%s: no frame is called %q", d.Cmd, d.Input)
		}
		shown[d.Input] = true
		return hex.Dump(frame)
	})
	for _, c := range codecs {
		if !shown[c.name] {
			t.Errorf("no frame of %s is written down", c.name)
		}
	}
}
