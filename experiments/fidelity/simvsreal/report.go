package simvsreal

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tandem/algo/histogram"
	"tandem/algo/job"
	"tandem/experiments/internal/judge"
	"tandem/experiments/internal/report"
	"tandem/internal/cli"
)

func (p *plan) report(r results) *report.Report {
	made, first := r.comparisons(p.Seed), r[0]
	return &report.Report{
		Findings: r.findings(), Notes: p.notes(), Comparisons: made, Quantities: r.quantities(),
		Tables: slices.Concat(
			[]cli.Table{r.timeTable(), r.accuracyTable(), first.stageTable(), first.stalenessTable()},
			report.ComparisonTables(made), []cli.Table{first.workTable()},
		),
		Figures: []report.Figure{r.timeFigure(), first.stalenessFigure()},
	}
}

func (r results) timeTable() cli.Table {
	t := cli.Table{
		Caption: "Step time in ms, medians over rounds. ±: half the range of the real runs over their\n" +
			"median. Error: simulated − real. Null: the error if every mode took the real time\n" +
			"of sync. Cores busy: CPU time of the real runs ÷ step time",
		Header: []string{"setting, mode", "within\nbudget", "real\n(ms)", "±\n(%)", "simulated\n(ms)",
			"error\n(%)", "null\n(%)", "cores\nbusy"},
		Words: 2,
	}
	for _, s := range r {
		t.Rows = append(t.Rows, []string{s.Setting.Name, "", "", "", "", "", "", ""})
		for _, m := range s.Modes {
			null := "–"
			if m.Mode != job.Sync {
				null = signedPercent(report.Median(m.errors(s.sync().Real)))
			}
			busy := median(m.Real, func(r *run) float64 { return r.CPUSeconds / r.StepSeconds })
			t.Rows = append(t.Rows, []string{
				"  " + m.Mode, m.verdict(), milliseconds(median(m.Real, stepTime)), percent(m.spread()),
				milliseconds(median(m.Simulated, stepTime)),
				signedPercent(report.Median(m.errors(m.Simulated))), null, fmt.Sprintf("%.2f", busy),
			})
		}
	}
	return t
}

// verdict says whether the error of a mode is within its budget.
func (m *modeResult) verdict() string {
	switch {
	case m.Mode == job.Sync:
		return "–"
	case m.error() > m.budget():
		return "no"
	case m.spread() > spreadMost:
		return "unsure"
	}
	return "yes"
}

func (r results) accuracyTable() cli.Table {
	t := cli.Table{
		Caption: "Accuracy of the predicted modes: median errors over modes and rounds",
		Header: []string{"setting", "error (%)", "budget (%)", "null (%)", "rank correlation",
			"message (µs)"},
		Words: 1,
	}
	add := func(name string, a accuracy, message string) {
		t.Rows = append(t.Rows, []string{name, percent(a.error), percent(a.budget), percent(a.null),
			report.Minus(fmt.Sprintf("%.2f", a.rank)), message})
	}
	for _, s := range r {
		add(s.Setting.Name, results{s}.accuracy(-1), fmt.Sprintf("%.1f", report.Median(s.MessageSeconds)*1e6))
	}
	if len(r) > 1 {
		add("all", r.accuracy(-1), "")
	}
	return t
}

func (s *settingResult) stageTable() cli.Table {
	t := cli.Table{
		Caption: "Stages in ms: medians over batches, then over rounds; – without this stage",
		Header:  []string{"mode", "run", "GE", "FC", "BC", "DS", "PEG"},
		Words:   2,
	}
	for _, m := range s.Modes {
		for i, runs := range [][]*run{m.Real, m.Simulated} {
			row := []string{m.Mode, []string{"real", "simulated"}[i]}
			for stage := range 5 {
				text := "–"
				if v := median(runs, func(r *run) float64 { return r.Stages.All()[stage] }); v > 0 {
					text = milliseconds(v)
				}
				row = append(row, text)
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// merged returns the histogram of a kind of staleness in runs.
func merged(runs []*run, kind string) *histogram.Histogram {
	all := &histogram.Histogram{}
	for _, r := range runs {
		for value, count := range r.Staleness[kind].Counts {
			all.AddCount(value, count)
		}
	}
	return all
}

func (s *settingResult) stalenessTable() cli.Table {
	t := cli.Table{
		Caption: "Staleness over all rounds: own, cross and in flight in batches per read,\n" +
			"dense in updates per push",
		Header: []string{"mode", "kind", "real\nmean", "simulated\nmean", "real\nmax", "simulated\nmax",
			"distance"},
		Words: 2,
	}
	for _, m := range s.Modes {
		for _, k := range stalenessKinds() {
			real, simulated := merged(m.Real, k), merged(m.Simulated, k)
			if real.Count() == 0 || simulated.Count() == 0 {
				continue
			}
			t.Rows = append(t.Rows, []string{
				m.Mode, k, fmt.Sprintf("%.2f", real.Mean()), fmt.Sprintf("%.2f", simulated.Mean()),
				fmt.Sprint(real.Max()), fmt.Sprint(simulated.Max()),
				fmt.Sprintf("%.2f", real.Distance(simulated)),
			})
		}
	}
	return t
}

func quality(runs []*run) judge.Quality {
	return judge.Quality{
		AUC:     values(runs, func(r *run) float64 { return r.AUC }),
		LogLoss: values(runs, func(r *run) float64 { return r.LogLoss }),
	}
}

// comparisons returns the simulated runs of each mode less its real ones, and the real runs of each mode less
// those of sync, of all settings, judged. Every round has other test rows; the first has a seed.
func (r results) comparisons(seed uint64) (list []*judge.Comparison) {
	for _, s := range r {
		sync := s.sync()
		for _, m := range s.Modes {
			list = append(list, judge.Pair(s.Setting.Name, m.Mode+", simulated", m.Mode+", real", seed,
				quality(m.Simulated), quality(m.Real)))
			if m != sync {
				list = append(list, judge.Pair(s.Setting.Name, m.Mode+", real", "sync, real", seed,
					quality(m.Real), quality(sync.Real)))
			}
		}
	}
	judge.Judge(list)
	return list
}

func (s *settingResult) workTable() cli.Table {
	t := cli.Table{
		Caption: "Times of work in the simulation of the first round: means of its sync run",
		Header:  []string{"work", "samples", "time (ms)"},
		Words:   1,
	}
	for _, w := range s.Work {
		samples := fmt.Sprint(w.Samples)
		if w.Samples == 0 {
			samples = "any"
		}
		t.Rows = append(t.Rows, []string{w.Kind, samples, fmt.Sprintf("%.4f", w.Seconds*1e3)})
	}
	return t
}

// timeFigure shows simulated by real step times, both divided by the real one of sync, a point per setting
// and mode.
func (r results) timeFigure() report.Figure {
	f := report.Figure{
		Name: "step-time", Title: "Step time ÷ real step time of sync, predicted from the work times of sync",
		X: report.Axis{Label: "real"}, Y: report.Axis{Label: "simulated (bars: range over rounds)"},
	}
	least, most := 1.0, 1.0
	for k, s := range r {
		base := median(s.sync().Real, stepTime)
		for i, m := range s.Modes {
			simulated := values(m.Simulated, func(r *run) float64 { return r.StepSeconds / base })
			point := report.Point{
				X: median(m.Real, stepTime) / base,
				Y: report.Median(simulated), Low: slices.Min(simulated), High: slices.Max(simulated),
			}
			name := m.Mode
			if k > 0 {
				name = "" // the legend has the mode already
			}
			f.Lines = append(f.Lines, report.Line{Name: name, Color: i, Points: []report.Point{point}})
			least, most = min(least, point.X, point.Low), max(most, point.X, point.High)
		}
	}
	for _, g := range []struct {
		name        string
		left, right float64
	}{
		{"simulated = real", least, most},
		{"±10 %", least * (1 + budgetLeast), most * (1 + budgetLeast)},
		{"", least * (1 - budgetLeast), most * (1 - budgetLeast)},
		{"null model", 1, 1},
	} {
		f.Lines = append(f.Lines, report.Line{Name: g.name, Color: report.Grey, Guide: true,
			Points: []report.Point{report.Exact(least, g.left), report.Exact(most, g.right)}})
	}
	return f
}

// stalenessFigure shows the cumulative staleness of hybrid, real and simulated.
func (s *settingResult) stalenessFigure() report.Figure {
	f := report.Figure{
		Name: "staleness", Title: "Staleness of reads in hybrid mode, real and simulated",
		X: report.Axis{Label: "staleness (steps)"},
		Y: report.Axis{Label: "share of reads up to this staleness", Ticks: []float64{0, 0.25, 0.5, 0.75, 1}},
	}
	for _, m := range s.Modes {
		if m.Mode != job.Hybrid {
			continue
		}
		for i, k := range stalenessKinds()[:2] {
			real, simulated := merged(m.Real, k), merged(m.Simulated, k)
			for j, h := range []*histogram.Histogram{real, simulated} {
				l := report.Line{Name: k + []string{", real", ", simulated"}[j], Color: i + 2*j}
				for value := range max(real.Max(), simulated.Max()) + 1 {
					l.Points = append(l.Points, report.Exact(float64(value), h.AtMost(value)))
				}
				f.Lines = append(f.Lines, l)
			}
		}
	}
	return f
}

// findings returns sentences on the errors of all predicted modes beside the null model, on modes above their
// budgets, and on staleness.
func (r results) findings() []string {
	a := r.accuracy(-1)
	keeps := map[bool]string{true: "within", false: "above"}
	sentences := []string{
		fmt.Sprintf("Step time of the predicted modes: median error %s %%, %s the budget of %s %%.",
			percent(a.error), keeps[a.error <= a.budget], percent(a.budget)),
		fmt.Sprintf("The null model, by which every mode takes the real time of sync, has %s %%: the error "+
			"of the simulator is %.2f of it, %s the limit of %g. The rank correlation of step times ÷ sync "+
			"is %s; the limit is %g.", percent(a.null), a.error/a.null, keeps[a.error <= nullShare*a.null],
			nullShare, report.Minus(fmt.Sprintf("%.2f", a.rank)), rankLeast),
	}
	if a.budget > budgetSpreads*spreadMost {
		sentences = append(sentences, "The real runs differ too much for this to be evidence: run "+
			"again on an idle machine.")
	}
	var outside []string
	farthest, distance := "", 0.0
	for _, s := range r {
		for _, m := range s.Modes {
			if m.Mode != job.Sync && m.error() > m.budget() {
				outside = append(outside, fmt.Sprintf("%s, %s (%s %%)", s.Setting.Name, m.Mode,
					signedPercent(report.Median(m.errors(m.Simulated)))))
			}
			for _, k := range stalenessKinds()[:2] {
				if d := merged(m.Real, k).Distance(merged(m.Simulated, k)); d >= distance {
					farthest, distance = s.Setting.Name+", "+m.Mode+", "+k, d
				}
			}
		}
	}
	if outside != nil {
		sentences = append(sentences, "Above their own budgets: "+strings.Join(outside, "; ")+".")
	}
	if farthest == "" {
		return sentences // of a result without counts
	}
	return append(sentences, fmt.Sprintf("Largest distance between real and simulated staleness of reads: "+
		"%.2f steps (%s).", distance, farthest))
}

// quantities returns the accuracy of all predicted modes, with its range over rounds.
func (r results) quantities() []report.Quantity {
	over := func(name, what string, of func(a accuracy) float64) report.Quantity {
		q := report.Quantity{Name: name, What: what, Over: report.OverRounds}
		var rounds []float64
		for round := range r[0].sync().Real {
			rounds = append(rounds, of(r.accuracy(round)))
		}
		q.Estimate, q.Low, q.High = of(r.accuracy(-1)), slices.Min(rounds), slices.Max(rounds)
		return q
	}
	return []report.Quantity{
		over("step-time-error", "median error of simulated step times, a share of the real ones",
			func(a accuracy) float64 { return a.error }),
		over("step-time-error-over-null", "that error ÷ the null model's",
			func(a accuracy) float64 { return a.error / a.null }),
	}
}

func (p *plan) notes() []string {
	notes := []string{
		report.ModeSettingsNote(p.Job, p.Modes),
		"Sync calibrates, in every setting and round: the means of its times of work are the times of work " +
			"in every mode. What cores work beside it, by the CPU time of the process, is shared equally " +
			"among the messages, which a simulated sync run counts. The step time of sync is not used.",
		"Two times follow from sync without being measured: applying one put takes 1/ranks of the " +
			"time for the puts of a step, and updating one dense PS's part of the network takes its " +
			"share of the time for the whole network. Copies of the network for pulls and averages " +
			"have the speed that the probe measures.",
		"Known differences: a real rank computes the backward pass group by group, so its first " +
			"bucket is complete only in the last group; simulated buckets complete in proportion to " +
			"their size. The wake-up of idle cores is not simulated, nor that other programs run.",
		fmt.Sprintf("The spread is half the range of the real runs over their median, over all rounds. "+
			"It is large on a machine with other load. An error compares the two runs of one round. The "+
			"budget is %g %% or, if that is more, %d times the spread.", 100*budgetLeast, budgetSpreads),
		"The distance between histograms is the Wasserstein distance: by how many steps reads must be " +
			"moved on average. The total variation would rate a shift by one step like a shift by " +
			"ten.",
		"A step time leaves out the first and the last tenth of the batches. BC ends when the first " +
			"gradients are handed over; where BC and DS overlap, DS is the rest.",
		"The simulated runs have the same rows, order and initial values and do the real arithmetic: " +
			"only the times of the effects are simulated.",
		"All modes have one learning rate. A mode that needs another rate, as async-ps with its many small " +
			"steps, is not shown at its best.",
		"Stages, staleness and times of work are shown in the first setting; the data of the " +
			"report have all.",
	}
	return append(notes, report.FewSeedsNote(p.Rounds, "rounds", "a spread")...)
}

func milliseconds(seconds float64) string { return fmt.Sprintf("%.3f", seconds*1e3) }
func percent(share float64) string        { return fmt.Sprintf("%.1f", share*100) }
func signedPercent(share float64) string {
	return report.Minus(fmt.Sprintf("%+.1f", share*100))
}

const (
	// The budget of the error of a step time, as a share of it, is budgetLeast or, if that is more,
	// budgetSpreads times the spread of the real runs.
	budgetLeast   = 0.10
	budgetSpreads = 2
	// spreadMost is the largest spread for which staying within the budget is evidence.
	spreadMost = 0.25
	// What a prediction must do better than its null model: an error of at most this share of the null
	// model's, and at least this rank correlation of the step times by mode.
	nullShare = 0.5
	rankLeast = 0.95
)

func stepTime(r *run) float64 { return r.StepSeconds }

func median(runs []*run, quantity func(r *run) float64) float64 {
	return report.Median(values(runs, quantity))
}

// errors returns the relative errors of predicted step times, by round: those of the simulator, or of the
// null model, by which every mode takes the real time of sync.
func (m *modeResult) errors(predicted []*run) (list []float64) {
	for i, real := range m.Real {
		list = append(list, predicted[i].StepSeconds/real.StepSeconds-1)
	}
	return list
}

// spread returns half the range of the real step times, as a share of their median.
func (m *modeResult) spread() float64 {
	times := values(m.Real, stepTime)
	return (slices.Max(times) - slices.Min(times)) / 2 / report.Median(times)
}

// error returns the median size of the errors, and budget what is allowed.
func (m *modeResult) error() float64  { return report.Median(sizes(m.errors(m.Simulated))) }
func (m *modeResult) budget() float64 { return max(budgetLeast, budgetSpreads*m.spread()) }

// accuracy is how good the predictions of one or more settings are: median error, the null model's and the
// budget, and the rank correlation between simulated and real step times, each divided by that of sync in its
// setting. How settings differ is no merit of the prediction, because each is calibrated.
type accuracy struct{ error, null, budget, rank float64 }

// accuracy returns the accuracy of all predicted modes. Errors are those of one round, or of all for −1.
func (r results) accuracy(round int) accuracy {
	var errors, nulls, budgets, real, simulated []float64
	for _, s := range r {
		sync := s.sync().Real
		for _, m := range s.Modes[1:] {
			e, null := sizes(m.errors(m.Simulated)), sizes(m.errors(sync))
			if round >= 0 {
				e, null = e[round:round+1], null[round:round+1]
			}
			errors, nulls = append(errors, e...), append(nulls, null...)
			budgets = append(budgets, m.budget())
			base := median(sync, stepTime)
			real = append(real, median(m.Real, stepTime)/base)
			simulated = append(simulated, median(m.Simulated, stepTime)/base)
		}
	}
	return accuracy{report.Median(errors), report.Median(nulls), report.Median(budgets),
		judge.Spearman(real, simulated)}
}

func sizes(values []float64) []float64 {
	list := slices.Clone(values)
	for i, v := range list {
		list[i] = math.Abs(v)
	}
	return list
}
