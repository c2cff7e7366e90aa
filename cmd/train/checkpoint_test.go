package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/internal/cli"
	"tandem/runtime/checkpoint"
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

// Models that are trained to their end outlive an interruption of what comes after them.
func TestTrainedModelsOutliveAnInterruption(t *testing.T) {
	p := &program{stdout: io.Discard, stderr: io.Discard}
	out := filepath.Join(t.TempDir(), "out")
	folder, err := cli.NewFolder(out)
	if err != nil {
		t.Fatal(err)
	}
	manifest := filepath.Join("sync", "model", checkpoint.ManifestFile)
	err = errors.Join(os.MkdirAll(filepath.Join(folder.Path(), filepath.Dir(manifest)), 0o755),
		os.WriteFile(filepath.Join(folder.Path(), manifest), nil, 0o644))
	if err != nil {
		t.Fatal(err)
	}
	err = p.rescue(folder, job.AdultIncome(), &checkpoints{mode: "sync"}, errors.New("interrupted"))
	var hinted *cli.Error
	if !errors.As(err, &hinted) || !strings.Contains(hinted.Hint, "trained to the end: sync;") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(out, manifest)); err != nil {
		t.Error(err)
	}
}

func TestTheNextFolderIsFree(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"live", "live-2", "x", "x-9", "y", "y-1"} {
		if err := os.Mkdir(filepath.Join(folder, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"live": "live-3", "live-2": "live-3", "x-8/": "x-10",
		"a-1": "a-1-2", "y-1": "y-1-2", "b-c": "b-c-2", "2026-11": "2026-11-2"} {
		if got := nextFolder(folder + "/" + name); got != filepath.Join(folder, want) {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
