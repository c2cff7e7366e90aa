package source

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tandem/algo/metric"
	"tandem/experiments/internal/judge"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/tune"
	"tandem/internal/cli"
)

func (p *latePlan) report(results []*lateResult) *report.Report {
	r := &report.Report{
		Findings: p.findings(results), Notes: p.notes(results), Comparisons: differences(results),
	}
	for _, kind := range kinds() {
		r.Tables = append(r.Tables, p.lossTable(results, kind))
	}
	r.Tables = append(r.Tables, p.levelTable(results))
	for _, one := range results {
		r.Tables = append(r.Tables, tune.Table(one.Tuning))
	}
	for _, kind := range []string{ownRates, freshRates} {
		r.Figures = append(r.Figures, p.delayFigure(results, kind))
	}
	for _, one := range results {
		r.Quantities = append(r.Quantities, report.Quantity{
			Name: "network-less-row-loss-" + report.Slug(one.DataSet),
			What: fmt.Sprintf("AUC lost by a network %d steps late, less that by rows as late, %s, at tuned "+
				"rates", p.MainDelay, one.DataSet),
			Interval: p.main(one, ownRates).Difference.AUC, Over: report.OverSeeds,
		})
	}
	return r
}

// main returns the comparison of length 1 at the main delay and a kind of rates.
func (p *latePlan) main(r *lateResult, kind string) *lateComparison {
	return r.Comparisons[slices.IndexFunc(r.Comparisons, func(c *lateComparison) bool {
		return c.Length == 1 && c.Delay == p.MainDelay && c.Rates == kind
	})]
}

func kinds() []string { return []string{ownRates, freshRates, defaultRate} }

func lateRates(kind string) string {
	return map[string]string{
		ownRates: "at the tuned rates of each arm", freshRates: "at the tuned rates of fresh",
		defaultRate: "at the default rates, which are not tuned",
	}[kind]
}

// lossTable returns a table of the verdicts and losses at the main delay and a kind of rates, by run length.
func (p *latePlan) lossTable(results []*lateResult, kind string) cli.Table {
	t := cli.Table{
		Caption: fmt.Sprintf("Thesis %s: a network %d steps late loses more than such rows (holds), less "+
			"(reversed), or not distinguishable (open); * also among all comparisons of the report. Losses "+
			"of AUC in thousandths, by run length: rates are tuned for the middle length of generated and "+
			"for the shortest of real data", lateRates(kind), p.MainDelay),
		Header: []string{"data", "steps", "thesis", "network\n− rows", "rows\nlate", "network\nlate"},
		Words:  1,
	}
	for _, r := range results {
		ofKind := slices.DeleteFunc(slices.Clone(r.Comparisons), func(c *lateComparison) bool {
			return c.Rates != kind || c.Delay != p.MainDelay
		})
		slices.SortFunc(ofKind, func(a, b *lateComparison) int { return a.Steps - b.Steps })
		for _, c := range ofKind {
			t.Add(r.DataSet, report.Thousands(c.Steps), c.short(), report.MilliInterval(c.Difference.AUC),
				report.MilliInterval(c.RowLoss), report.MilliInterval(c.NetworkLoss))
		}
	}
	return t
}

// short returns the verdict for a table.
func (c *lateComparison) short() string {
	if c.Verdict == unclear {
		return "open" + c.star()
	}
	return string(c.Verdict) + c.star()
}

// star returns the mark of a difference that stands among all comparisons of the report.
func (c *lateComparison) star() string {
	if c.Difference.Verdict == metric.Different {
		return "*"
	}
	return ""
}

// levelTable returns a table of the AUC of fresh training beside simpler and better predictions.
func (p *latePlan) levelTable(results []*lateResult) cli.Table {
	t := cli.Table{
		Caption: "AUC without delay on the test rows; a constant guess has 0.5, no model exceeds the oracle",
		Header:  []string{"data", "tuned", "default", "logistic", "oracle", "test rows"},
		Words:   1,
	}
	for _, r := range results {
		oracle := "–"
		if r.Oracle != nil {
			oracle = report.Mean(r.Oracle)
		}
		t.Add(r.DataSet, report.Level(p.main(r, ownRates).Fresh.AUC),
			report.Mean(p.main(r, defaultRate).Fresh.AUC), report.Mean(r.Logistic), oracle,
			report.Thousands(r.TestRows))
	}
	return t
}

// delayFigure shows the losses by delay on generated data.
func (p *latePlan) delayFigure(results []*lateResult, kind string) report.Figure {
	f := report.Figure{
		Name: "delay-" + kind, Title: "What a late part costs in AUC, " + lateRates(kind),
		X: report.Axis{Label: "delay (steps)", LogPlusOne: true}, Y: lossAxis(),
	}
	color := 0
	for _, r := range results {
		if r.Alpha == 0 {
			continue
		}
		lines := []report.Line{
			{Name: "rows late, " + r.DataSet, Color: color},
			{Name: "network late, " + r.DataSet, Color: color + 1},
			{Name: "steps fewer, " + r.DataSet, Color: color, Guide: true},
		}
		f.X.Ticks = nil // all generated data have the same delays
		for _, c := range r.Comparisons {
			if c.Length != 1 || c.Rates != kind {
				continue
			}
			delay := float64(c.Delay)
			f.X.Ticks = append(f.X.Ticks, delay)
			for i, v := range c.losses() {
				// Points are moved sideways on the logarithmic axis, so that error bars do not overlap.
				x := delay + 0.05*(float64(color+i)-1.5)*(1+delay)
				lines[i].Points = append(lines[i].Points, lossPoint(x, v))
			}
		}
		f.Lines = append(f.Lines, lines...)
		color += 2
	}
	return f
}

// losses returns what rows late, the network late and the lag lose.
func (c *lateComparison) losses() []metric.Interval {
	return []metric.Interval{c.RowLoss, c.NetworkLoss, c.LagLoss}
}

func lossAxis() report.Axis {
	a := report.Axis{Label: "loss of AUC, gains at 0 (bars: 95 %)"}
	for _, loss := range []float64{0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3} {
		a.Ticks, a.Names = append(a.Ticks, height(loss)), append(a.Names, fmt.Sprint(loss))
	}
	return a
}

// height returns the place of a loss on the axis: logarithmic in 1 + 1000 losses, which ends at 0.
func height(loss float64) float64 { return math.Log1p(1000 * max(loss, 0)) }

func lossPoint(x float64, v metric.Interval) report.Point {
	return report.Point{X: x, Y: height(v.Estimate), Low: height(v.Low), High: height(v.High)}
}

// findings returns sentences on the thesis over all data sets, and sentences on each.
func (p *latePlan) findings(results []*lateResult) (sentences []string) {
	for _, kind := range kinds() {
		sets := map[verdict][]string{}
		for _, r := range results {
			c := p.main(r, kind)
			sets[c.Verdict] = append(sets[c.Verdict], r.DataSet+c.star())
		}
		var texts []string
		for _, v := range []verdict{holds, reversed, unclear} {
			if sets[v] != nil {
				texts = append(texts, fmt.Sprintf("%s on %s", v, strings.Join(sets[v], ", ")))
			}
		}
		sentences = append(sentences, fmt.Sprintf("A%s, %d steps late, the thesis that the network loses "+
			"more than the rows: %s.", lateRates(kind)[1:], p.MainDelay, strings.Join(texts, "; ")))
	}
	for _, r := range results {
		sentences = append(sentences, p.lossFinding(r)...)
	}
	return sentences
}

// lossFinding returns a sentence on the losses of a data set at the tuned rates of each arm that are above
// judge.FindingLeast and exclude 0, if there are any.
func (p *latePlan) lossFinding(r *lateResult) []string {
	var texts []string
	for _, c := range r.Comparisons {
		if c.Rates != ownRates {
			continue
		}
		for i, name := range []string{"rows", "the network"} {
			loss := c.losses()[i]
			if math.Abs(loss.Estimate) > judge.FindingLeast && (loss.Low > 0 || loss.High < 0) {
				texts = append(texts, fmt.Sprintf("%s %d steps late in a run of %s: %s", name, c.Delay,
					report.Thousands(c.Steps), report.Amount(loss)))
			}
		}
	}
	if texts == nil {
		return nil
	}
	return []string{fmt.Sprintf("%s, losses of AUC above %g %s: %s.", r.DataSet, judge.FindingLeast,
		lateRates(ownRates), strings.Join(texts, "; "))}
}

// tuningError is the largest standard error of tuning that is not noted.
const tuningError = 0.0005

func (p *latePlan) notes(results []*lateResult) []string {
	diverged, edges, fewest, most := 0, 0, math.MaxInt, 0
	var unsure []string
	for _, r := range results {
		for _, c := range r.Comparisons {
			diverged += c.Diverged
		}
		effect := math.Abs(p.main(r, ownRates).Difference.AUC.Estimate)
		for _, c := range r.Tuning {
			if c.AtEdge {
				edges++
			}
			if c.StandardError > max(tuningError, effect/3) {
				unsure = append(unsure, fmt.Sprintf("%s (%.4f)", c.Arm, c.StandardError))
			}
			fewest, most = min(fewest, len(c.BestRows)), max(most, len(c.BestRows))
		}
	}
	seeds := fmt.Sprint(most)
	if fewest < most {
		seeds = fmt.Sprintf("%d (real data) to %d", fewest, most)
	}
	notes := []string{
		"The thesis holds, or is reversed, if the interval of the network's loss less the rows' excludes " +
			"0; * says that it is different after Holm's adjustment, too. Losses have intervals over seeds " +
			"alone.",
		"Training is sequential and gives the same bits in every run.",
		fmt.Sprintf("Rates are the best of %d × %d candidates by successive halving under %s seeds, the "+
			"same trials for every arm, on rows that no comparison uses.", len(p.Tuning.Rows),
			len(p.Tuning.Dense), seeds),
		"Generated data, including the teacher, differ from seed to seed. On real data, seeds vary the " +
			"order and the initial values.",
		fmt.Sprintf("%d arms have their best rates at an end of the grid; %d trainings of comparisons "+
			"diverged and count as a constant guess.", edges, diverged),
	}
	if unsure != nil {
		notes = append(notes, fmt.Sprintf("The tuner cannot tell the best rates from the next by less than "+
			"%g AUC or a third of the effect (standard error in brackets): %s.", tuningError,
			strings.Join(unsure, ", ")))
	}
	notes = append(notes, report.FewSeedsNote(p.Seeds, "seeds", "an interval")...)
	return append(notes, report.Absent(p.Sets, p.folder, func(s set) bool {
		return slices.ContainsFunc(results, func(r *lateResult) bool { return r.DataSet == s.Name })
	})...)
}
