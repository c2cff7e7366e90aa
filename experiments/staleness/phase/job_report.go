package phase

import (
	"fmt"

	"tandem/algo/numeric/opt"
	"tandem/experiments/internal/report"
	"tandem/internal/cli"
)

// sentence says where a table lies.
func (t *table) sentence(d *diagram) string {
	if t.Top == 0 {
		return t.Slot + ": no ids in the training rows."
	}
	where := fmt.Sprintf("%s: the most frequent id is in %s %% of the rows; reads are at most %d steps "+
		"behind their own rank: ", t.Slot, report.Digits(100*t.Top, 2), t.Late)
	rarer := ""
	if t.Place.Rarer {
		rarer = fmt.Sprintf(", judged as %s %%, the rarest that was measured",
			report.Digits(100*d.alphas[0], 2))
	}
	others := ""
	switch {
	case t.Place.Region == t.Bound.Region:
	case t.Most < 0:
		others = "; behind other ranks there is no bound"
	default:
		others = fmt.Sprintf("; at the bound of %d steps behind other ranks: %s", t.Most, t.Bound.Region)
	}
	switch t.Place.Region {
	case safe:
		if t.Late == 0 {
			return where + "safe, as no read is late" + others + "."
		}
		return where + "inside the measured safe region" + rarer + others + "."
	case loss:
		return where + fmt.Sprintf("in the region of measured loss, up to %.4f AUC%s%s.",
			t.Place.Worst, rarer, others)
	case unclear:
		return where + fmt.Sprintf("between safe and loss: the measured %.4f AUC is not certain%s%s.",
			max(0, t.Place.Worst), rarer, others)
	}
	return where + fmt.Sprintf("outside what was measured (ids in up to %.0f %% of rows, %d steps).",
		100*d.alphas[len(d.alphas)-1], d.taus[len(d.taus)-1])
}

// report returns the places of a job's tables.
func (p *placed) report(r *result) *report.Report {
	out := &report.Report{
		Notes: []string{
			"Nothing was trained: the cells are those of the stored full version, at its tuned rate. A " +
				"rate far from the tuned one, or a short run, can lose more.",
			"In the diagram all six columns have ids as frequent as that of the table, so a single hot " +
				"table loses less.",
			"τ is the bound on what a read misses of its own rank, by training.staleness or " +
				"training.prefetch; \"bound\" is that on what it misses of any rank. Simulated reads " +
				"are about as late as τ allows.",
			"Frequencies are counted in the training rows; those of few rows say little.",
		},
		Tables: []cli.Table{p.table()}, Figures: []report.Figure{p.figure(r)}, Settings: p, Data: p,
	}
	for _, one := range p.Tables {
		out.Findings = append(out.Findings, one.Sentence)
	}
	return out
}

// table returns a line per table of the job.
func (p *placed) table() cli.Table {
	t := cli.Table{
		Caption: fmt.Sprintf("Tables of %s: %s on %d ranks, rows with %s", p.Job, p.Mode, p.Ranks,
			p.Optimizer),
		Header: []string{"slot", "at τ", "at the bound", "top id in rows", "τ", "bound", "loss × 1000"},
		Words:  3,
	}
	for _, one := range p.Tables {
		bound := fmt.Sprint(one.Most)
		if one.Most < 0 {
			bound = "none"
		}
		worst := "–"
		if one.Place.Region == loss || one.Place.Region == unclear || one.Place.Region == safe &&
			one.Late > 0 {
			worst = report.Milli(one.Place.Worst)
		}
		t.Rows = append(t.Rows, []string{one.Slot, string(one.Place.Region), string(one.Bound.Region),
			report.Digits(100*one.Top, 3) + " %", fmt.Sprint(one.Late), bound, worst})
	}
	return t
}

// figure returns the diagram of the optimizer of the job with its tables.
func (p *placed) figure(r *result) report.Figure {
	d := newDiagram(r.Cells)
	h := r.heat(d)
	h.Columns, h.Label, h.Mark = 1, lossLabel, markText()
	h.Series = []string{"a table of the job,\nup to the bound"}
	kind := p.Optimizer
	if kind == opt.RowwiseAdagrad {
		kind = opt.Adagrad
	}
	panel := r.panel(d, kind, tuned, true)
	if panel.Line != nil {
		h.Line = r.lineName()
	}
	for _, one := range p.Tables {
		if one.Top == 0 {
			continue
		}
		late := float64(one.Late)
		most := max(late, float64(one.Most))
		h.X.Low, h.X.High = min(h.X.Low, one.Top/1.15), max(h.X.High, one.Top*1.15)
		h.Y.Low, h.Y.High = min(h.Y.Low, late), max(h.Y.High, most)
		panel.Points = append(panel.Points, report.HeatPoint{
			Point: report.Point{X: one.Top, Y: late, Low: late, High: most}, Label: one.Slot,
		})
	}
	h.Panels = []report.HeatPanel{panel}
	return report.Figure{Name: "tables", Title: "The tables of " + p.Job + " on the diagram", Heat: h}
}
