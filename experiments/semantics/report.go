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

// report turns the results of a plan into tables, figures and sentences.
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

func (p *plan) variantTable(results []*result) cli.Table {
	t := cli.Table{
		Caption: "Quality on the test rows, mean over seeds, at the nominal rate and at the variant's best; ! where the best trial is the last at an end",
		Header: []string{"data", "optimizer of rows", "merge", "scale", "ranks", "nominal rate", "AUC ± 95 %", "best rate", "AUC ± 95 %",
			"log loss ± 95 % (nats)"},
		Words: 4,
	}
	for _, r := range results {
		for _, a := range r.Variants {
			merge, scale := a.Variant.Merge, a.Variant.Scale
			if a.Variant.Ranks == 1 {
				merge, scale = "any", "any"
			}
			t.Rows = append(t.Rows, []string{r.DataSet, a.Variant.Optimizer, merge, scale, strconv.Itoa(a.Variant.Ranks),
				fmt.Sprintf("%g", a.Variant.nominal), report.Level(a.Nominal.AUC),
				times(a.Best) + p.edge(a), report.Level(a.Tuned.AUC), report.Level(a.Tuned.LogLoss)})
		}
	}
	return t
}

// times writes a trial as a multiple of the nominal rate.
func times(trial int) string {
	if trial < 0 {
		return fmt.Sprintf("×1/%d", 1<<-trial)
	}
	return fmt.Sprintf("×%d", 1<<trial)
}

// edge marks a variant whose best rate may lie beyond the trials.
func (p *plan) edge(a *variantResult) string {
	if a.Best == p.Trials[0] || a.Best == p.Trials[len(p.Trials)-1] {
		return "!"
	}
	return ""
}

// move is going from Persia's setting to this project's.
type move struct {
	persia, ours *variantResult
	ranks        int
}

// moves lists them by optimizer and ranks.
func (r *result) moves() []move {
	var list []move
	for _, a := range r.Variants {
		if a.Variant.Merge != job.MergeRank || a.Variant.Scale != job.ScaleRank {
			continue
		}
		at := slices.IndexFunc(r.Variants, func(b *variantResult) bool {
			return b.Variant.Optimizer == a.Variant.Optimizer && b.Variant.Ranks == a.Variant.Ranks && b.Variant.Merge == job.MergeStep && b.Variant.Scale == job.ScaleGlobal
		})
		list = append(list, move{a, r.Variants[at], a.Variant.Ranks})
	}
	return list
}

// cost returns what AUC of this project's setting, on the rows of the trials, is
// lost by multiplying Persia's best rate by 2^power instead of tuning; false if no
// trial had that rate.
func (p *plan) cost(m move, power float64) (float64, bool) {
	at := slices.Index(p.Trials, m.persia.Best+int(power))
	if at < 0 || power != math.Trunc(power) {
		return 0, false
	}
	return slices.Max(m.ours.Trials) - m.ours.Trials[at], true
}

func (p *plan) moveTable(results []*result) cli.Table {
	t := cli.Table{
		Caption: "From Persia's setting (merge:rank scale:rank) to this project's (merge:step scale:global): multiply the rate by",
		Header:  []string{"data", "optimizer of rows", "ranks N", "tuned ratio", "AUC lost by ×1", "AUC lost by ×N", "Persia's tuned AUC", "ours tuned"},
		Words:   2,
	}
	for _, r := range results {
		for _, m := range r.moves() {
			row := []string{r.DataSet, m.ours.Variant.Optimizer, strconv.Itoa(m.ranks), times(m.ours.Best-m.persia.Best) + p.edgeOf(m)}
			for _, power := range []float64{0, math.Log2(float64(m.ranks))} {
				text := "–"
				if lost, known := p.cost(m, power); known {
					text = fmt.Sprintf("%.4f", lost)
				}
				row = append(row, text)
			}
			t.Rows = append(t.Rows, append(row, report.Level(m.persia.Tuned.AUC), report.Level(m.ours.Tuned.AUC)))
		}
	}
	return t
}

func (p *plan) edgeOf(m move) string {
	if p.edge(m.persia)+p.edge(m.ours) != "" {
		return "!"
	}
	return ""
}

// figure has the trials of an optimizer on the most ranks, and on one.
func (p *plan) figure(r *result, o optimizer) report.Figure {
	f := report.Figure{
		Name: o.Kind, Title: fmt.Sprintf("%s for rows, %s: AUC of the trials by rate", o.Kind, r.DataSet),
		X: report.Axis{Label: fmt.Sprintf("log₂ of the rate ÷ %g", o.Rate)}, Y: report.Axis{Label: "AUC on the last tenth of train"},
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

// findings has a sentence for every optimizer and data set.
func (p *plan) findings(results []*result) []string {
	var sentences []string
	for _, r := range results {
		for _, m := range r.moves() {
			if m.ranks != p.Ranks[len(p.Ranks)-1] {
				continue
			}
			text := fmt.Sprintf("%s, %s, %d ranks: from Persia's setting to ours the best rate goes %s", r.DataSet, m.ours.Variant.Optimizer,
				m.ranks, times(m.ours.Best-m.persia.Best))
			if p.edgeOf(m) != "" {
				text += " (a best rate lies at an end of the trials, so the ratio is not certain)"
			}
			if lost, known := p.cost(m, 0); known {
				text += fmt.Sprintf("; keeping the rate would cost %.4f AUC", lost)
			}
			if lost, known := p.cost(m, math.Log2(float64(m.ranks))); known {
				text += fmt.Sprintf(", multiplying it by N = %d %.4f", m.ranks, lost)
			}
			if m.ours.Variant.Optimizer == opt.SGD {
				text += "; by theory ×N is exact but for the order of merging"
			}
			sentences = append(sentences, text+".")
		}
	}
	return sentences
}

func (p *plan) notes() []string {
	step := p.Trials[1] - p.Trials[0]
	notes := []string{
		fmt.Sprintf("Every variant had the same %d trials, a factor of %d apart, under the first seed, on the last tenth of the training rows: a tuned ratio is known to one such factor.",
			len(p.Trials), 1<<step),
		"! marks a best rate at an end of the trials: the true one may lie beyond.",
		fmt.Sprintf("± is half the 95 %% interval of the mean over %d seeds (Student's t).", p.Seeds),
		"For SGD, scale:rank with N equal ranks has the bits of scale:global at N times the rate where N and the batch are powers of two; a test holds it.",
		"Adagrad's accumulators begin at 0.01, as Persia's. While the squares of gradients are small beside that, it acts like SGD, and the scale matters; later less.",
		"Merge and scale act on rows only: the dense gradient is the mean over the step in every variant. Rows merged by rank take one optimizer step for each rank that has them.",
	}
	if p.Seeds < report.SeedsWanted {
		notes = append(notes, fmt.Sprintf("Only %d seeds: take at least %d before believing an interval.", p.Seeds, report.SeedsWanted))
	}
	return notes
}
