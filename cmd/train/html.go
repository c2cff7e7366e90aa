package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tandem/algo/exec/evaluation"
	"tandem/algo/histogram"
	"tandem/internal/cli"
	"tandem/internal/htmlreport"
	"tandem/runtime/watch"
)

// pageName is the report as a page, within the results.
const pageName = "report.html"

// writePage writes the report as one page with its figures. settings is the resolved job.
func (r *report) writePage(folder string, settings []byte) error {
	text := new(strings.Builder)
	if err := r.writeText(text); err != nil {
		return err
	}
	page := htmlreport.Page{
		Title: "Training " + r.job.Name,
		Lead: fmt.Sprintf("%s: %d training rows, %d test rows; %s in %s", r.Data, r.TrainRows, r.TestRows,
			r.Model, strings.Join(r.modes(), ", ")),
		Sections: slices.Concat([]htmlreport.Section{
			{Title: "Results", Text: []string{r.Provenance}, Tables: []cli.Table{r.table()},
				Notes: r.pageNotes()},
		}, r.worthSections(), []htmlreport.Section{
			r.learningSection(), r.courseSection(), htmlreport.StalenessSection(r.measured()),
			htmlreport.StageSection(fmt.Sprintf("Of at most %d steps of the first seed.", stageSteps),
				r.measured()),
			{Title: "Everything that was printed", Code: text.String()},
			{Title: "Settings", Text: []string{"The job with all its settings is job.yaml in this folder."},
				Code: string(settings)},
			htmlreport.EnvironmentSection(),
		}),
	}
	return page.WriteFile(filepath.Join(folder, pageName))
}

// modes names the trainings of the report.
func (r *report) modes() (names []string) {
	for _, line := range r.Runs {
		names = append(names, line.Mode)
	}
	return names
}

// pageNotes explains the table.
func (r *report) pageNotes() []string {
	notes := []string{"AUC and log loss (nats) are of the test rows, samples/s of training."}
	if r.ConstantRMSE > 0 {
		notes[0] = "R² and RMSE" + r.unit() + " are of the test rows, samples/s of training."
	}
	for _, c := range r.Comparisons {
		notes = append(notes, c.String())
	}
	return append(notes, r.warnings()...)
}

// lines returns the rows of the report in the order of their colours.
func (r *report) lines() []row { return slices.Concat(r.Runs, r.Baselines) }

// The numbers of points of the curves of the training loss and of the speed: each is a mean, so that noise
// does not hide the course.
const lossPoints, speedPoints = 60, 20

// courseSection shows training loss and speed of the first seed.
func (r *report) courseSection() htmlreport.Section {
	const samples = "samples trained"
	loss := htmlreport.Chart{Title: "Training loss", X: samples, Y: "mean loss, nats a sample"}
	if r.ConstantRMSE > 0 {
		loss.Y = "mean of ½ (error / scale)²"
	}
	speed := htmlreport.Chart{Title: "Speed", X: samples, Y: "samples/s", FromZero: true}
	s := htmlreport.Section{Title: "Course of the training",
		Text: []string{fmt.Sprintf("Seed %d. The training loss is of each batch before its update, so it "+
			"is of rows that the model has not seen in this epoch.", r.Seed)}}
	for i, line := range r.lines() {
		s.Legend = append(s.Legend, line.Mode)
		points := thin(r.followed[line.Mode].points, lossPoints)
		loss.Series = append(loss.Series,
			seriesOf(line.Mode, points, func(p watch.Point) float64 { return p.Loss }))
		if i < len(r.Runs) { // a baseline can be so fast that nothing else would be seen
			points := thin(r.followed[line.Mode].points, speedPoints)
			speed.Series = append(speed.Series,
				seriesOf(line.Mode, points, func(p watch.Point) float64 { return p.SamplesPerSecond }))
		}
	}
	s.Charts = []htmlreport.Chart{loss, speed}
	return s
}

// seriesOf returns a quantity of points as a line.
func seriesOf(name string, points []watch.Point, value func(watch.Point) float64) htmlreport.Series {
	s := htmlreport.Series{Name: name}
	for _, p := range points {
		s.Points = append(s.Points, htmlreport.Point{X: float64(p.Samples), Y: value(p)})
	}
	return s
}

// curveOf returns a quantity of evaluations.
func curveOf(name string, points []evaluation.Point, value func(evaluation.Point) float64) htmlreport.Series {
	s := htmlreport.Series{Name: name}
	for _, p := range points {
		s.Points = append(s.Points, htmlreport.Point{X: float64(p.Samples), Y: value(p),
			Note: fmt.Sprintf("%s, step %d, %.1f s: %.5f", name, p.Step, p.Seconds, value(p))})
	}
	return s
}

// thin returns at most a number of points, each with the means of the points that it stands for.
func thin(points []watch.Point, most int) []watch.Point {
	if len(points) <= most {
		return points
	}
	var thinned []watch.Point
	before := watch.Point{}
	for i := range most {
		group := points[i*len(points)/most : (i+1)*len(points)/most]
		last := group[len(group)-1]
		mean, from := last, before
		mean.Loss = 0
		for _, p := range group {
			mean.Loss += p.Loss * float64(p.Samples-before.Samples) / float64(last.Samples-from.Samples)
			before = p
		}
		if took := last.Seconds - from.Seconds; took > 0 {
			mean.SamplesPerSecond = float64(last.Samples-from.Samples) / took
		}
		thinned = append(thinned, mean)
	}
	return thinned
}

// calibrationSection shows for every training whether predictions are probabilities.
func (r *report) calibrationSection() htmlreport.Section {
	s := htmlreport.Section{Title: "Calibration",
		Text: []string{"The test rows in ten groups of about equal size, from the lowest to the highest " +
			"prediction: the share of positives of a group, with its 95 % interval, should lie on the " +
			"dashed line. The table has the counts."}}
	counts := cli.Table{Caption: "Rows of each group: positives / all, by mean prediction",
		Header: []string{"training"}, Words: 1}
	for i := range calibrationBins {
		counts.Header = append(counts.Header, strconv.Itoa(i+1))
	}
	for _, line := range r.lines() {
		chart := htmlreport.Chart{Title: line.Mode, X: "mean prediction", Y: "share of positives", Dots: true,
			Diagonal: true, Small: true}
		series, cells := htmlreport.Series{Name: line.Mode}, []string{line.Mode}
		for _, b := range line.Calibration {
			series.Points = append(series.Points, htmlreport.Point{X: b.Predicted, Y: b.Observed.Estimate,
				Low: b.Observed.Low, High: b.Observed.High,
				Note: fmt.Sprintf("predictions %.4f to %.4f, mean %.4f: %d of %d rows are positive, %.4f "+
					"(%.4f to %.4f)", b.Low, b.High, b.Predicted, b.Positives, b.Count, b.Observed.Estimate,
					b.Observed.Low, b.Observed.High)})
			cells = append(cells, fmt.Sprintf("%d / %d", b.Positives, b.Count))
		}
		for len(cells) < len(counts.Header) {
			cells = append(cells, "")
		}
		chart.Series = []htmlreport.Series{series}
		s.Charts, counts.Rows = append(s.Charts, chart), append(counts.Rows, cells)
	}
	s.Tables = []cli.Table{counts}
	return s
}

// measured returns what was measured of every run.
func (r *report) measured() (runs []htmlreport.Measured) {
	for i := range r.Runs {
		line := &r.Runs[i]
		of := map[string]*histogram.Histogram{}
		for k := range line.histograms {
			of[line.histograms[k].quantity] = &line.histograms[k].values
		}
		runs = append(runs, htmlreport.Measured{Name: line.Mode, Own: of["own"], Cross: of["cross"],
			Dense: of["dense"], Late: of["missed"], Stages: r.followed[line.Mode].stages})
	}
	return runs
}
