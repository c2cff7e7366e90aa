package main

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"tandem/algo/exec/evaluation"
	"tandem/algo/histogram"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/protocol/pace"
	"tandem/internal/cli"
	"tandem/internal/tfevents"
	"tandem/runtime/memory"
	"tandem/runtime/train"
	"tandem/runtime/watch"
)

// watcher shows the trainings of a command while they run, one after another, and writes what they report:
// on a terminal a bar, elsewhere a line every few seconds; curve.csv; event files for TensorBoard.
type watcher struct {
	p           *program
	folder      string // of the results
	checkpoints *checkpoints
	all         int // trainings
	seeds       int // of each mode
	begun       int
	before      float64 // trainings that earlier commands have trained: a share of one that is resumed
	start       time.Time
	bar         *cli.Progress
	stop        func()     // serving metrics
	curve       *curveFile // nil without evaluations during training
	// followed receives what the first seed of each variant has shown, for the report.
	followed map[string]followed

	mu        sync.Mutex // of what follows, and of the training in progress
	shown     time.Time  // when bar or line were last written
	trainings []*watched // begun
	arena     *memory.Arena
}

// followed is what a training has shown while it ran.
type followed struct {
	points []watch.Point
	stages pace.StageTimes // medians
}

// stageSteps is the number of steps over which stages are measured, so that memory does not grow with steps.
const stageSteps = 500

// eventFolder is the folder within the results that TensorBoard reads.
const eventFolder = "tensorboard"

// The times between two updates of the bar, two lines, and two flushes of event files.
const (
	barInterval   = 100 * time.Millisecond
	lineInterval  = 5 * time.Second
	flushInterval = time.Second
)

// newWatcher returns the watcher of the trainings of a report, in a number of variants and seeds, whose
// results are in a folder.
func (p *program) newWatcher(r *report, folder string, variants int, f flags) (*watcher, error) {
	w := &watcher{p: p, followed: r.followed, folder: folder, checkpoints: f.checkpoints,
		all: variants * f.seeds, seeds: f.seeds, start: p.now(), shown: p.now(),
		bar: cli.NewProgress(p.stderr, p.terminal)}
	w.bar.Narrow = true
	var err error
	if w.stop, err = w.serveMetrics(f.metrics); err != nil {
		return nil, err
	}
	if !r.job.Training.EvaluateEvery.Any() {
		return w, nil
	}
	w.curve, err = newCurveFile(filepath.Join(folder, curveName), r.job.Model.Loss)
	return w, err
}

// close removes the bar and closes the files.
func (w *watcher) close() error {
	w.stop()
	w.bar.Close()
	if w.curve == nil {
		return nil
	}
	return w.curve.close()
}

// watched is one training.
type watched struct {
	*watcher
	*watch.Training
	name        string // in the report
	loss        string // a model.Spec's
	seed        uint64
	number      int              // of the training, from 1
	latest      evaluation.Point // if there is an evaluation
	evaluations int
	earlier     []evaluation.Point // of the training that is resumed
	pause       *train.Pause       // the latest, to save the model; nil: none
	ended       bool
	seconds     float64 // that the training took, once it has ended
	stages      *pace.StageMeter
	events      *tfevents.Writer
	flushed     time.Time
	err         error // the first of writing files
}

// begin follows the next training through its options.
func (w *watcher) begin(name string, j job.Job, source batch.Source, o *train.Options) (*watched, error) {
	w.begun++
	t := &watched{watcher: w, Training: watch.New(source.Steps(), source.Samples, w.p.now), name: name,
		loss: j.Model.Loss, seed: j.Training.Seed, number: w.begun, flushed: w.p.now()}
	t.Begin(o.Begin.Step)
	folder := fileName(name)
	if w.seeds > 1 {
		folder += fmt.Sprintf("-seed-%d", t.seed)
	}
	var err error
	t.events, err = tfevents.Create(filepath.Join(w.folder, eventFolder, folder), w.p.now())
	first := int32(max(source.Steps()/4, o.Begin.Step)) // without the beginning, when caches are cold
	t.stages = pace.NewStageMeter(first, min(first+stageSteps, int32(source.Steps())))
	o.Progress, o.Evaluated, o.Backend.Trained, o.Observer = t.progress, t.evaluated, t.Trained, t.stages
	o.Paused = t.paused
	w.mu.Lock()
	defer w.mu.Unlock()
	w.before += float64(o.Begin.Step) / float64(source.Steps())
	w.trainings = append(w.trainings, t)
	w.arena, _ = o.Backend.Arena.(*memory.Arena)
	if o.Begin.Step > 0 {
		t.earlier = w.checkpoints.earlier
		for _, p := range t.earlier {
			t.point(p)
		}
	}
	return t, err
}

// progress receives the number of trained steps.
func (t *watched) progress(done, _ int) {
	p, due := t.Step(done)
	t.mu.Lock()
	defer t.mu.Unlock()
	if due {
		values := []tfevents.Scalar{{Tag: "samples_per_s", Value: p.SamplesPerSecond}}
		if !math.IsNaN(p.Loss) {
			values = append(values, tfevents.Scalar{Tag: "loss", Value: p.Loss})
		}
		t.write(t.events.Scalars(t.p.now(), p.Step, values...))
	}
	t.show()
}

// later returns a point on the clock of the training that is resumed, which stood still between the latest
// point of that training and the beginning of this one.
func (t *watched) later(p evaluation.Point) evaluation.Point {
	if n := len(t.earlier); n > 0 {
		p.Seconds += t.earlier[n-1].Seconds
	}
	return p
}

// whole returns a curve with the points of the training that is resumed.
func (t *watched) whole(curve []evaluation.Point) []evaluation.Point {
	all := slices.Clone(t.earlier)
	for _, p := range curve {
		all = append(all, t.later(p))
	}
	return all
}

// evaluated receives a point of the curve.
func (t *watched) evaluated(p evaluation.Point) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.point(t.later(p))
}

// point writes a point of the curve. The caller holds mu.
func (t *watched) point(p evaluation.Point) {
	t.latest, t.evaluations = p, t.evaluations+1
	score, lost := scoreTags(t.loss)
	t.write(t.events.Scalars(t.p.now(), p.Step, tfevents.Scalar{Tag: score, Value: p.Score()},
		tfevents.Scalar{Tag: lost, Value: p.Loss()}))
	if t.curve != nil {
		t.write(t.curve.add(t.name, t.seed, p))
	}
}

// paused receives a pause to save the model.
func (t *watched) paused(p train.Pause) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pause = &p
}

// write keeps the first error of writing a file, and flushes the events now and then.
func (t *watched) write(err error) {
	if now := t.p.now(); now.Sub(t.flushed) >= flushInterval {
		t.flushed = now
		err = errors.Join(err, t.events.Flush())
	}
	if t.err == nil {
		t.err = err
	}
}

// end receives the result, or nil if the training has failed.
func (t *watched) end(result *train.Result) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended, t.seconds, t.arena = true, t.Now().Seconds, nil
	if result != nil {
		result.Curve = t.whole(result.Curve)
		for _, h := range []struct {
			tag    string
			counts *histogram.Histogram
		}{
			{"staleness/own", &result.Staleness.Own}, {"staleness/cross", &result.Staleness.Cross},
			{"staleness/dense", &result.Staleness.Dense}, {"staleness/missed_updates", &result.MissedUpdates},
		} {
			t.write(t.events.Histogram(t.p.now(), t.Now().StepsInAll, h.tag, h.counts.All()))
		}
	}
	if _, earlier := t.followed[t.name]; !earlier && result != nil {
		t.followed[t.name] = followed{t.Points(), t.stages.Medians()}
	}
	t.write(t.events.Close())
	return t.err
}

// show updates the bar or, where there is no terminal, writes a line from time to time.
func (t *watched) show() {
	interval := lineInterval
	if t.p.terminal {
		interval = barInterval
	}
	now := t.p.now()
	if now.Sub(t.shown) < interval {
		return
	}
	t.shown = now
	n := t.Now()
	done, all := float64(t.number-1)+float64(n.Steps)/float64(n.StepsInAll), float64(t.all)
	var parts []string
	if !math.IsNaN(n.Loss) {
		parts = append(parts, fmt.Sprintf("loss %.4f", n.Loss))
	}
	if t.evaluations > 0 {
		score, _ := evaluation.ScoreNames(t.loss)
		parts = append(parts, fmt.Sprintf("%s %.4f", score, t.latest.Score()))
	}
	left := time.Duration(float64(now.Sub(t.start)) * (all - done) / (done - t.before))
	parts = append(parts, fmt.Sprintf("%.0f samples/s", n.SamplesPerSecond), cli.TimeLeft(left))
	if t.pause != nil {
		parts = append(parts, fmt.Sprintf("checkpoint %d took %.2f s", t.pause.Step,
			(t.pause.Drain+t.pause.Save+t.pause.Start).Seconds()))
	}
	if t.p.terminal {
		const resolution = 1000
		t.bar.ShowParts(int(resolution*done/all), resolution, append([]string{t.name}, parts...))
		return
	}
	name := t.name
	if t.all > 1 {
		name += fmt.Sprintf(" (%d of %d)", t.number, t.all)
	}
	fmt.Fprintf(t.p.stderr, "train: %s: step %d of %d", name, n.Steps, n.StepsInAll)
	for _, part := range parts {
		fmt.Fprintf(t.p.stderr, ", %s", part)
	}
	fmt.Fprintln(t.p.stderr)
}
