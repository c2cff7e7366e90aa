package generators

import (
	"fmt"
	"math"

	"tandem/experiments/internal/report"
	"tandem/internal/cli"
)

// report returns the results of a plan as tables, figures and sentences.
func (p *plan) report(r *results) *report.Report {
	return &report.Report{
		Findings: p.findings(r), Notes: p.notes(r), Tables: []cli.Table{p.curveTable(r)},
		Figures: []report.Figure{p.figure(r)},
	}
}

// curveTable returns a table of the AUC of every model by length.
func (p *plan) curveTable(r *results) cli.Table {
	t := cli.Table{
		Caption: fmt.Sprintf("AUC on %s test rows by number of training rows, in one pass; – not measured",
			report.Thousands(p.Data.TestRows)),
		Header: []string{"rows"}, Words: 1,
	}
	published, role := []string{"published, real data"}, []string{"the hidden model is"}
	for _, m := range r.Models {
		t.Header = append(t.Header, m.Name)
		published, role = append(published, fmt.Sprintf("%.4f", m.Published)), append(role, m.role())
	}
	for i, steps := range p.Steps {
		row := []string{report.Thousands(steps * p.Batch)}
		for _, m := range r.Models {
			cell := "–"
			if i < len(m.Points) {
				if cell = fmt.Sprintf("%.4f", m.Points[i].AUC); m.Points[i].Diverged != "" {
					cell = "diverged"
				}
			}
			row = append(row, cell)
		}
		t.Add(row...)
	}
	t.Rows = append(t.Rows, published, role)
	return t
}

// role says what the hidden model is for a model.
func (m *modelResult) role() string {
	if m.Tuned {
		return "tuned"
	}
	return "predicted"
}

// findings returns a sentence for every model, on its longest training that has an outcome.
func (p *plan) findings(r *results) (sentences []string) {
	for _, m := range r.Models {
		var last *point
		for i := range m.Points {
			if m.Points[i].Diverged == "" {
				last = &m.Points[i]
			}
		}
		sentence := m.Title + ": not measured."
		if last != nil && last.Steps == stepsMax && p.Batch == batchFull {
			verdict := "within"
			if math.Abs(last.AUC-m.Published) > tolerance {
				verdict = "not within"
			}
			sentence = fmt.Sprintf("%s (%s): AUC %.4f at full length, published on the real data %.4f: %s "+
				"%v.", m.Title, m.role(), last.AUC, m.Published, verdict, tolerance)
		} else if last != nil {
			sentence = fmt.Sprintf("%s: not measured at full length. After %s of %s rows the AUC is %.4f; "+
				"published on the real data: %.4f.", m.Title, report.Thousands(last.Rows),
				report.Thousands(stepsMax*batchFull), last.AUC, m.Published)
		}
		sentences = append(sentences, sentence)
	}
	return sentences
}

// notes returns what a reader needs to judge the findings.
func (p *plan) notes(r *results) []string {
	return []string{
		"Published: reczoo/BARS, Criteo_x4_001 (36.7 million training rows, as many epochs as help, test " +
			"rows of the same days). Here every run is one pass, and the test rows are drawn like the " +
			"training rows. Full length is the length of Persia's run, 10,800 steps of 4,096.",
		fmt.Sprintf("The oracle, which knows the probability of every label, has an AUC of %.4f. A logistic "+
			"regression cannot reach it: the hidden model has interactions.", r.Oracle),
		"The hidden model has one ratio for the strength of each order of interaction to the order below, " +
			"and one scale. Both are tuned on logistic regression and the factorization machine, not on " +
			"the others.",
		fmt.Sprintf("One seed (%d) decides rows and initial values. The hidden model is part of the preset: "+
			"under another teacher.seed, its most frequent ids have other weights, and every model has "+
			"another AUC.", p.Seed),
	}
}

// figure shows AUC by rows: a line per model, and a guide at its published AUC.
func (p *plan) figure(r *results) report.Figure {
	f := report.Figure{
		Name: "auc", Title: "AUC by length of the run; dashed: published on the real data",
		X: report.Axis{Label: "training rows", LogPlusOne: true}, Y: report.Axis{Label: "AUC on test rows"},
	}
	for _, steps := range p.Steps {
		rows := float64(steps * p.Batch)
		f.X.Ticks, f.X.Names = append(f.X.Ticks, rows), append(f.X.Names, fmt.Sprintf("%.3gM", rows/1e6))
	}
	low, high := f.X.Ticks[0], f.X.Ticks[len(f.X.Ticks)-1]
	for i, m := range r.Models {
		l := report.Line{Name: m.Name, Color: i}
		for _, at := range m.Points {
			if at.Diverged == "" {
				l.Points = append(l.Points, report.Exact(float64(at.Rows), at.AUC))
			}
		}
		f.Lines = append(f.Lines, report.Line{Color: i, Guide: true, Points: []report.Point{
			report.Exact(low, m.Published), report.Exact(high, m.Published)}}, l)
	}
	return f
}
