package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tandem/algo/job"
	"tandem/runtime/checkpoint"
	"tandem/runtime/metrics"
)

// place moves the model in a folder to another, where it becomes a checkpoint.
func place(t *testing.T, from, to string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

// A server of the folder of a mode changes to every newer checkpoint, without an error or a wrong answer
// while requests are under way. It keeps its model when the newer one is damaged or has another schema.
func TestReload(t *testing.T) {
	mode := filepath.Join(t.TempDir(), "hybrid")
	table, one := saveWith(t, func(j *job.Job) { j.Training.GlobalBatch = 300 })
	_, two := saveWith(t, func(j *job.Job) { j.Training.GlobalBatch = 150 })
	_, other := saveWith(t, func(j *job.Job) { j.Training.GlobalBatch, j.Data.CSV.Numeric = 60, nil })
	_, damaged := saveWith(t, func(j *job.Job) { j.Training.GlobalBatch = 30 })
	want := [][]float32{expected(t, table, one), expected(t, table, two)}
	place(t, one, checkpoint.StepFolder(filepath.Join(mode, "checkpoints"), 1))

	folder, _, err := checkpoint.NewestModel(mode)
	if err != nil {
		t.Fatal(err)
	}
	s := newTestService(t, folder)
	var log bytes.Buffer
	find := func() (string, *checkpoint.Manifest, error) { return checkpoint.NewestModel(mode) }
	f := &follower{service: s, find: find, log: &log}
	f.poll(time.Now())
	if log.Len() > 0 {
		t.Errorf("the same model again: %s", &log)
	}

	var stop atomic.Bool
	var clients sync.WaitGroup
	var seen [2]atomic.Int64
	users, tags, prices := columns(t, table)
	q := asRaw(inferRequest(users[:40], tags[:40], prices[:40]))
	for range 4 {
		clients.Go(func() {
			for !stop.Load() {
				inputs, err := tensorsOf(q)
				if err != nil {
					t.Error(err)
				}
				a, err := s.infer(t.Context(), &request{model: "tandem", inputs: inputs})
				which := slices.IndexFunc(want, func(w []float32) bool {
					return err == nil && slices.Equal(a.predictions, w[:40])
				})
				if which < 0 {
					t.Errorf("answer %v, error %v", a, err)
					return
				}
				seen[which].Add(1)
			}
		})
	}
	wait := func(which int) {
		for now := seen[which].Load(); seen[which].Load() < now+10 && !t.Failed(); {
		}
	}
	wait(0)
	place(t, two, checkpoint.StepFolder(filepath.Join(mode, "checkpoints"), 2))
	f.poll(time.Now())
	wait(1)
	stop.Store(true)
	clients.Wait()

	place(t, other, checkpoint.StepFolder(filepath.Join(mode, "checkpoints"), 4))
	f.poll(time.Now())
	f.poll(time.Now())
	place(t, damaged, filepath.Join(mode, "model"))
	name := filepath.Join(mode, "model", checkpoint.RowsFile(0, 2))
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
	f.poll(time.Now())
	f.poll(time.Now())
	var all metrics.Snapshot
	s.collect(&all)
	var text strings.Builder
	if err := all.Write(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"tandem_served_model_step 2\n", `reloads_total{result="loaded"} 1` + "\n",
		`reloads_total{result="refused"} 1` + "\n", `reloads_total{result="failed"} 1` + "\n"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %s in\n%s", want, &text)
		}
	}
	if got := strings.Count(log.String(), "\n"); got != 3 {
		t.Errorf("%d lines, want 3:\n%s", got, &log)
	}
	for _, want := range []string{"checkpoints/2 of step 2 replaces that of step 1\n",
		"newer model is refused, step 2 is still served: ", `another schema: label "clicked"`,
		"newer model cannot be loaded", "checksum differs"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("no %q in\n%s", want, &log)
		}
	}
}
