package links

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/experiments/internal/report"
)

// A cell of few steps, where the kernel permits it: a step takes longer than the bytes of its busiest link,
// the probe finds most of the rate, and a resumed run would repeat nothing.
func TestCell(t *testing.T) {
	if err := missing(t.Context()); err != nil {
		t.Skip(err)
	}
	p, err := newPlan(report.Options{Quick: true, Seed: 1, Seeds: 2})
	if err != nil {
		t.Fatal(err)
	}
	p.Modes, p.Ranks, p.Short, p.Long, p.Samples, p.repetitions = []string{job.Sync}, []int{2}, 2, 5, 4, 1
	folder := t.TempDir()
	r, err := p.measure(t.Context(), report.Options{Folder: folder})
	if err != nil {
		t.Fatal(err)
	}
	c := r.Cells[0]
	if c.wireError() >= 0 || c.Link.BothWays > c.Link.OneWay*1.05 || c.Link.OneWay > float64(c.Rate) ||
		c.Link.BothWays < float64(c.Rate)/2 || c.BusiestBytes < 1e6 {
		t.Errorf("%+v", c)
	}
	kept, _, err := report.ReadJournal[struct{ Result result }](filepath.Join(folder, "cases.jsonl"))
	if err != nil || len(kept) != 1 || kept[0].Result.RunSeconds != c.RunSeconds || c.Simulated == 0 {
		t.Errorf("kept for a resumed run: %+v, error %v; the cell is %+v", kept, err, c)
	}
}

// Without one of its programs the experiment says which; a context that has ended is not a missing program.
func TestMissing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if missing(t.Context()) == nil {
		if err := missing(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want %v", err, context.Canceled)
		}
	}
	t.Setenv("PATH", t.TempDir())
	if err := missing(t.Context()); err == nil || !strings.Contains(err.Error(), "no program unshare") {
		t.Errorf("error %v", err)
	}
}

// The larger of the two directions of the busiest device; a step takes 8 s less.
func TestParse(t *testing.T) {
	const counts = "e1: 100 1 0 0 0 0 0 0 700 9 0 0 0 0 0 0\n e2: 300 1 0 0 0 0 0 0 20 9 0 0 0 0 0 0\n"
	if most, err := busiestOf(counts); err != nil || most != 700 {
		t.Errorf("%v bytes, error %v", most, err)
	}
	if _, err := busiestOf("e1: 100 1\n"); err == nil || !strings.Contains(err.Error(), `"e1: 100 1"`) {
		t.Errorf("error %v", err)
	}
	if s, err := secondsOf([]byte(`{"samples": 4096, "samples_per_s": 512.0}`)); err != nil || s != 8 {
		t.Errorf("%v s, error %v", s, err)
	}
	for _, text := range []string{"", "{}", `{"samples": 9}`} {
		if _, err := secondsOf([]byte(text)); err == nil {
			t.Errorf("no error for %q", text)
		}
	}
}

// Sync and hybrid of one and four ranks. The errors are 0, 10, 20 and 40 %: median 15 %. Sync
// is 100 % and 150 % off for hybrid: median 125 %. The bytes are half of the time each: 50 %, the better null
// model, so the skill is 0.3. Hybrid is faster than sync in both; with more ranks sync is slower for real and
// no slower in the simulation.
func TestAccuracyAndTrends(t *testing.T) {
	one := func(mode string, ranks int, rate, real, simulated float64) *result {
		return &result{Mode: mode, Ranks: ranks, Rate: 100 * megabit, StepSeconds: real,
			Simulated: simulated, Interval: [2]float64{simulated, simulated * 1.15},
			BusiestBytes: float64(100*megabit) * real / 2}
	}
	r := &results{Cells: []*result{
		one(job.Sync, 1, 1, 1, 1), one(job.Hybrid, 1, 1, 0.5, 0.45),
		one(job.Sync, 4, 1, 1.25, 1), one(job.Hybrid, 4, 1, 0.5, 0.3),
	}}
	a := r.accuracy()
	if !near(a.median, 0.15) || !near(a.sync, 1.25) || !near(a.wire, 0.5) || !near(a.skill(), 0.3) ||
		a.contained != 2 {
		t.Errorf("%+v, skill %v", a, a.skill())
	}
	signs := map[string][]bool{}
	for _, x := range r.trends() {
		if x.shows() {
			signs[x.kind] = append(signs[x.kind], x.right())
		}
	}
	if len(signs[ofRanks]) != 1 || signs[ofRanks][0] || len(signs[ofMode]) != 2 || !signs[ofMode][0] ||
		!signs[ofMode][1] {
		t.Errorf("signs %v", signs)
	}
	p, err := newPlan(report.Options{Seed: 1, Seeds: 2})
	if err != nil {
		t.Fatal(err)
	}
	made := p.report(r)
	if err := made.WriteFolder(t.TempDir()); err != nil {
		t.Error(err)
	}
	text := strings.Join(made.Findings, " ")
	for _, want := range []string{"the median error of a step is 15.0 %", "5 %, is missed", "is 0.30",
		"Trends with the number of ranks: 1 changes of at least 3 %, the sign is right in 0.",
		"Trends with the mode: 2 changes of at least 3 %, the sign is right in 2."} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %q", want, text)
		}
	}
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
