package main

import (
	"fmt"
	"strings"

	"tandem/algo/exec/evaluation"
	"tandem/algo/exec/worth"
	"tandem/internal/cli"
	"tandem/internal/htmlreport"
)

// fallsShown is the number of columns that the figure of their importance shows.
const fallsShown = 30

// worthSections show what the models are worth on the test rows, if their labels are classes.
func (r *report) worthSections() []htmlreport.Section {
	if r.Worth == nil {
		return nil
	}
	return []htmlreport.Section{r.importanceSection(), r.calibrationSection(), r.gainsSection(),
		r.slicesSection(), r.timeSection()}
}

// importanceSection shows the columns that matter.
func (r *report) importanceSection() htmlreport.Section {
	of := r.Worth.Importance
	if of == nil {
		return htmlreport.Section{}
	}
	zero := 0.0
	figure := htmlreport.Ranked{Title: "Fall of AUC when the column is permuted", X: "fall of AUC",
		Reference: &zero}
	for _, fall := range of.Falls[:min(len(of.Falls), fallsShown)] {
		name, more := fall.Columns[0], ""
		if n := len(fall.Columns); n > 1 {
			name = fmt.Sprintf("%s … %s", name, fall.Columns[n-1])
			more = fmt.Sprintf(" (%d columns together)", n)
		}
		figure.Values = append(figure.Values, htmlreport.RankedValue{Name: name, Value: fall.Estimate,
			Low: fall.Low, High: fall.High, Note: fmt.Sprintf("%s%s: %.4f (%.4f to %.4f)", name, more,
				fall.Estimate, fall.Low, fall.High)})
	}
	s := htmlreport.Section{Title: "Columns that matter", Ranked: []htmlreport.Ranked{figure}, Text: []string{
		fmt.Sprintf("How much the AUC of %s falls when the values of a column are exchanged among %d test "+
			"rows, %d of them positive: the mean of %d permutations, with a 95 %% interval. Their AUC is "+
			"%.4f. Where two columns say the same, each may fall little. A derived slot counts with each of "+
			"its columns.", r.Worth.Mode, of.Rows, of.Positives, of.Rounds, of.AUC)}}
	if n := len(of.Falls); n > fallsShown {
		s.Notes = []string{fmt.Sprintf("%d more falls are in result.json.", n-fallsShown)}
	}
	return s
}

// gainsSection shows how many positive rows the highest predictions have.
func (r *report) gainsSection() htmlreport.Section {
	s := htmlreport.Section{Title: "Gains", Text: []string{"Of all positive test rows, the share among " +
		"those with the highest predictions; the dashed line is a draw at random. Lift is how many times " +
		"as many they are as in such a draw."}}
	chart := htmlreport.Chart{Title: "Gains", X: "share of the test rows, highest predictions first",
		Y: "share of the positive rows", Diagonal: true}
	lifts := cli.Table{Caption: "Lift in the highest predictions", Header: []string{"training"}, Words: 1}
	for _, share := range gainShares[:len(gainShares)-1] {
		lifts.Header = append(lifts.Header, fmt.Sprintf("%.0f %%", 100*share))
	}
	for _, line := range r.lines() {
		s.Legend = append(s.Legend, line.Mode)
		series := htmlreport.Series{Name: line.Mode, Points: []htmlreport.Point{{}}}
		cells := []string{line.Mode}
		for _, g := range line.Gains {
			series.Points = append(series.Points, htmlreport.Point{X: g.Share, Y: g.Found})
			if g.Share < 1 {
				cells = append(cells, fmt.Sprintf("%.2f", g.Lift()))
			}
		}
		chart.Series, lifts.Rows = append(chart.Series, series), append(lifts.Rows, cells)
	}
	s.Charts, s.Tables = []htmlreport.Chart{chart}, []cli.Table{lifts}
	return s
}

// slicesSection shows how well the rows of each value of some columns are predicted.
func (r *report) slicesSection() htmlreport.Section {
	s := htmlreport.Section{}
	auc := r.Runs[0].scores[0]
	for _, of := range r.Worth.ByValue {
		figure := htmlreport.Ranked{Title: of.Column, X: "AUC", Reference: &auc}
		table := cli.Table{Caption: of.Column, Words: 1,
			Header: []string{"value", "rows", "positive", "mean prediction", "AUC"}}
		for _, one := range of.Slices {
			table.Rows = append(table.Rows, append([]string{one.Value}, sliceCells(&one.Slice)...))
			if one.AUC != nil {
				figure.Values = append(figure.Values, htmlreport.RankedValue{Name: one.Value,
					Value: one.AUC.Estimate, Low: one.AUC.Low, High: one.AUC.High,
					Note: one.Value + ": " + strings.Join(sliceCells(&one.Slice), ", ")})
			}
		}
		if len(figure.Values) > 0 {
			s.Ranked = append(s.Ranked, figure)
		}
		s.Tables = append(s.Tables, table)
	}
	if len(s.Tables) > 0 {
		s.Title = "AUC by value"
		s.Text = []string{fmt.Sprintf("Test rows of %s by the values of the columns that matter most, of "+
			"those with at most 12 values. Intervals are 95 %%, after DeLong; the dashed line is the AUC of "+
			"all test rows. Within a value the column itself ranks nothing, so most of these AUCs are lower.",
			r.Worth.Mode)}
	}
	return s
}

// sliceCells are rows, share of positives, mean prediction and AUC of a slice.
func sliceCells(s *worth.Slice) []string {
	auc := "–"
	if s.AUC != nil {
		auc = fmt.Sprintf("%.4f (%.4f to %.4f)", s.AUC.Estimate, s.AUC.Low, s.AUC.High)
	}
	return []string{fmt.Sprint(s.Rows), fmt.Sprintf("%.2f %%", 100*float64(s.Positives)/float64(s.Rows)),
		fmt.Sprintf("%.2f %%", 100*s.Predicted), auc}
}

// timeSection shows how well the test rows are predicted in the order of time.
func (r *report) timeSection() htmlreport.Section {
	if len(r.Worth.ByTime) == 0 {
		return htmlreport.Section{}
	}
	const rows = "test rows, earliest first"
	auc := htmlreport.Chart{Title: "AUC", X: rows, Y: "AUC", Dots: true}
	rate := htmlreport.Chart{Title: "Positive rows", X: rows, Y: "share", Dots: true, FromZero: true}
	of, observed, predicted := htmlreport.Series{Name: r.Worth.Mode}, htmlreport.Series{Name: "observed"},
		htmlreport.Series{Name: "mean prediction"}
	before := 0
	for _, part := range r.Worth.ByTime {
		note := fmt.Sprintf("rows %d to %d: %s", before+1, before+part.Rows,
			strings.Join(sliceCells(&part), ", "))
		x := float64(before) + float64(part.Rows)/2
		if a := part.AUC; a != nil {
			of.Points = append(of.Points,
				htmlreport.Point{X: x, Y: a.Estimate, Low: a.Low, High: a.High, Note: note})
		}
		observed.Points = append(observed.Points, htmlreport.Point{X: x,
			Y: float64(part.Positives) / float64(part.Rows), Note: note})
		predicted.Points = append(predicted.Points, htmlreport.Point{X: x, Y: part.Predicted, Note: note})
		before += part.Rows
	}
	auc.Series, rate.Series = []htmlreport.Series{of}, []htmlreport.Series{observed, predicted}
	return htmlreport.Section{Title: "By time", Text: []string{fmt.Sprintf("Equal parts of the test rows of "+
		"%s in the order of time, all later than the training rows. A model that ages has a falling AUC; "+
		"where mean prediction and share of positives part, it is no longer calibrated.", r.Worth.Mode)},
		Legend: []string{"AUC, and observed share of positive rows", "mean prediction"},
		Charts: []htmlreport.Chart{auc, rate}}
}

// learningSection shows evaluations against the rows that a model has seen: during the trainings of the first
// seed, and of the models that were tried on held-back rows, after each epoch.
func (r *report) learningSection() htmlreport.Section {
	const seen = "rows seen, again in every epoch"
	scoreName, lossName := evaluation.ScoreNames(r.job.Model.Loss)
	scores := htmlreport.Chart{Title: scoreName, X: seen, Y: scoreName, Dots: true}
	losses := htmlreport.Chart{Title: "Log loss", X: seen, Y: "log loss, nats", Dots: true}
	if r.ConstantRMSE > 0 {
		losses.Title, losses.Y = lossName, lossName+r.unit()
	}
	s := htmlreport.Section{}
	add := func(name string, points []evaluation.Point) {
		if len(points) < 2 {
			return
		}
		s.Legend = append(s.Legend, name)
		scores.Series = append(scores.Series, curveOf(name, points, evaluation.Point.Score))
		losses.Series = append(losses.Series, curveOf(name, points, evaluation.Point.Loss))
	}
	for _, line := range r.lines() {
		add(line.Mode+", test rows", line.Curve)
	}
	for _, one := range r.Tried {
		name := one.Model
		if one.Derived {
			name += ", derived slots: " + one.slots()
		}
		if one.Means {
			name += ", means"
		}
		if one.Part {
			name += ", a part of the rows"
		}
		add(name+", rows held back", one.Curve)
	}
	if len(s.Legend) > 0 {
		s.Title, s.Charts = "Learning curve", []htmlreport.Chart{scores, losses}
		s.Text = []string{fmt.Sprintf("Evaluations against the rows that a model has seen. %s that still "+
			"rises at its end asks for more rows or epochs; %s that rises, for fewer epochs.", scoreName,
			lossName)}
	}
	return s
}
