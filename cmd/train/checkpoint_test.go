package main

import (
	"errors"
	"io"
	"path/filepath"
	"testing"

	"tandem/algo/job"
	"tandem/internal/cli"
)

// What is printed continues the mode that was interrupted, and no other one.
func TestHintOfAnInterruptedTraining(t *testing.T) {
	p := &program{stdout: io.Discard, stderr: io.Discard}
	for mode, want := range map[string]string{
		"sync":   "continue with: go run ./cmd/train --resume ",
		"hybrid": "hybrid has no checkpoint yet: train it again, with --mode hybrid",
	} {
		folder, err := cli.NewFolder(filepath.Join(t.TempDir(), "out"))
		if err != nil {
			t.Fatal(err)
		}
		c := &checkpoints{last: "sync/checkpoints/5", lastMode: "sync", mode: mode}
		var hinted *cli.Error
		err = p.rescue(folder, job.AdultIncome(), c, errors.New("interrupted"))
		if !errors.As(err, &hinted) || len(hinted.Hint) < len(want) || hinted.Hint[:len(want)] != want {
			t.Errorf("%s: %v", mode, err)
		}
	}
}
