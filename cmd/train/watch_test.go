package main

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tandem/algo/exec/evaluation"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/runtime/train"
)

// steps is a source of a number of steps of ten samples, of which only the numbers are asked for.
type steps struct {
	batch.Source
	count int
}

func (s steps) Steps() int      { return s.count }
func (s steps) Samples(int) int { return 10 }

// Away from a terminal there is a line every five seconds with loss, AUC, speed and time left; curve.csv and
// the event file have what is known before the training has ended.
func TestWatcherWritesAsItGoes(t *testing.T) {
	var stderr bytes.Buffer
	now := time.Unix(1000, 0)
	p := &program{stderr: &stderr, now: func() time.Time { return now }}
	j := job.AdultIncome()
	j.Training.EvaluateEvery.Steps = 5
	folder := t.TempDir()
	w, err := p.newWatcher(&report{job: j, followed: map[string]followed{}}, folder, 2, flags{seeds: 1})
	if err != nil {
		t.Fatal(err)
	}
	var o train.Options
	watched, err := w.begin("sync", j, steps{count: 20}, &o)
	if err != nil {
		t.Fatal(err)
	}
	for step := range 10 {
		o.Backend.Trained(5, 10)
		if step == 5 {
			o.Evaluated(evaluation.Point{Step: 5, Samples: 50, Seconds: 5,
				Scores: evaluation.Scores{AUC: 0.75, LogLoss: 0.5}})
		}
		now = now.Add(time.Second)
		o.Progress(step+1, 20)
	}
	want := "train: sync (1 of 2): step 5 of 20, loss 0.5000, 10 samples/s, 35 s left\n" +
		"train: sync (1 of 2): step 10 of 20, loss 0.5000, AUC 0.7500, 10 samples/s, 30 s left\n"
	if stderr.String() != want {
		t.Errorf("lines %q, want %q", stderr.String(), want)
	}
	curve, err := os.ReadFile(filepath.Join(folder, "curve.csv"))
	if want := "sync,1,5,50,5.000000,0.75,0.5\n"; err != nil || !strings.HasSuffix(string(curve), want) {
		t.Errorf("curve.csv %q, error %v; want a line %q", curve, err, want)
	}
	files, err := filepath.Glob(filepath.Join(folder, eventFolder, "sync", "*tfevents*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("event files %q, error %v", files, err)
	}
	before := countRecords(t, files[0])
	if err := watched.end(&train.Result{Steps: 20}); err != nil {
		t.Error(err)
	}
	// The version, ten points and an evaluation; the last second's point is written at the end.
	if after := countRecords(t, files[0]); before < 11 || after != 12 {
		t.Errorf("%d events before the end and %d after it, want at least 11 and 12", before, after)
	}
	if err := w.close(); err != nil {
		t.Error(err)
	}
}

// The time left of a training that continues follows from what this command has trained.
func TestTimeLeftOfAResumedTraining(t *testing.T) {
	var stderr bytes.Buffer
	now := time.Unix(1000, 0)
	p := &program{stderr: &stderr, now: func() time.Time { return now }}
	w, err := p.newWatcher(&report{job: job.AdultIncome(), followed: map[string]followed{}}, t.TempDir(), 1,
		flags{seeds: 1, checkpoints: new(checkpoints)})
	if err != nil {
		t.Fatal(err)
	}
	o := train.Options{Begin: train.Begin{Step: 10}}
	if _, err := w.begin("sync", job.AdultIncome(), steps{count: 20}, &o); err != nil {
		t.Fatal(err)
	}
	now = now.Add(6 * time.Second)
	o.Progress(13, 20)
	if want := "train: sync: step 13 of 20, 5 samples/s, 14 s left\n"; stderr.String() != want {
		t.Errorf("%q, want %q", stderr.String(), want)
	}
	if err := w.close(); err != nil {
		t.Error(err)
	}
}

// countRecords returns the number of whole records of an event file.
func countRecords(t *testing.T, name string) int {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for len(text) >= 12 {
		length := 16 + int(binary.LittleEndian.Uint64(text))
		if len(text) < length {
			break
		}
		text, count = text[length:], count+1
	}
	return count
}
