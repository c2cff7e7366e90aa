package modules

import (
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"tandem/experiments/internal/report"
)

// All ways train a module, and their losses agree, or measure returns an error; a round has a rate of each
// way, and both passes.
func TestModules(t *testing.T) {
	var python report.Python
	interpreter, err := python.With(t.Context(), "torch, numpy")
	if runtime.GOOS != "linux" || err != nil {
		t.Skip("needs Linux, and TANDEM_PYTHON or python3 with torch and numpy")
	}
	if _, err := exec.LookPath(interpreter); err != nil {
		t.Fatal(err)
	}
	p, _ := newPlan(report.Options{Quick: true, Seed: 1})
	p.Rounds, p.Window, p.Rows.TestRows = 1, 50*time.Millisecond, 500
	p.Cases = p.Cases[:1]
	p.Cases[0].Train, p.Cases[0].Batch = 2560, 256
	results, err := p.measure(t.Context(), report.Options{Folder: t.TempDir()}, &python)
	if err != nil {
		t.Fatal(err)
	}
	r := results[0]
	for i, w := range r.Ways {
		if w.Way != p.waysOf()[i].name || len(w.SamplesPerSecond) != 1 || !(w.SamplesPerSecond[0] > 0) ||
			!(w.CPU[0] > 0) {
			t.Errorf("%+v, want a rate and the processor time of %s", w, p.waysOf()[i].name)
		}
	}
	if len(r.PassAlone.Wall) != 1 || !(r.PassAlone.CPU[0] > 0) || !(r.PassOfTandem.CPU[0] > 0) {
		t.Errorf("passes %+v and %+v", r.PassAlone, r.PassOfTandem)
	}
	if err := p.report(results).WriteFolder(t.TempDir()); err != nil {
		t.Error(err)
	}
}

// Every case of both versions has a valid job on one rank and on two, whose groups are its ranks.
func TestJobs(t *testing.T) {
	for _, quick := range []bool{true, false} {
		p, _ := newPlan(report.Options{Quick: quick, Seeds: 5, Seed: 1})
		for _, c := range p.Cases {
			for _, w := range ways()[2:] {
				j := p.job(c, w.ranks)
				err := j.Validate()
				if err != nil || j.Roles.Ranks != w.ranks || j.Training.Groups != w.ranks ||
					c.Train%c.Batch != 0 {
					t.Errorf("%s, %s: error %v, %d ranks, %d groups, %d rows", c.name(), w.name, err,
						j.Roles.Ranks, j.Training.Groups, c.Train)
				}
			}
		}
		if quick != (p.Rounds == roundsQuick) {
			t.Errorf("quick %v: %d rounds", quick, p.Rounds)
		}
	}
}

// A ratio is the median of those of rounds, and the share between processes is what a pass by Tandem takes
// longer, of its time.
func TestFindings(t *testing.T) {
	rates := func(way string, values ...float64) *wayResult {
		return &wayResult{Way: way, SamplesPerSecond: values, CPU: values}
	}
	r := &result{testCase: testCase{Name: "net", Batch: 10}, Ways: []*wayResult{
		rates(script1, 100, 200, 400), rates(script2, 50, 50, 50), rates(rank1, 90, 220, 400),
		rates(rank2, 100, 100, 100)},
		PassAlone:    passResult{Wall: []float64{9, 18, 8}, CPU: []float64{1, 1, 1}},
		PassOfTandem: passResult{Wall: []float64{10, 20, 10}, CPU: []float64{2, 4, 4}}}
	got := findings([]*result{r})
	want := []string{
		"Rate of 1 rank ÷ script, 1 thread (goal 0.9): 1.00 (0.90–1.10) for net, batch 10.",
		"The same by processor time: 1.00 (0.91–1.11) for net, batch 10.",
		"Rate of 2 ranks ÷ script, 2 threads: 2.00 (2.00–2.00) for net, batch 10.",
		"Rate of 2 ranks ÷ 1 rank (goal 1): 0.45 (0.25–1.11) for net, batch 10.",
		"Percent of a pass between processes (goal at most 5): 10.0 (10.0–20.0) for net, batch 10.",
		"The same by processor time: 75.0 (50.0–75.0) for net, batch 10.",
	}
	if !slices.Equal(got, want) {
		t.Errorf("findings:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	r.Ways = slices.Delete(r.Ways, 1, 2) // as in the quick version
	if got := findings([]*result{r}); !slices.Equal(got, slices.Delete(want, 2, 3)) {
		t.Errorf("without a script of 2 threads:\n%s", strings.Join(got, "\n"))
	}
}
