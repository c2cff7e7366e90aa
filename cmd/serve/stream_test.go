package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"tandem/algo/exec"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/datasets"
	"tandem/runtime/checkpoint"
	"tandem/runtime/train"
)

// Rows that arrive in a folder are trained on, and change what is served, with the bits that the training
// had: file after file. The test prints how long that takes from when a file was renamed into the folder.
func TestRowsThatArriveAreServed(t *testing.T) {
	const files, rowsOfFile = 8, 60
	j := followedJob(t)
	table := j.Data.Path
	text, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	folder := t.TempDir()
	arrive := func(file int) {
		rows := lines[0] + strings.Join(lines[1+file*rowsOfFile:1+(file+1)*rowsOfFile], "")
		name := filepath.Join(folder, fmt.Sprintf("%d.csv", file))
		err := os.WriteFile(name+".tmp", []byte(rows), 0o644)
		if err == nil {
			err = os.Rename(name+".tmp", name)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	j.Data = job.Data{Kind: job.KindFollow, Path: folder, CSV: j.Data.CSV}
	j.Training.Shuffle, j.Training.Epochs = false, 1
	arrive(0)
	stream, data, err := datasets.Follow(t.Context(), j.Data, "", "", nil, func(time.Duration) {})
	if err == nil {
		err = stream.Begin(&j, filepath.Join(t.TempDir(), "stream.jsonl"))
	}
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	training := &followedTraining{job: j, data: data, source: stream, results: t.TempDir(),
		saver: checkpoint.Saver{Chain: checkpoint.Chain{FullEvery: 20}}}
	keep := func(b *batch.Batch, _ float64) error { training.rows = b; return nil }
	if err := datasets.ReadFeatures(j.Data, data.Scaling, table, keep); err != nil {
		t.Fatal(err)
	}
	var want sync.Map // predictions by version
	const steps = rowsOfFile / 4
	stop := make(chan struct{})
	var running sync.WaitGroup
	defer running.Wait()
	defer close(stop)
	running.Go(func() {
		_, err := train.Follow(t.Context(), j, stream, train.Options{SaveEvery: steps, Drain: stop,
			Save: func(step int, state exec.State) error {
				p, err := training.predict(state)
				if err != nil {
					return err
				}
				want.Store(strconv.Itoa(step), p)
				return training.save(step, state)
			}}, train.FollowOptions{})
		if err != nil {
			t.Error(err)
		}
	})
	users, tags, prices := columns(t, table)
	inputs, err := tensorsOf(asRaw(inferRequest(users[:50], tags[:50], prices[:50])))
	if err != nil {
		t.Fatal(err)
	}
	f := followerOf(t, training.results, io.Discard) // waits for the first model
	var delays []time.Duration
	for file := 1; file < files; file++ {
		arrived := time.Now()
		arrive(file)
		version := strconv.Itoa((file + 1) * steps)
		for !t.Failed() {
			f.poll(time.Now())
			a, err := f.service.infer(t.Context(), &request{model: "tandem", inputs: inputs})
			if err != nil {
				t.Fatal(err)
			}
			all, ok := want.Load(a.version)
			if !ok || !slices.Equal(a.predictions, all.([]float32)[:50]) {
				t.Fatalf("version %s: predictions that the training did not have", a.version)
			}
			if a.version == version {
				break
			}
			time.Sleep(time.Millisecond)
		}
		delays = append(delays, time.Since(arrived))
	}
	slices.Sort(delays)
	t.Logf("from a file that arrives to predictions by a model that was trained on it: median %v, worst %v",
		delays[len(delays)/2].Round(time.Millisecond), delays[len(delays)-1].Round(time.Millisecond))
}
