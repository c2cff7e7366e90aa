package papers

import (
	"fmt"
	"slices"
	"strings"

	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/experiments/internal/judge"
	"tandem/experiments/internal/paper"
	"tandem/experiments/internal/report"
	"tandem/internal/cli"
)

// run is an arm of the experiment convergence with its curves, as its file of numbers has them.
type run struct {
	Arm struct {
		Mode  string `json:"mode"`
		Merge string `json:"merge"`
		Tau   int    `json:"tau"`
		Batch int    `json:"global_batch"`
		Ranks int    `json:"ranks"`
		Model string `json:"model"`
		Hot   bool   `json:"hot"`
	} `json:"arm"`
	Samples int `json:"samples"`
	judge.Quality
	Curve        [][]float64 `json:"curve"` // AUC by seed and point
	CurveSamples []int       `json:"curve_samples"`
	StepSeconds  float64     `json:"step_s"` // simulated
	HotRows      int         `json:"hot_rows"`
}

// The staleness of hybrid that stands for Persia: the default of its job files.
const persiaTau = 9

// arms are the runs of the paper's length that the page shows.
type arms struct {
	sync, byRank, hybrid, late *run
	async, hot                 *run // nil: none is stored
	chosen                     []choice
}

// choice is the choice of an arm's rates.
type choice struct {
	AtEdge bool `json:"at_edge"` // a rate is the lowest or the highest that was tried
}

// readArms returns the longest runs of an experiment of convergence.
func (m *maker) readArms(experiment string) (*arms, error) {
	var stored struct {
		Runs    []*run   `json:"runs"`
		Tuning  []choice `json:"tuning"`
		Refined []choice `json:"refined"` // on longer runs
	}
	if err := m.data(experiment, &stored); err != nil {
		return nil, err
	}
	a := &arms{chosen: stored.Tuning}
	if stored.Refined != nil {
		a.chosen = stored.Refined
	}
	longest := 0
	for _, r := range stored.Runs {
		longest = max(longest, r.Samples)
	}
	for _, r := range stored.Runs {
		if r.Samples < longest || r.Arm.Model != "" {
			continue
		}
		switch x := r.Arm; {
		case x.Mode == job.Sequential && x.Merge == job.MergeStep && a.sync == nil:
			a.sync = r
		case x.Mode == job.Sequential && x.Merge == job.MergeRank && a.byRank == nil:
			a.byRank = r
		case x.Hot:
			a.hot = r
		case x.Mode == job.Hybrid && x.Tau == persiaTau && a.hybrid == nil:
			a.hybrid = r
		case x.Mode == job.Hybrid && x.Tau > persiaTau && a.late == nil:
			a.late = r
		case x.Mode == job.AsyncPS && a.async == nil:
			a.async = r
		}
	}
	if a.sync == nil || a.hybrid == nil {
		return nil, fmt.Errorf("%s has no runs of sync and of hybrid at τ = %d", experiment, persiaTau)
	}
	return a, nil
}

// at returns the AUC of a point of the curve by seed, of those seeds whose training did not diverge.
func (r *run) at(point int) (values []float64) {
	for _, c := range r.Curve {
		if point < len(c) {
			values = append(values, c[point])
		}
	}
	return values
}

// points returns the curve: means over seeds with 95 % intervals, by a place on the axis for every number of
// samples.
func (r *run) points(place func(samples float64) float64) (points []report.Point) {
	for k, samples := range r.CurveSamples {
		if values := r.at(k); len(values) > 1 {
			points = append(points, report.SeedPoint(place(float64(samples)), values))
		}
	}
	return points
}

// middles returns points without their intervals.
func middles(points []report.Point) []report.Point {
	out := make([]report.Point, len(points))
	for i, p := range points {
		out[i] = report.Exact(p.X, p.Y)
	}
	return out
}

// drawCurves draws the curves of an experiment beside the last points of the paper's, which are moved so that
// its sync ends where ours does: rows are not the paper's, so only differences compare.
func (m *maker) drawCurves(e *Exhibit, experiment string, theirs paper.FinalAUC) (*arms, error) {
	a, err := m.readArms(experiment)
	if err != nil {
		return nil, err
	}
	f := &report.Figure{Name: e.Name, Title: "AUC against samples: " + theirs.Set + ", 8 ranks",
		X: report.Axis{Label: "samples (millions)"},
		Y: report.Axis{Label: "AUC on the test rows, the paper’s moved"}}
	for _, x := range []struct {
		name  string
		run   *run
		color int
	}{
		{"hybrid, τ = 9", a.hybrid, 0}, {"sync", a.sync, 1}, {"sync, step per rank", a.byRank, 2},
		{"hybrid, τ = 60", a.late, 3}, {"async-ps", a.async, 4}, {"hybrid, hot rows", a.hot, 2},
	} {
		if x.run == nil {
			continue
		}
		points := x.run.points(func(samples float64) float64 { return samples / 1e6 })
		if points == nil { // all its trainings diverged
			continue
		}
		f.Lines = append(f.Lines, report.Band(x.color, points),
			report.Line{Name: x.name, Color: x.color, Points: middles(points)})
	}
	for _, x := range []struct{ system, color int }{
		{paper.XDLSync, 1}, {paper.Persia, 0}, {paper.XDLAsync, 4}, {paper.PaddlePaddle, report.Grey},
	} {
		auc := theirs.AUC[x.system] + a.above(theirs)
		f.Lines = append(f.Lines, report.Line{Name: paper.Systems()[x.system] + ", paper", Color: x.color,
			Paper: true, Points: []report.Point{{X: theirs.Samples / 1e6, Y: auc,
				Low: auc - paper.AUCReadingError, High: auc + paper.AUCReadingError}}})
	}
	e.Figure = f
	return a, nil
}

// above returns how far our sync ends above the paper's.
func (a *arms) above(theirs paper.FinalAUC) float64 {
	return metric.MeanInterval(a.sync.AUC).Estimate - theirs.AUC[paper.XDLSync]
}

// movedNote says how the points of the paper are drawn.
func (a *arms) movedNote(theirs paper.FinalAUC) string {
	return fmt.Sprintf("The rows are not the paper's, so differences compare and levels do not: its points "+
		"are moved by %s, so that its sync ends where ours does.", decimals(a.above(theirs)))
}

// aucOnCriteo draws the curves of the paper's length on generated Criteo.
func aucOnCriteo(m *maker, e *Exhibit) error {
	theirs := criteo()
	a, err := m.drawCurves(e, "convergence", theirs)
	if err != nil {
		return err
	}
	q, err := m.effect("convergence", "hybrid-less-sync-auc-tau-9")
	if err != nil {
		return err
	}
	merging, err := m.effect("convergence", "merging-effect-auc")
	if err != nil {
		return err
	}
	e.Says = fmt.Sprintf("After %s million samples the AUC of hybrid at τ = %d less that of sync is %s, "+
		"where the paper has %s. One optimizer step per rank, which hybrid takes, changes that of sync by "+
		"%s; the rest is staleness.", report.Three(float64(a.hybrid.Samples)/1e6), persiaTau,
		report.PlusMinus(q.Interval), decimals(theirs.AUC[paper.Persia]-theirs.AUC[paper.XDLSync]),
		report.PlusMinus(merging.Interval))
	e.Notes = append(e.Notes, "Trained: real gradients on rows of a generated Criteo, network 64-32, one "+
		"learning rate for all arms. Bands: 95 % of the mean over seeds, each of which has a world of its "+
		"own.", a.movedNote(theirs),
		missingCurves(a, "Taobao, of which no run of the paper's length is stored"), m.madeBy("convergence"))
	return nil
}

// aucOnAvazu draws the curves of the paper's length on generated Avazu.
func aucOnAvazu(m *maker, e *Exhibit) error {
	theirs := paper.FinalAUCs()[1]
	a, err := m.drawCurves(e, "avazu", theirs)
	if err != nil {
		return err
	}
	q, err := m.effect("avazu", "hybrid-less-sync-auc-tau-9")
	if err != nil {
		return err
	}
	e.Says = fmt.Sprintf("After %s million samples the AUC of hybrid at τ = %d less that of sync is %s, "+
		"where the paper has %s.", report.Three(float64(a.hybrid.Samples)/1e6), persiaTau,
		report.PlusMinus(q.Interval), decimals(theirs.AUC[paper.Persia]-theirs.AUC[paper.XDLSync]))
	if a.hot != nil {
		hot, err := m.effect("avazu", "hot-rows-less-sync-auc-tau-9")
		if err != nil {
			return err
		}
		e.Says += fmt.Sprintf(" With the %s hot rows that the job chooses, hybrid has %s, and its simulated "+
			"step takes %.3g times as long.", report.Thousands(a.hot.HotRows), report.PlusMinus(hot.Interval),
			a.hot.StepSeconds/a.hybrid.StepSeconds)
	}
	rates := "at the same rates"
	if len(a.chosen) > 0 {
		rates = "each arm at rates that are tuned, and chosen again on longer runs"
	}
	if slices.ContainsFunc(a.chosen, func(c choice) bool { return c.AtEdge }) {
		rates += "; of some arm a best rate is the last that was tried"
	}
	e.Notes = append(e.Notes, fmt.Sprintf("Trained: real gradients on rows of a generated Avazu, network "+
		"64-32, %s. Bands: 95 %% of the mean over seeds, each of which has a world of its own.", rates),
		a.movedNote(theirs), missingCurves(a, "Taobao"), m.madeBy("avazu"))
	return nil
}

// effect returns a difference of AUC in the stored runs of an experiment of convergence. The names of those
// in runs shorter than the paper's have their length at the end.
func (m *maker) effect(experiment, name string) (report.Quantity, error) {
	from := m.found[experiment]
	at := slices.IndexFunc(from.Quantities, func(q report.Quantity) bool {
		return q.Name == name || strings.HasPrefix(q.Name, name+"-")
	})
	if at < 0 {
		return report.Quantity{}, fmt.Errorf("%s has no number %s", experiment, name)
	}
	return from.Quantities[at], nil
}

// missingCurves says which curves of the paper no stored run has, beside those of some data sets.
func missingCurves(a *arms, sets string) string {
	missing := "Missing: " + sets + "; PaddlePaddle, whose order of updates is not described"
	if a.async == nil {
		missing += "; XDL async, since no async-ps of this length is stored"
	}
	return missing + "."
}

// criteo returns the paper's AUC on Criteo.
func criteo() paper.FinalAUC { return paper.FinalAUCs()[2] }

// decimals returns an AUC or a difference for a sentence.
func decimals(v float64) string { return report.Minus(fmt.Sprintf("%.4f", v)) }

// aucByTime puts the curves of samples at the times that predicted throughputs give.
func aucByTime(m *maker, e *Exhibit) error {
	a, err := m.readArms("convergence")
	if err != nil {
		return err
	}
	var rates paper.Results
	if err := m.data("scalability", &rates); err != nil {
		return err
	}
	d := paper.ScalingFigure()[2]
	f := &report.Figure{Name: e.Name, Title: "AUC against time: Criteo, 8 V100s",
		X: report.Axis{Label: "seconds of training (simulated)"},
		Y: report.Axis{Label: "AUC on the test rows"}}
	for i, x := range []struct {
		system string
		run    *run
	}{{"Persia", a.hybrid}, {"XDL sync", a.sync}, {"XDL async", a.async}} {
		c := rates.Case(d.Case(x.system, 8))
		if x.run == nil || c == nil {
			continue
		}
		rate := c.In(paper.One)
		at := func(rate float64) []report.Point {
			return middles(x.run.points(func(samples float64) float64 { return samples / rate }))
		}
		band := at(rate.High)
		if len(band) == 0 {
			continue
		}
		for _, p := range slices.Backward(at(rate.Low)) {
			band = append(band, p)
		}
		f.Lines = append(f.Lines, report.Line{Color: i, Area: true, Points: band},
			report.Line{Name: x.system, Color: i, Points: at(rate.Estimate)})
	}
	e.Figure = f
	if e.Says, err = m.timeToAUC(); err != nil {
		return err
	}
	e.Notes = append(e.Notes, "Combined: AUC of the curves above, and throughputs predicted in the first "+
		"figure, of the paper's network 4096-2048-1024-512-256. Persia is hybrid at τ = 9, XDL sync is "+
		"sync. Bands: times over what is unknown of the cluster; the spread over seeds is in the figure "+
		"above.", missingCurves(a, "Taobao, and Avazu in this figure"),
		m.madeBy("convergence", "scalability"))
	return nil
}

// timeToAUC says how much sooner Persia reaches the best AUC of hybrid than XDL sync does. The
// interval is the widest that samples and rates allow together.
func (m *maker) timeToAUC() (string, error) {
	fewer, err := m.effect("convergence", "samples-to-auc-sync-over-hybrid-tau-9")
	if err != nil {
		return "", err
	}
	lead, err := m.quantity("scalability", "persia-over-xdl-sync-criteo-8")
	if err != nil {
		return "", err
	}
	whole := fewer.Interval.Times(lead.Interval)
	return fmt.Sprintf("To the best AUC of hybrid, sync needs %s of the samples of hybrid. Persia "+
		"is %s × as fast as XDL sync (%s). So it is there %s × as soon, from %s to %s.",
		report.Three(fewer.Estimate), report.Three(lead.Estimate), report.Range(lead.Interval),
		report.Three(whole.Estimate), report.Three(whole.Low), report.Three(whole.High)), nil
}

// aucTable compares the AUC of the paper's systems with those of modes on data that resemble its own.
func aucTable(m *maker, e *Exhibit) error {
	a, err := m.readArms("convergence")
	if err != nil {
		return err
	}
	hybrid, err := m.effect("convergence", "hybrid-less-sync-auc-tau-9")
	if err != nil {
		return err
	}
	onAvazu, err := m.effect("avazu", "hybrid-less-sync-auc-tau-9")
	if err != nil {
		return err
	}
	avazu, err := m.readArms("avazu")
	if err != nil {
		return err
	}
	t := cli.Table{Words: 2, Caption: "AUC on 8 GPUs: the paper's, and differences to sync with 95 % " +
		"intervals",
		Header: []string{"data set", "system", "AUC, paper", "less sync, paper", "less sync, ours",
			"ours on"}}
	long := func(set string, a *arms, rates string) string {
		return fmt.Sprintf("generated %s, %s M rows, %s", set, report.Three(float64(a.sync.Samples)/1e6),
			rates)
	}
	for _, x := range paper.FinalAUCs() {
		for i, system := range paper.Systems() {
			ours, on := "–", "missing"
			short := map[string]string{"Criteo": "criteo-like", "Avazu": "avazu-like"}[x.Set]
			switch {
			case i == paper.XDLSync:
				on = ""
			case i == paper.PaddlePaddle:
				on = "its order of updates is not described"
			case x.Set == "Criteo" && i == paper.Persia:
				ours, on = report.Amount(hybrid.Interval), long(x.Set, a, "1 rate")
			case x.Set == "Avazu" && i == paper.Persia:
				ours, on = report.Amount(onAvazu.Interval), long(x.Set, avazu, "own rates")
			case short != "":
				mode := map[int]string{paper.Persia: job.Hybrid, paper.XDLAsync: job.AsyncPS}[i]
				q, err := m.quantity("auc-table", mode+"-less-sync-"+short)
				if err != nil {
					return err
				}
				ours, on = report.Amount(q.Interval), "generated "+x.Set+", a short run, own rates"
			}
			less := "–"
			if i != paper.XDLSync {
				less = decimals(x.AUC[i] - x.AUC[paper.XDLSync])
			}
			t.Add(x.Set, system, decimals(x.AUC[i]), less, ours, on)
		}
	}
	t.Add("Kwai-Video", "Persia", "0.727 ± 0.002", "0.00001 at most, printed", "–", "confidential data")
	e.Tables = append(e.Tables, t)
	async, err := m.quantity("auc-table", "async-ps-less-sync-criteo-like")
	if err != nil {
		return err
	}
	e.Says = fmt.Sprintf("AUC less that of sync: hybrid has %s over %s million samples of Criteo and %s "+
		"over %s million of Avazu, where the paper has −0.0005 to −0.0012. async-ps has %s in short runs on "+
		"Criteo, where the paper has −0.0027 to −0.0098; hybrid loses more in short runs, too.",
		report.PlusMinus(hybrid.Interval), report.Three(float64(a.sync.Samples)/1e6),
		report.PlusMinus(onAvazu.Interval), report.Three(float64(avazu.sync.Samples)/1e6),
		report.PlusMinus(async.Interval))
	e.Notes = append(e.Notes, "Missing: Taobao. Public samples of it have too few rows to tell 0.001.",
		m.madeBy("convergence", "avazu", "auc-table"))
	return nil
}
