package ablation

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"tandem/algo/metric"
	"tandem/experiments/internal/report"
	"tandem/internal/cli"
	"tandem/sim/predict"
)

func (p *plan) report(r *results) *report.Report {
	out := &report.Report{
		Comparisons: r.comparisons(), Notes: p.notes(r),
		Quantities: slices.Concat(p.factorQuantities(r), p.Quality.quantities(r.Accuracies)),
		Figures: []report.Figure{
			p.figure(r, "lost", "Throughput lost with one optimisation off (simulated)",
				"all on ÷ one off (thin line: over unknown inputs; mark: closed form of a schedule)",
				"all off"),
			p.figure(r, "gained", "Throughput gained with one optimisation alone on (simulated)",
				"one on ÷ all off (thin line: over unknown inputs)", "all on"),
		},
	}
	for _, t := range r.Throughputs {
		out.Tables = append(out.Tables, p.factorTable(t))
		out.Findings = append(out.Findings, p.findings(t)...)
	}
	out.Tables = append(out.Tables, report.ComparisonTables(out.Comparisons)...)
	out.Tables = append(out.Tables, p.Quality.levels(r.Accuracies))
	out.Findings = append(out.Findings, p.Quality.finding(r.Accuracies))
	return out
}

// factorTable has the factors of a benchmark beside what is expected.
func (p *plan) factorTable(t *throughputs) cli.Table {
	table := cli.Table{
		Caption: t.Name + ": throughput with ÷ without an optimisation (interval over unknown inputs), if " +
			"all others are on and if all others are off. Expected by a closed form: a schedule's step, or " +
			"1 to the saving of a resource",
		Header: []string{"optimisation", "lost if off", "gained alone", "expected"}, Words: 1,
	}
	for i, o := range p.Optimisations {
		table.Add(o.Name, factorText(t.Lost[i].Interval), factorText(t.Gained[i].Interval),
			t.Expected[i].String())
	}
	table.Add("product of these", factorText(t.Products[0]), factorText(t.Products[1]), "")
	table.Add("all on ÷ all off", factorText(t.Total), factorText(t.Total), "")
	return table
}

func factorText(v metric.Interval) string {
	return fmt.Sprintf("%.2f (%.2f–%.2f)", v.Estimate, v.Low, v.High)
}

// String returns what is expected, for a table.
func (e expectation) String() string {
	if e.Low == e.High {
		return fmt.Sprintf("%.2f", e.Low)
	}
	return fmt.Sprintf("%s–%s", report.Digits(e.Low, 2), report.Digits(e.High, 2))
}

// move is a change of the time that a step spends on a resource.
type move struct {
	resource string
	ms       float64
}

// moved returns the resource whose part of the critical path changes most from one variant to another, by
// time in a step.
func moved(from, to *variant) (most move) {
	part := map[string]float64{}
	var names []string
	add := func(v *variant, sign float64) {
		for _, b := range v.Bottlenecks {
			if _, known := part[b.Resource]; !known {
				names = append(names, b.Resource)
			}
			part[b.Resource] += sign * b.Share * 1e3 * v.Step.Seconds()
		}
	}
	add(to, 1)
	add(from, -1)
	for _, name := range names {
		if math.Abs(part[name]) > math.Abs(most.ms) {
			most = move{name, part[name]}
		}
	}
	return most
}

func signedText(ms float64) string { return report.Minus(fmt.Sprintf("%+.1f", ms)) }

// byLoss returns the indices of the optimisations, the largest loss first.
func (t *throughputs) byLoss() (order []int) {
	for i := range t.Lost {
		order = append(order, i)
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(t.Lost[b].Estimate, t.Lost[a].Estimate)
	})
	return order
}

func (p *plan) findings(t *throughputs) []string {
	var costly, free, alone, harmful []string
	for _, i := range t.byLoss() {
		name := p.Optimisations[i].Name
		if t.Lost[i].sign() > 0 {
			m := moved(t.All, t.Off[i])
			costly = append(costly, fmt.Sprintf("%s %s (in the critical path of a step: %s ms of %s)", name,
				factorText(t.Lost[i].Interval), signedText(m.ms), m.resource))
		} else {
			free = append(free, name)
		}
		switch text := name + " " + factorText(t.Gained[i].Interval); t.Gained[i].sign() {
		case 1:
			alone = append(alone, text)
		case -1:
			harmful = append(harmful, text)
		}
	}
	first := t.All.Bottlenecks[0]
	return []string{
		fmt.Sprintf("%s, all on: %.0f thousand samples/s (%.0f to %.0f). %s of the critical path: %s. "+
			"All on ÷ all off: %s.", t.Name, t.All.Throughput.Estimate/1e3, t.All.Throughput.Low/1e3,
			t.All.Throughput.High/1e3, percent(first.Share), first.Resource, factorText(t.Total)),
		fmt.Sprintf("%s, all on ÷ one off is above 1 over all unknown inputs, by more than jitter and %g "+
			"%%, for: %s. It is not for: %s.", t.Name, 100*negligible, orNothing(costly), orNothing(free)),
		fmt.Sprintf("%s, one alone on ÷ all off is above 1 for: %s; below 1 for: %s.", t.Name,
			orNothing(alone), orNothing(harmful)),
	}
}

func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

func orNothing(list []string) string {
	if list == nil {
		return "nothing"
	}
	return strings.Join(list, "; ")
}

// figure has a bar for each optimisation of each benchmark, the largest loss first, after all of them: what
// is lost, or gained, by them.
func (p *plan) figure(r *results, name, title, label, all string) report.Figure {
	f := report.Figure{Name: name, Title: title, X: report.Axis{Label: label}}
	for k, t := range r.Throughputs {
		add := func(name string, v metric.Interval, target float64) {
			f.Bars = append(f.Bars, report.Bar{Name: t.Name + ": " + name, Color: k, Value: v.Estimate,
				Low: v.Low, High: v.High, Target: target})
		}
		add(all, t.Total, 0)
		for _, i := range t.byLoss() {
			v, target := t.Gained[i].Interval, 0.0
			if name == "lost" {
				v = t.Lost[i].Interval
				if e := t.Expected[i]; e.Low == e.High {
					target = e.Low
				}
			}
			add(p.Optimisations[i].Name, v, target)
		}
	}
	return f
}

func (p *plan) factorQuantities(r *results) (list []report.Quantity) {
	for _, t := range r.Throughputs {
		add := func(name, what string, v metric.Interval) {
			list = append(list, report.Quantity{Name: name + "-" + t.ID, What: what + ", " + t.Name,
				Interval: v, Over: report.OverUnknowns})
		}
		add("throughput-all-on", "throughput with all optimisations, samples/s", t.All.Throughput)
		add("all-on-over-all-off", "throughput with all optimisations ÷ with none", t.Total)
		for i, o := range p.Optimisations {
			add("lost-without-"+o.ID, "throughput with all optimisations ÷ without "+o.Name,
				t.Lost[i].Interval)
			add("gained-by-"+o.ID, "throughput with "+o.Name+" alone ÷ with no optimisation",
				t.Gained[i].Interval)
		}
	}
	return list
}

func (p *plan) notes(r *results) []string {
	var off []string
	for _, o := range p.Optimisations {
		off = append(off, o.Name+": "+o.Off)
	}
	widest := 0.0
	for _, t := range r.Throughputs {
		for i := range t.Lost {
			widest = max(widest, t.Lost[i].Jitter, t.Gained[i].Jitter)
		}
	}
	notes := []string{
		"What stands in the place of an optimisation that is off: " + strings.Join(off, "; ") + ".",
		"Persia's paper and code name these optimisations; no published number was found of what one of " +
			"them gains, so no claim is compared. Not simulated: the layout of a PS's store, pools of GPU " +
			"memory and kernels with special instructions, for whose alternatives no measurement was found.",
		fmt.Sprintf("An interval is from the 1st to the 99th percentile over %d points of the box of "+
			"unknown inputs, the same for all variants; factors are taken point by point. Jitter is kept "+
			"apart: half the 95 %% interval of a factor over %d seeds is at most %.3f.", p.Samples,
			p.Seeds, widest),
		fmt.Sprintf("%d inputs with their sources are in the data of the report. SHA-256 of the inputs: %s.",
			len(r.Inputs.List), r.Inputs.Hash),
		"An expected range ends at the saving that the optimisation makes in its resource: it would be the " +
			"factor if nothing else took time, and it is 1 if the resource is never waited for. The " +
			"expected time of a schedule is from the stages of a run in which each is alone.",
		"All optimisations on is mode hybrid of the other experiments with packed ids besides. The " +
			"precision of the wire is that of all messages with embeddings, also between embedding workers " +
			"and PSs, where Persia's code has fp32. Packed ids are those of the paper, as notes on it " +
			"describe them; the code takes 28 bytes for a distinct id and 4 for each position.",
		"With whole tables on PSs the busiest PS has more rows, but messages of the mean size, so hashed " +
			"rows look cheaper to lose than they are.",
	}
	if p.Samples < predict.SamplesDefault {
		notes = append(notes, fmt.Sprintf("Only %d points: intervals are narrower than those of %d points.",
			p.Samples, predict.SamplesDefault))
	}
	return slices.Concat(notes, p.Quality.notes(r.Accuracies, p.Seeds))
}
