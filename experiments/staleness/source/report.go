package source

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tandem/algo/metric"
	"tandem/experiments/internal/judge"
	"tandem/experiments/internal/report"
	"tandem/internal/cli"
)

// report returns the results as tables, figures and sentences.
func (p *plan) report(results []*result) *report.Report {
	r := &report.Report{
		Findings: p.findings(results), Notes: p.notes(results), Settings: p, Data: results,
		Comparisons: comparisons(results), Quantities: p.quantities(results), Tables: p.tables(results),
	}
	for _, kind := range []string{ownRates, freshRates} {
		r.Figures = append(r.Figures, p.delayFigure(results, kind), p.setFigure(results, kind))
	}
	return r
}

// tables returns verdicts and losses, by kind of rates, then levels and rates.
func (p *plan) tables(results []*result) (tables []cli.Table) {
	for _, kind := range kinds() {
		tables = append(tables, p.thesisTable(results, kind), p.lossTable(results, kind))
	}
	for _, kind := range []string{freshRates, defaultRate} {
		if t := p.lengthTable(results, kind); len(t.Rows) > 0 {
			tables = append(tables, t)
		}
	}
	return append(tables, p.levelTable(results), p.rateTable(results))
}

// main returns the comparison of length 1 at the main delay and a kind of rates.
func (p *plan) main(r *result, kind string) *comparison {
	return r.Comparisons[slices.IndexFunc(r.Comparisons, func(c *comparison) bool {
		return c.Length == 1 && c.Delay == p.MainDelay && c.Rates == kind
	})]
}

// kinds returns the kinds of rates.
func kinds() []string { return []string{ownRates, freshRates, defaultRate} }

// lossTable returns a table with the losses at the main delay and a kind of rates.
func (p *plan) lossTable(results []*result, kind string) cli.Table {
	t := cli.Table{
		Caption: fmt.Sprintf("Loss of AUC %s, a part %d steps late; lag: fresh with %d steps fewer",
			rateText(kind), p.MainDelay, p.MainDelay),
		Header: []string{"data", "rows late", "network late", "lag"}, Words: 1,
	}
	for _, r := range results {
		c := p.main(r, kind)
		t.Rows = append(t.Rows, []string{r.DataSet, report.Amount(c.RowLoss), report.Amount(c.NetworkLoss),
			report.Amount(c.LagLoss)})
	}
	return t
}

// thesisTable returns a table with the verdicts on the thesis at the main delay and a kind of rates.
func (p *plan) thesisTable(results []*result, kind string) cli.Table {
	t := cli.Table{
		Caption: fmt.Sprintf("Thesis %s, %d steps late: the network loses more than the rows (holds), less "+
			"(reversed), or not distinguishable (open); * also among all comparisons of the report",
			rateText(kind), p.MainDelay),
		Header: []string{"data", "thesis", "network − rows", "network ÷ rows"}, Words: 2,
	}
	for _, r := range results {
		c := p.main(r, kind)
		t.Rows = append(t.Rows, []string{r.DataSet, short(c), report.Amount(c.Difference.AUC),
			c.Ratio.String()})
	}
	return t
}

// short returns a verdict for a table.
func short(c *comparison) string {
	text := string(c.Verdict)
	if c.Verdict == unclear {
		text = "open"
	}
	return text + star(c)
}

// star returns the mark of a difference that stands among all comparisons of the report.
func star(c *comparison) string {
	if c.isSure() {
		return "*"
	}
	return ""
}

// lengthTable returns a table of the losses on shorter and longer runs at a kind of rates.
func (p *plan) lengthTable(results []*result, kind string) cli.Table {
	t := cli.Table{
		Caption: fmt.Sprintf("Loss of AUC by run length %s, %d steps late; rates are tuned for the middle "+
			"length of generated and for the shortest of real data", rateText(kind), p.MainDelay),
		Header: []string{"data", "steps", "thesis", "rows late", "network late"}, Words: 1,
	}
	for _, r := range results {
		if len(r.set.Lengths) == 1 {
			continue
		}
		for _, length := range slices.Sorted(slices.Values(r.set.Lengths)) {
			c := r.Comparisons[slices.IndexFunc(r.Comparisons, func(c *comparison) bool {
				return c.Length == length && c.Rates == kind && c.Delay == p.MainDelay
			})]
			t.Rows = append(t.Rows, []string{r.DataSet, report.Thousands(c.Steps), short(c),
				report.Amount(c.RowLoss), report.Amount(c.NetworkLoss)})
		}
	}
	return t
}

// levelTable returns a table of the AUC of fresh training beside simpler and better predictions.
func (p *plan) levelTable(results []*result) cli.Table {
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
		t.Rows = append(t.Rows, []string{r.DataSet, report.Level(p.main(r, ownRates).Fresh.AUC),
			report.Mean(p.main(r, defaultRate).Fresh.AUC), report.Mean(r.Logistic), oracle,
			report.Thousands(r.TestRows)})
	}
	return t
}

// rateTable returns a table of the tuned rates at the main delay, two lines for each data set.
func (p *plan) rateTable(results []*result) cli.Table {
	t := cli.Table{
		Caption: "Tuned learning rates; ! if the best candidate is at an end of the grid",
		Header:  []string{"data", "rate of", "fresh", "rows late", "network late", "logistic"},
		Words:   2,
	}
	for _, r := range results {
		arms := p.tunedArms(r.set)
		ofRows, ofNetwork := []string{r.DataSet, "rows"}, []string{r.DataSet, "network"}
		for _, a := range []arm{{late: nothing}, {late: rows, delay: p.MainDelay},
			{late: network, delay: p.MainDelay}, arms[len(arms)-1]} {
			c, edge := r.Tuning[slices.Index(arms, a)], ""
			if c.AtEdge {
				edge = "!"
			}
			ofRows = append(ofRows, report.Digits(c.Rows, 2)+edge)
			ofNetwork = append(ofNetwork, report.Digits(c.Dense, 2)+edge)
		}
		t.Rows = append(t.Rows, ofRows, ofNetwork)
	}
	return t
}

// findings returns a sentence on the thesis over all data sets, and sentences on each.
func (p *plan) findings(results []*result) []string {
	var sentences []string
	for _, kind := range kinds() {
		sets := map[verdict][]string{}
		for _, r := range results {
			c := p.main(r, kind)
			sets[c.Verdict] = append(sets[c.Verdict], r.DataSet+star(c))
		}
		var texts []string
		for _, v := range []verdict{holds, reversed, unclear} {
			if sets[v] != nil {
				texts = append(texts, fmt.Sprintf("%s on %s", v, strings.Join(sets[v], ", ")))
			}
		}
		sentences = append(sentences, fmt.Sprintf("%s, %d steps late, the thesis that the network loses "+
			"more than the rows: %s.", sentenceStart(kind), p.MainDelay, strings.Join(texts, "; ")))
	}
	for _, r := range results {
		if r.Alpha > 0 {
			sentences = append(sentences, p.ratioFinding(r))
		}
	}
	for _, r := range results {
		for _, text := range []string{p.lossFinding(r), p.changes(r)} {
			if text != "" {
				sentences = append(sentences, text)
			}
		}
	}
	return sentences
}

// sentenceStart names a kind of rates at the beginning of a sentence.
func sentenceStart(kind string) string {
	text := rateText(kind)
	return strings.ToUpper(text[:1]) + text[1:]
}

// rateText names a kind of rates.
func rateText(kind string) string {
	switch kind {
	case ownRates:
		return "at the tuned rates of each arm"
	case freshRates:
		return "at the tuned rates of fresh"
	}
	return "at the default rates, which are not tuned"
}

// quantities returns the thesis on every data set, at the tuned rates of each arm.
func (p *plan) quantities(results []*result) []report.Quantity {
	var list []report.Quantity
	for _, r := range results {
		list = append(list, report.Quantity{
			Name: "network-less-row-loss-" + report.Slug(r.DataSet),
			What: fmt.Sprintf("AUC lost by a network %d steps late, less that by rows as late, %s, at tuned "+
				"rates", p.MainDelay, r.DataSet),
			Interval: p.main(r, ownRates).Difference.AUC, Over: report.OverSeeds,
		})
	}
	return list
}

// ratioFinding returns a sentence on network loss ÷ row loss.
func (p *plan) ratioFinding(r *result) string {
	var texts []string
	for _, kind := range []string{ownRates, freshRates} {
		c := p.main(r, kind)
		texts = append(texts, fmt.Sprintf("%s %s, with losses of %s (network) and %s (rows)", rateText(kind),
			c.Ratio, report.Amount(c.NetworkLoss), report.Amount(c.RowLoss)))
	}
	return fmt.Sprintf("%s, network loss ÷ row loss: %s.", r.DataSet, strings.Join(texts, "; "))
}

// changes returns a sentence on how the verdict of a data set depends on rates and run length, or "".
func (p *plan) changes(r *result) string {
	var texts []string
	seen := map[verdict]bool{}
	for _, c := range r.Comparisons {
		if c.Delay != p.MainDelay {
			continue
		}
		seen[c.Verdict] = true
		texts = append(texts, fmt.Sprintf("%s%s in %s steps %s (%s)", c.Verdict, star(c),
			report.Thousands(c.Steps),
			rateText(c.Rates), report.Amount(c.Difference.AUC)))
	}
	if len(seen) < 2 {
		return ""
	}
	return fmt.Sprintf("%s, the thesis by run length and rates, with the network's loss less the rows': %s.",
		r.DataSet, strings.Join(texts, "; "))
}

// lossFinding returns a sentence on the losses of a data set at the tuned rates of each arm that are above
// judge.FindingLeast and exclude 0, or "".
func (p *plan) lossFinding(r *result) string {
	var texts []string
	for _, c := range r.Comparisons {
		if c.Rates != ownRates {
			continue
		}
		for _, one := range []struct {
			name string
			loss metric.Interval
		}{{"rows", c.RowLoss}, {"the network", c.NetworkLoss}} {
			if math.Abs(one.loss.Estimate) > judge.FindingLeast && (one.loss.Low > 0 || one.loss.High < 0) {
				texts = append(texts, fmt.Sprintf("%s %d steps late in a run of %s: %s", one.name, c.Delay,
					report.Thousands(c.Steps), report.Amount(one.loss)))
			}
		}
	}
	if texts == nil {
		return ""
	}
	return fmt.Sprintf("%s, losses of AUC above %g %s: %s.", r.DataSet, judge.FindingLeast,
		rateText(ownRates), strings.Join(texts, "; "))
}

// notes returns what a reader needs to judge the findings.
func (p *plan) notes(results []*result) []string {
	diverged, edges := 0, 0
	var unsure []string
	for _, r := range results {
		for _, c := range r.Comparisons {
			diverged += c.Diverged
		}
		for _, c := range r.Tuning {
			if c.AtEdge {
				edges++
			}
			effect := math.Abs(p.main(r, ownRates).Difference.AUC.Estimate)
			if c.StandardError > max(tuningError, effect/3) {
				unsure = append(unsure, fmt.Sprintf("%s (%.4f)", c.Arm, c.StandardError))
			}
		}
	}
	notes := []string{
		"The thesis holds, or is reversed, if the interval of the network's loss less the rows' excludes " +
			"0; * says that it is different after Holm's adjustment, too. Losses have intervals over seeds " +
			"alone. The interval of a ratio is Fieller's; \"any\": the loss of rows may be 0, and so the " +
			"ratio anything.",
		"Training is sequential and gives the same bits in every run.",
		fmt.Sprintf("Rates are the best of %d × %d candidates by successive halving under %s seeds, the "+
			"same trials for every arm, on rows that no comparison uses.", len(p.Tuning.Rows),
			len(p.Tuning.Dense), p.tuningSeeds()),
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
	return append(notes, report.FewSeedsNote(p.Seeds, "seeds", "an interval")...)
}

// tuningSeeds returns the numbers of seeds of the tuner.
func (p *plan) tuningSeeds() string {
	low, high := math.MaxInt, 0
	for _, s := range p.Sets {
		low, high = min(low, s.TuningSeeds), max(high, s.TuningSeeds)
	}
	if low == high {
		return fmt.Sprint(low)
	}
	return fmt.Sprintf("%d (real data) to %d", low, high)
}

// tuningError is the largest standard error of tuning that is not noted.
const tuningError = 0.0005
