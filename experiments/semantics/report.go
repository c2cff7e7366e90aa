package semantics

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"tandem/algo/job"
	"tandem/algo/numeric/opt"
	"tandem/experiments/report"
	"tandem/internal/cli"
)

// report returns the results of a plan as tables, figures and sentences.
func (p *plan) report(results []*result) *report.Report {
	r := &report.Report{
		Findings: p.findings(results), Notes: p.notes(), Settings: p, Data: results,
		Tables: []cli.Table{p.moveTable(results), p.variantTable(results)},
	}
	for _, o := range p.Optimizers {
		r.Figures = append(r.Figures, p.figure(results[0], o))
	}
	return r
}

// variantTable returns a table of the quality of every variant.
func (p *plan) variantTable(results []*result) cli.Table {
	t := cli.Table{
		Caption: "Quality on the test rows, mean over seeds, at the nominal rate and at the best " +
			"rate; ! if the best is at an end of the trials",
		Header: []string{
			"data",
			"optimizer of rows",
			"merge",
			"scale",
			"ranks",
			"nominal rate",
			"AUC ± 95 %",
			"best rate",
			"AUC ± 95 %",
			"log loss ± 95 % (nats)",
		},
		Words: 4,
	}
	for _, r := range results {
		for _, a := range r.Variants {
			merge, scale := a.Variant.Merge, a.Variant.Scale
			if a.Variant.Ranks == 1 {
				merge, scale = "any", "any"
			}
			t.Rows = append(t.Rows, []string{
				r.DataSet, a.Variant.Optimizer, merge, scale, strconv.Itoa(a.Variant.Ranks),
				fmt.Sprintf("%g", a.Variant.nominal), report.Level(a.Nominal.AUC),
				times(a.Best) + p.edge(a), report.Level(a.Tuned.AUC), report.Level(a.Tuned.LogLoss),
			})
		}
	}
	return t
}

// times returns a trial as a multiple of the nominal rate.
func times(trial int) string {
	if trial < 0 {
		return fmt.Sprintf("×1/%d", 1<<-trial)
	}
	return fmt.Sprintf("×%d", 1<<trial)
}

// edge returns a mark for a variant whose best rate is at an end of the trials.
func (p *plan) edge(a *variantResult) string {
	if a.Best == p.Trials[0] || a.Best == p.Trials[len(p.Trials)-1] {
		return "!"
	}
	return ""
}

// move is a pair of variants: Persia's setting and this project's.
type move struct {
	persia, ours *variantResult
	ranks        int
}

// moves returns the moves by optimizer and ranks.
func (r *result) moves() []move {
	var list []move
	for _, a := range r.Variants {
		if a.Variant.Merge != job.MergeRank || a.Variant.Scale != job.ScaleRank {
			continue
		}
		at := slices.IndexFunc(r.Variants, func(b *variantResult) bool {
			return b.Variant.Optimizer == a.Variant.Optimizer && b.Variant.Ranks == a.Variant.Ranks &&
				b.Variant.Merge == job.MergeStep &&
				b.Variant.Scale == job.ScaleGlobal
		})
		list = append(list, move{a, r.Variants[at], a.Variant.Ranks})
	}
	return list
}

// cost returns the AUC that this project's setting loses, on the rows of the trials, with Persia's best
// rate times 2^power instead of its own best rate. It returns false if no trial had that rate.
func (p *plan) cost(m move, power float64) (float64, bool) {
	at := slices.Index(p.Trials, m.persia.Best+int(power))
	if at < 0 || power != math.Trunc(power) {
		return 0, false
	}
	return slices.Max(m.ours.Trials) - m.ours.Trials[at], true
}

// moveTable returns a table of the factors for the learning rate.
func (p *plan) moveTable(results []*result) cli.Table {
	t := cli.Table{
		Caption: "From Persia's setting (merge:rank scale:rank) to this project's (merge:step " +
			"scale:global): factor for the learning rate",
		Header: []string{
			"data",
			"optimizer of rows",
			"ranks N",
			"best factor",
			"AUC lost with ×1",
			"AUC lost with ×N",
			"Persia's best AUC",
			"Tandem's best AUC",
		},
		Words: 2,
	}
	for _, r := range results {
		for _, m := range r.moves() {
			row := []string{
				r.DataSet,
				m.ours.Variant.Optimizer,
				strconv.Itoa(m.ranks),
				times(m.ours.Best-m.persia.Best) + p.edgeOf(m),
			}
			for _, power := range []float64{0, math.Log2(float64(m.ranks))} {
				text := "–"
				if lost, known := p.cost(m, power); known {
					text = fmt.Sprintf("%.4f", lost)
				}
				row = append(row, text)
			}
			t.Rows = append(t.Rows,
				append(row, report.Level(m.persia.Tuned.AUC), report.Level(m.ours.Tuned.AUC)))
		}
	}
	return t
}

// edgeOf returns a mark for a move with a best rate at an end of the trials.
func (p *plan) edgeOf(m move) string {
	if p.edge(m.persia)+p.edge(m.ours) != "" {
		return "!"
	}
	return ""
}

// figure shows the trials of an optimizer on one rank and on the largest number of ranks.
func (p *plan) figure(r *result, o optimizer) report.Figure {
	f := report.Figure{
		Name:  o.Kind,
		Title: fmt.Sprintf("%s for rows, %s: AUC of the trials by learning rate", o.Kind, r.DataSet),
		X:     report.Axis{Label: fmt.Sprintf("log₂ of learning rate ÷ %g", o.Rate)},
		Y:     report.Axis{Label: "AUC on the last tenth of the training rows"},
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
		for i, trial := range p.Trials {
			l.Points = append(l.Points, report.Exact(float64(trial), a.Trials[i]))
		}
		f.Lines = append(f.Lines, l)
	}
	return f
}

// findings returns a sentence for each optimizer and data set.
func (p *plan) findings(results []*result) []string {
	var sentences []string
	for _, r := range results {
		for _, m := range r.moves() {
			if m.ranks != p.Ranks[len(p.Ranks)-1] {
				continue
			}
			text := fmt.Sprintf("%s, %s, %d ranks: from Persia's setting to Tandem's, the best "+
				"learning rate changes by %s", r.DataSet, m.ours.Variant.Optimizer,
				m.ranks, times(m.ours.Best-m.persia.Best))
			if p.edgeOf(m) != "" {
				text += " (a best rate is at an end of the trials, so the factor is uncertain)"
			}
			if lost, known := p.cost(m, 0); known {
				text += fmt.Sprintf("; keeping the rate loses %.4f AUC", lost)
			}
			if lost, known := p.cost(m, math.Log2(float64(m.ranks))); known {
				text += fmt.Sprintf(", multiplying it by N = %d loses %.4f", m.ranks, lost)
			}
			if m.ours.Variant.Optimizer == opt.SGD {
				text += "; in theory, ×N is exact except for the order of merging"
			}
			sentences = append(sentences, text+".")
		}
	}
	return sentences
}

// notes returns what a reader needs to judge the findings.
func (p *plan) notes() []string {
	step := p.Trials[1] - p.Trials[0]
	notes := []string{
		fmt.Sprintf("Every variant had the same %d trials, a factor of %d apart, under the first "+
			"seed, on the last tenth of the training rows. A best factor is therefore known to within "+
			"a factor of %d.", len(p.Trials), 1<<step, 1<<step),
		"! marks a best rate at an end of the trials: the true best rate may be beyond.",
		fmt.Sprintf("± is half the 95 %% interval of the mean over %d seeds (Student's t).", p.Seeds),
		"For SGD, scale:rank with N equal ranks gives the bits of scale:global with N times the rate " +
			"if N and the batch are powers of two, as a test checks.",
		"Adagrad's accumulators begin at 0.01, as in Persia. While the squares of gradients are small " +
			"in comparison, Adagrad acts like SGD and the scale matters; later it matters less.",
		"Merge and scale affect rows only: in every variant, the dense gradient is the mean over the " +
			"step. Rows merged by rank take one optimizer step per rank that has them.",
	}
	return append(notes, report.FewSeedsNote(p.Seeds, "seeds", "an interval")...)
}
