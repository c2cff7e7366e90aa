package timetoauc

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/algo/quantity"
	"tandem/algo/unit"
	"tandem/experiments/internal/report"
	"tandem/internal/cli"
	"tandem/sim/cost"
)

// measured is what options are compared by.
type measured struct {
	name   string // of quantities
	of     func(*run) float64
	to     func(*optionResult) *metric.Interval
	unit   string  // for people
	per    float64 // units of a second or dollar
	stored string  // unit of quantities
	better string  // the best option
	more   string  // follows a factor by which another option is worse
}

func inTime() measured {
	return measured{"time", func(r *run) float64 { return r.To.Seconds },
		func(o *optionResult) *metric.Interval { return o.Seconds }, "ms", 1e3, "simulated seconds",
		"fastest", "as long"}
}

func inCents() measured {
	return measured{"cost", func(r *run) float64 { return r.Dollars },
		func(o *optionResult) *metric.Interval { return o.Dollars }, "cents", 100, "dollars",
		"cheapest", "as expensive"}
}

// ratio returns the ratio of what two options take whose runs reach the target, run by run: they share seeds
// and everything that is unknown of both.
func (m *measured) ratio(a, b *optionResult) metric.Interval {
	list := a.values(m.of)
	for i, v := range b.values(m.of) {
		list[i] /= v
	}
	return nextValue(list)
}

func (p *plan) report(r *results, m measured) *report.Report {
	out := &report.Report{Notes: p.notes(r), Findings: []string{p.targetFinding(r)}}
	for _, n := range r.Networks {
		out.Tables = append(out.Tables, n.table(m))
		out.Findings = slices.Concat(out.Findings, p.rent(n), p.modeFindings(n, m), []string{n.missed()})
		if m.name == "time" {
			out.Findings = append(out.Findings, n.nullFinding()...)
		}
		out.Figures = append(out.Figures, p.figures(r, n, m)...)
	}
	out.Quantities = p.quantities(r.Networks[0], m)
	return out
}

// comparable are the options that all runs reach the target with.
func (n *networkResult) comparable() []*optionResult {
	return slices.DeleteFunc(slices.Clone(n.Options), func(o *optionResult) bool { return o.Seconds == nil })
}

func (o *optionResult) gpus() string { return fmt.Sprintf("%d %s", o.GPUs, o.Cluster) }

func (o *optionResult) String() string { return fmt.Sprintf("%s, %s", o.gpus(), o.Mode) }

func (n *networkResult) table(m measured) cli.Table {
	t := cli.Table{
		Caption: fmt.Sprintf("Network %s, simulated %s to the target, all machines included", n.Network,
			m.name),
		Header: []string{"GPUs", "mode", m.unit + " (95 %)", "samples", "null " + m.unit, "reached"},
		Words:  2,
	}
	if m.name == "cost" {
		t.Header[4] = "$ an hour"
	}
	for _, o := range n.Options {
		row := []string{o.gpus(), o.Mode, "not reached", "–", "–",
			fmt.Sprintf("%d of %d", o.Reached, len(o.Runs))}
		if to := m.to(o); to != nil {
			row[2] = span(times(*to, m.per))
			samples := nextValue(o.values(func(r *run) float64 { return float64(r.To.Samples) }))
			row[3] = report.Thousands(int(math.Round(samples.Estimate)))
		}
		switch {
		case m.name == "cost":
			row[4] = report.Three(o.Hourly.Estimate)
		case o.Null > 0:
			row[4] = report.Three(o.Null * m.per)
		}
		t.Add(row...)
	}
	return t
}

func times(v metric.Interval, factor float64) metric.Interval {
	return metric.Interval{Estimate: v.Estimate * factor, Low: v.Low * factor, High: v.High * factor}
}

// span writes an interval as 12.3 (10.1–15.0).
func span(v metric.Interval) string {
	return fmt.Sprintf("%s (%s)", report.Three(v.Estimate), report.Range(v))
}

func (p *plan) targetFinding(r *results) string {
	lift := 0.0
	for i, auc := range r.Target {
		lift += (auc - 0.5) / (r.Oracle[i] - 0.5) / float64(len(r.Target))
	}
	return fmt.Sprintf("Target, by one rule for all options: the AUC of sync on %d GPUs at "+
		"nominal rates after %g %% of the rows. It is %.3f to %.3f in the %d worlds, in the mean %.0f %% "+
		"of the way from a guess to the oracle, which has %.3f to %.3f.", p.GPUs[0], 100*p.TargetShare,
		slices.Min(r.Target), slices.Max(r.Target), len(r.Target), 100*lift, slices.Min(r.Oracle),
		slices.Max(r.Oracle))
}

// best returns, for each cluster that has one, the best option, the best of all first.
func (p *plan) best(n *networkResult, m measured) (list []*optionResult) {
	less := func(a, b *optionResult) int {
		return cmp.Compare(m.to(a).Estimate, m.to(b).Estimate)
	}
	for _, o := range slices.SortedStableFunc(slices.Values(n.comparable()), less) {
		if !slices.ContainsFunc(list, func(b *optionResult) bool { return b.Cluster == o.Cluster }) {
			list = append(list, o)
		}
	}
	return list
}

// rent answers which cluster to rent: the cheapest and the fastest, and whether others can be told apart.
func (p *plan) rent(n *networkResult) (sentences []string) {
	for _, m := range []measured{inCents(), inTime()} {
		best := p.best(n, m)
		if best == nil {
			return []string{fmt.Sprintf("Network %s: no option reaches the target in all runs, so no "+
				"cluster can be recommended.", n.Network)}
		}
		first := best[0]
		text := fmt.Sprintf("Which cluster to rent, network %s: the %s option is %v, %s %s.", n.Network,
			m.better, first, span(times(*m.to(first), m.per)), m.unit)
		for _, other := range best[1:] {
			v, apart := m.ratio(other, first), "is"
			if !(v.Low > 1) {
				apart = "cannot be told apart from it:"
			}
			text += fmt.Sprintf(" The best of %s, %v, %s %s times %s.", other.Cluster, other, apart,
				span(v), m.more)
		}
		alike := 0
		for _, o := range n.comparable() {
			if o != first && !(m.ratio(o, first).Low > 1) {
				alike++
			}
		}
		sentences = append(sentences, text+fmt.Sprintf(" Of all %d other options that reach the target, "+
			"%d cannot be told apart from it.", len(n.comparable())-1, alike))
	}
	return sentences
}

// modeFindings compares every mode with sync on the same GPUs.
func (p *plan) modeFindings(n *networkResult, m measured) (sentences []string) {
	for _, mode := range p.Modes[1:] {
		var texts []string
		for _, o := range n.comparable() {
			sync := n.find(o.Cluster, o.GPUs, job.Sync)
			if o.Mode == mode && sync.Seconds != nil {
				v := m.ratio(o, sync)
				texts = append(texts, fmt.Sprintf("%s on %s%s", span(v), o.gpus(), apart(v)))
			}
		}
		if texts != nil {
			sentences = append(sentences, fmt.Sprintf("Network %s, %s to the target, %s ÷ sync: %s.",
				n.Network, m.name, mode, strings.Join(texts, ", ")))
		}
	}
	return sentences
}

// apart marks a ratio that may be 1.
func apart(v metric.Interval) string {
	if v.Low > 1 || v.High < 1 {
		return ""
	}
	return " (cannot be told apart)"
}

// missed says which options do not reach the target in all runs, and what AUC they have at the end.
func (n *networkResult) missed() string {
	var texts []string
	for _, o := range n.Options {
		if o.Reached < len(o.Runs) {
			end := o.values(func(r *run) float64 { return r.AUC })
			texts = append(texts, fmt.Sprintf("%v (%d of %d; AUC after training %.3f to %.3f)", o, o.Reached,
				len(o.Runs), slices.Min(end), slices.Max(end)))
		}
	}
	if texts == nil {
		return fmt.Sprintf("Network %s: all %d options reach the target in all runs.", n.Network,
			len(n.Options))
	}
	return fmt.Sprintf("Network %s, not reached in all runs: %s.", n.Network, strings.Join(texts, "; "))
}

// nullFinding says how far the null model is from the options, by mode.
func (n *networkResult) nullFinding() []string {
	var texts []string
	by := map[string][]float64{}
	for _, o := range n.comparable() {
		if o.Null > 0 {
			by[o.Mode] = append(by[o.Mode], o.Null/o.Seconds.Estimate)
		}
	}
	for _, mode := range slices.Sorted(maps.Keys(by)) {
		texts = append(texts, fmt.Sprintf("%s %s (%s to %s)", mode, report.Three(report.Median(by[mode])),
			report.Three(slices.Min(by[mode])), report.Three(slices.Max(by[mode]))))
	}
	if texts == nil {
		return nil
	}
	return []string{fmt.Sprintf("Network %s, time by the null model ÷ simulated, median and range over "+
		"options: %s.", n.Network, strings.Join(texts, "; "))}
}

// quantities returns the levels of all options that reach the target, and the ratios of modes to sync. Those
// without a cluster in their names are of the first one.
func (p *plan) quantities(n *networkResult, m measured) (list []report.Quantity) {
	add := func(name, what string, v metric.Interval) {
		list = append(list, report.Quantity{Name: m.name + "-to-auc-" + name, Interval: v,
			What: m.name + " to the target AUC" + what, Over: report.OverBoth})
	}
	for _, o := range n.comparable() {
		cluster := strings.ToLower(o.Cluster)
		add(fmt.Sprintf("%s-%d-%s", o.Mode, o.GPUs, cluster), fmt.Sprintf(" in %s, %v", m.stored, o),
			*m.to(o))
		sync := n.find(o.Cluster, o.GPUs, job.Sync)
		if o.Mode == job.Sync || sync.Seconds == nil {
			continue
		}
		v, what := m.ratio(o, sync), fmt.Sprintf(", %s ÷ sync, %s", o.Mode, o.gpus())
		add(fmt.Sprintf("%s-over-sync-%d-%s", o.Mode, o.GPUs, cluster), what, v)
		if o.Cluster == p.Clusters[0].Name {
			add(fmt.Sprintf("%s-over-sync-%d", o.Mode, o.GPUs), what, v)
		}
	}
	return list
}

func (p *plan) notes(r *results) []string {
	edges, choices := 0, 0
	for _, n := range r.Networks {
		for _, c := range n.Tuning {
			choices++
			if c.AtEdge {
				edges++
			}
		}
	}
	notes := []string{
		fmt.Sprintf("An interval is where the next training would be with 95 %% probability, for another "+
			"seed and another point of what is unknown of the cluster and its prices: Student's, of "+
			"logarithms, from %d trainings with one seed and one point each. Ratios are of trainings with "+
			"the same seed and point. \"Cannot be told apart\" means that the next training may turn out "+
			"either way, not that the means are equal. What is best was chosen by the trainings that are "+
			"compared.", p.Seeds),
		fmt.Sprintf("Network and data are small, %s rows with %d samples a GPU and step, so that they can "+
			"be trained under simulated time: steps are bound by latencies, and what machines cost by their "+
			"number. Networks are named by the layers of their tops; numbers pass %v first.",
			report.Thousands(p.Data.Data.Synthetic.TrainRows), p.BatchPerGPU, p.Job.Model.Bottom),
		"The share of the rows in the rule of the target was lowered once, after a pilot with a quarter, " +
			"which hybrid with 64 GPUs did not reach in most worlds. Three of the pilot's worlds are among " +
			"those compared by default.",
		fmt.Sprintf("A time is that of the first evaluation that reaches the target; there are at least %d "+
			"in a training that has as many steps. Evaluations take no simulated time. The simulation has "+
			"no jitter.", p.Evaluations),
		fmt.Sprintf("Every mode has its own rates for every number of GPUs, chosen for the AUC after "+
			"training among %d × %d candidates in other worlds on the first cluster; other clusters take "+
			"them over. %d of %d choices are at an end of the grid.", len(p.Tuning.Rows),
			len(p.Tuning.Dense), edges, choices),
		fmt.Sprintf("Every cluster has %d hosts for EWs, %d for PSs and a loader; modes with dense PSs pay "+
			"for %d hosts more. Hosts do not grow with the GPUs, which may wait for them. Money is "+
			"time × price: machines are paid by the second, from the first step to the target.", hosts,
			hosts, p.Job.Roles.DensePSs),
		p.priceNote(),
		report.ModeSettingsNote(p.Job, p.Modes),
	}
	return append(notes, report.FewSeedsNote(p.Seeds, "seeds", "an interval")...)
}

func (p *plan) priceNote() string {
	var texts []string
	seen := map[string]bool{}
	add := func(name string, v quantity.Value[unit.Dollars]) {
		if seen[name] {
			return
		}
		seen[name] = true
		text := fmt.Sprintf("%s %g", name, float64(v.Mid))
		if low, high := v.Range(); low < high {
			text += fmt.Sprintf(", %s, in %g to %g", v.Kind, float64(low), float64(high))
		}
		texts = append(texts, fmt.Sprintf("%s (%s, %s)", text, v.Source, v.Date))
	}
	for _, c := range p.Clusters {
		h, _, err := cost.Load(&c.Section, "")
		if err != nil {
			continue // measuring has reported it
		}
		p.setPricesOf(h)
		add(h.Accelerator.Name, h.Accelerator.DollarsPerHour)
		add(h.Server.Name, h.Server.DollarsPerHour)
		add(h.EmbeddingPSs.Host.Name, h.EmbeddingPSs.Host.DollarsPerHour)
	}
	return "Prices in dollars an hour: " + strings.Join(texts, "; ") + "."
}

// figures returns the figures of a network. Those of a second network have its name in theirs.
func (p *plan) figures(r *results, n *networkResult, m measured) (list []report.Figure) {
	suffix := ""
	if n != r.Networks[0] {
		suffix = "-" + n.Network
	}
	if best := p.best(n, m); best != nil { // every option that reaches the target beside the best one
		f := report.Figure{Name: "options" + suffix,
			Title: fmt.Sprintf("Network %s: %s to the target ÷ that of %v", n.Network, m.name, best[0]),
			X: report.Axis{Label: fmt.Sprintf("ratio to the %s option, 95 %% of the next training",
				m.better)}}
		for _, o := range n.comparable() {
			v := m.ratio(o, best[0])
			f.Bars = append(f.Bars, report.Bar{Name: o.String(), Color: slices.Index(p.Modes, o.Mode),
				Value: v.Estimate, Low: v.Low, High: v.High})
		}
		list = append(list, f)
	}
	for _, c := range p.Clusters {
		if m.name == "time" {
			list = append(list, p.curves(r, n, c, "curve-"+strings.ToLower(c.Name)+suffix))
		}
	}
	return list
}

// curvePoints is about the number of points of a curve in a figure.
const curvePoints = 15

// curves returns the AUC by simulated time on a cluster: of the fewest GPUs dashed, of the next number as
// lines, of the most as points.
func (p *plan) curves(r *results, n *networkResult, c rented, name string) report.Figure {
	f := report.Figure{Name: name, Title: fmt.Sprintf("Network %s on %s", n.Network, c.Long),
		X: report.Axis{Label: "simulated time (ms)", LogPlusOne: true,
			Ticks: []float64{0, 1, 3, 10, 30, 100, 300, 1000, 3000, 10000}},
		Y: report.Axis{Label: "mean AUC of the test rows"},
	}
	last := 0.0
	for i, gpus := range p.GPUs {
		for k, mode := range p.Modes {
			line := report.Line{Name: fmt.Sprintf("%s, %d GPUs", mode, gpus), Color: k,
				Guide: i == 0 && len(p.GPUs) > 1, Scatter: i > 1}
			curve := n.find(c.Name, gpus, mode).Curve
			every := max(1, len(curve)/curvePoints)
			for k := every - 1; k < len(curve); k += every {
				line.Points = append(line.Points, report.Exact(curve[k].Seconds*1e3, curve[k].AUC))
				last = max(last, curve[k].Seconds*1e3)
			}
			if line.Points != nil {
				f.Lines = append(f.Lines, line)
			}
		}
	}
	if most := slices.IndexFunc(f.X.Ticks, func(at float64) bool { return at >= last }); most >= 0 {
		f.X.Ticks = f.X.Ticks[:most+1]
	}
	goal := metric.MeanInterval(r.Target).Estimate
	f.Lines = append(f.Lines, report.Line{Name: "target", Color: report.Grey, Guide: true,
		Points: []report.Point{report.Exact(0, goal), report.Exact(last, goal)}})
	return f
}
