package semantics

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/stat"

	"tandem/algo/numeric/opt"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/tune"
	"tandem/internal/cli"
)

func (p *plan) report(results []*result) *report.Report {
	for _, one := range results { // early results lack the comparisons of moves
		one.Moves = slices.DeleteFunc(one.Moves, func(m *move) bool { return m.Same == nil })
	}
	r := &report.Report{
		Comparisons: comparisons(results), Findings: p.findings(results), Notes: p.notes(),
	}
	for _, one := range results {
		r.Tables = append(r.Tables, one.moveTable(), one.variantTable())
	}
	for _, o := range p.Optimizers {
		r.Figures = append(r.Figures, p.figure(results[0], o))
	}
	return r
}

func (r *result) variantTable() cli.Table {
	t := cli.Table{
		Caption: r.DataSet + ": AUC on the test rows, mean over seeds, at the nominal rate and at the best " +
			"one ± half the 95 % interval; ! if the best candidate is at an end of the grid",
		Header: []string{"rows", "merge/scale", "N", "at nominal", "best rate", "AUC ± 95 %"},
		Words:  2,
	}
	for _, a := range r.Variants {
		how := a.Variant.Merge + "/" + a.Variant.Scale
		if a.Variant.Ranks == 1 {
			how = "any"
		}
		t.Rows = append(t.Rows, []string{
			a.Variant.Optimizer, how, strconv.Itoa(a.Variant.Ranks), report.Mean(a.Nominal.AUC),
			report.Digits(a.Choice.Rows, 3) + edge(a.Choice.AtEdge), report.Level(a.Tuned.AUC),
		})
	}
	return t
}

// edge returns the mark of a best candidate at an end of the grid.
func edge(isThere bool) string {
	if isThere {
		return "!"
	}
	return ""
}

func (r *result) moveTable() cli.Table {
	t := cli.Table{
		Caption: r.DataSet + ": from Persia's setting (merge:rank scale:rank) to Tandem's (merge:step " +
			"scale:global): factor between the best learning rates, and the AUC × 1000 lost with Persia's " +
			"best rate × 1 and × N",
		Header: []string{"rows", "N", "factor (95 %)", "lost, ×1", "lost, ×N"},
		Words:  1,
	}
	for _, m := range r.Moves {
		t.Rows = append(t.Rows, []string{
			m.Optimizer, strconv.Itoa(m.Ranks), report.RatioText(m.Factor) + edge(m.AtEdge),
			report.MilliInterval(report.Negated(m.Same.AUC)),
			report.MilliInterval(report.Negated(m.TimesN.AUC)),
		})
	}
	return t
}

// figure shows the candidates of an optimizer on one rank and on the largest number of ranks.
func (p *plan) figure(r *result, o optimizer) report.Figure {
	f := report.Figure{
		Name: o.Kind,
		Title: fmt.Sprintf("%s for rows, %s: AUC of all candidates under the first seed of tuning", o.Kind,
			r.DataSet),
		X: report.Axis{Label: fmt.Sprintf("log₂ of learning rate ÷ %g", o.Rate)},
		Y: report.Axis{Label: "AUC"},
	}
	most := p.Ranks[len(p.Ranks)-1]
	for _, a := range r.Variants {
		if a.Variant.Optimizer != o.Kind || a.Variant.Ranks != 1 && a.Variant.Ranks != most {
			continue
		}
		l := report.Line{Name: "1 rank", Color: len(f.Lines)}
		if a.Variant.Ranks > 1 {
			l.Name = fmt.Sprintf("%d ranks, %s, %s", most, a.Variant.Merge, a.Variant.Scale)
		}
		for _, c := range a.Choice.Candidates[:len(p.Factors)] {
			if c.AUC[0] > 0 { // it did not diverge
				l.Points = append(l.Points, report.Exact(math.Log2(c.Rows/o.Rate), c.AUC[0]))
			}
		}
		f.Lines = append(f.Lines, l)
	}
	return f
}

// findings returns a sentence on the tuner, and one for each optimizer and data set.
func (p *plan) findings(results []*result) []string {
	below, all := 0, 0
	for _, r := range results {
		for _, v := range r.Variants {
			all++
			differences := report.Differences(v.Tuned.AUC, v.Nominal.AUC)
			if stat.Mean(differences, nil) < -tune.StandardError(differences) {
				below++
			}
		}
	}
	sentences := []string{fmt.Sprintf("At its tuned rate, the test AUC of %d of %d variants is below that "+
		"at the nominal rate by more than one standard error.", below, all)}
	for _, r := range results {
		for _, m := range r.Moves {
			if m.Ranks != p.Ranks[len(p.Ranks)-1] {
				continue
			}
			text := fmt.Sprintf("%s, %s, %d ranks: from Persia's setting to Tandem's, the best learning "+
				"rate changes by a factor of %s", r.DataSet, m.Optimizer, m.Ranks,
				report.RatioText(m.Factor))
			if m.AtEdge {
				text += ", uncertain because a best rate is at an end of the grid"
			}
			text += fmt.Sprintf("; keeping the rate loses %s AUC, multiplying it by N = %d loses %s",
				report.Amount(report.Negated(m.Same.AUC)), m.Ranks,
				report.Amount(report.Negated(m.TimesN.AUC)))
			if m.Optimizer == opt.SGD {
				text += "; in theory, ×N is exact except for the order of merging"
			}
			sentences = append(sentences, text+".")
		}
	}
	return sentences
}

func (p *plan) notes() []string {
	notes := []string{
		fmt.Sprintf("Every variant had the same number of trials: %d rates under one seed, the best under "+
			"%d, and the top of a parabola in the logarithm of the rate. On generated data they use rows of "+
			"seeds that are not used afterwards, on real data the last tenth of the training rows.",
			len(p.Factors), p.TuningSeeds),
		"The nominal rate is kept unless another is better by more than two standard errors on those rows.",
		"A training that diverged counts as a guess of ½.",
		"! marks a best candidate at an end of the grid: the true best rate may be beyond.",
		"For SGD, scale:rank with N equal ranks gives the bits of scale:global with N times the rate " +
			"if N and the batch are powers of two, as a test checks.",
		"Adagrad's accumulators begin at 0.01, as in Persia. While the squares of gradients are small " +
			"in comparison, Adagrad acts like SGD and the scale matters; later it matters less.",
		"Merge and scale affect rows only: in every variant, the dense gradient is the mean over the " +
			"step. Rows merged by rank take one optimizer step per rank that has them.",
	}
	return append(notes, report.FewSeedsNote(p.Seeds, "seeds", "an interval")...)
}
