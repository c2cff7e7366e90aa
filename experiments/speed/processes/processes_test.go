package processes

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"tandem/algo/exec/evaluation"
	"tandem/algo/job"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/turns"
	"tandem/runtime/train"
)

// smallPlan returns a plan with short trainings.
func smallPlan() *plan {
	p, _ := newPlan(report.Options{Quick: true, Seed: 1})
	p.Rounds, p.Rows.TrainRows, p.Rows.TestRows = 2, 4000, 500
	p.Cases = []testCase{{job.Hybrid, 2, 100}, {job.Sync, 2, 100}}
	return p
}

// A training runs in this process and, as real processes, colocated and apart; in sync all have the same
// bits, or measure returns an error.
func TestProcesses(t *testing.T) {
	p, folder := smallPlan(), t.TempDir()
	results, err := p.measure(t.Context(), report.Options{Folder: folder})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		for i, w := range r.Ways {
			if w.Way != ways()[i] || len(w.SamplesPerSecond) != p.Rounds || !(w.SamplesPerSecond[0] > 0) {
				t.Errorf("%v: %+v, want a rate for each round of %s", r, w, ways()[i])
			}
		}
	}
	// Resumed, it measures nothing, which its context would not allow.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	again, err := p.measure(ctx, report.Options{Folder: folder})
	if err != nil || !reflect.DeepEqual(again, results) {
		t.Errorf("resumed: %+v, error %v, want %+v", again, err, results)
	}
	if err := p.report(results).WriteFolder(folder); err != nil {
		t.Error(err)
	}
}

// A context that has ended stops the experiment.
func TestStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := smallPlan().measure(ctx, report.Options{Folder: t.TempDir()})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the error of the context", err)
	}
}

// Every case of both versions has a valid job in every way, with its ranks and placement.
func TestJobs(t *testing.T) {
	for _, quick := range []bool{true, false} {
		p, _ := newPlan(report.Options{Quick: quick, Seeds: 5, Seed: 1})
		for _, c := range p.Cases {
			all := 5 + c.Ranks
			for way, want := range map[string]int{inProcess: all, job.Apart: all, job.Colocated: 2} {
				j, err := p.job(c, way)
				if err != nil {
					t.Fatalf("%v, %s: %v", c, way, err)
				}
				if processes, err := j.Processes(); err != nil || len(processes) != want {
					t.Errorf("%v, %s: %d processes, error %v, want %d", c, way, len(processes), err, want)
				}
			}
		}
		if p.Rounds < roundsQuick || !quick && (p.Rounds != roundsFull || p.Rows.TrainRows != 400_000) {
			t.Errorf("quick %v: %d rounds of %d rows", quick, p.Rounds, p.Rows.TrainRows)
		}
	}
}

// lost returns scores with a log loss.
func lost(logLoss float64) evaluation.Scores { return evaluation.Scores{LogLoss: logLoss} }

// Trainings in sync that differ in a bit are an error, and so are trainings whose losses differ too much.
func TestAgree(t *testing.T) {
	a := &train.Result{DenseDigest: 1, RowsDigest: 2, Scores: lost(0.5)}
	for _, c := range []struct {
		mode string
		b    train.Result
		ok   bool
	}{
		{job.Sync, train.Result{DenseDigest: 1, RowsDigest: 2, Scores: lost(0.5)}, true},
		{job.Sync, train.Result{DenseDigest: 1, RowsDigest: 3, Scores: lost(0.5)}, false},
		{job.Sync, train.Result{DenseDigest: 3, RowsDigest: 2, Scores: lost(0.5)}, false},
		{job.Hybrid, train.Result{DenseDigest: 3, RowsDigest: 3, Scores: lost(0.51)}, true},
		{job.Hybrid, train.Result{DenseDigest: 1, RowsDigest: 2, Scores: lost(0.53)}, false},
		{job.Hybrid, train.Result{DenseDigest: 1, RowsDigest: 2, Scores: lost(math.NaN())}, false},
	} {
		if err := agree(testCase{Mode: c.mode}, a, &c.b); (err == nil) != c.ok {
			t.Errorf("%s, %+v: error %v", c.mode, c.b, err)
		}
	}
}

// The load of a step is measured between a tenth and nine tenths of the steps, as far as progress is
// reported.
func TestMeter(t *testing.T) {
	for _, c := range []struct {
		reports []int
		want    float64
	}{
		{[]int{5, 10, 20, 89, 90, 100}, 30}, {[]int{9, 11, 93, 100}, 30}, {[]int{95, 100}, math.NaN()},
		{nil, math.NaN()},
	} {
		done := 0
		m := meter{read: func() turns.Load {
			return turns.Load{Switches: float64(30 * done), CPU: float64(done)}
		}}
		for _, done = range c.reports {
			m.progress(done, 100)
		}
		got := m.perStep()
		if fmt.Sprint(got.Switches) != fmt.Sprint(c.want) || fmt.Sprint(got.CPU) != fmt.Sprint(c.want/30) {
			t.Errorf("progress at %v: %v of a step, want %v", c.reports, got, c.want)
		}
	}
}

// Tables fit in 80 columns, and findings count the cases that reach their goals and name the worst.
func TestReport(t *testing.T) {
	p, _ := newPlan(report.Options{Seeds: 5, Seed: 1})
	var results []*result
	for i, c := range p.Cases {
		r := &result{testCase: c}
		for n, way := range ways() {
			r.Ways = append(r.Ways, &wayResult{Way: way,
				SamplesPerSecond: []float64{3e5 / float64(1+n), 1e5 / float64(1+n)},
				Switches:         []float64{1200 + float64(i)}, CPU: []float64{234.5}})
		}
		r.Ways[2].Switches = []float64{38 + float64(i)}
		results = append(results, r)
	}
	results[0].Ways[1].SamplesPerSecond = []float64{2.7e5, 0.9e5}
	out := p.report(results)
	for _, table := range out.Tables {
		var text strings.Builder
		if err := table.WriteText(&text); err != nil {
			t.Fatal(err)
		}
		line, _, _ := strings.Cut(text.String(), "\n")
		if width := utf8.RuneCountInString(line); width > 80 || len(table.Rows) < len(results)/2 {
			t.Errorf("%s: %d columns, %d rows", table.Caption, width, len(table.Rows))
		}
	}
	want := []string{
		"colocated: 1 of 8 cases keep 85 % of the in-process rate. Lowest: 50 %, hybrid, 2 ranks, batch " +
			"8192.",
		"colocated: 0 of 4 cases with 4 ranks have at most 40 context switches a step. Most: 1207, sync, 4 " +
			"ranks, batch 8192.",
		"apart: 0 of 8 cases keep 50 % of the in-process rate. Lowest: 33 %, hybrid, 2 ranks, batch 1024.",
		"apart: 1 of 4 cases with 4 ranks have at most 40 context switches a step. Most: 45, sync, 4 " +
			"ranks, batch 8192.",
	}
	if got := strings.Join(out.Findings, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("findings\n%s", got)
	}
}
