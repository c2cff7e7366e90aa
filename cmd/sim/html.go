package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"tandem/algo/exec/evaluation"
	"tandem/internal/cli"
	"tandem/internal/htmlreport"
)

// checkPage refuses a file for the page that exists, or cannot be written, before anything is simulated.
func (q *request) checkPage() error { return checkNewFile("--report", q.page) }

// checkNewFile refuses the file that a flag names, if it names one, where it exists or cannot be written.
func checkNewFile(flag, name string) error {
	if name == "" {
		return nil
	}
	if _, err := os.Lstat(name); err == nil {
		return &cli.Error{Err: fmt.Errorf("%s: %s exists", flag, name),
			Hint: "results are never overwritten: name a new file"}
	}
	file, err := os.Create(name)
	if err != nil {
		return &cli.Error{Err: fmt.Errorf("%s: %w", flag, err), Hint: "name a file that can be written"}
	}
	if err := file.Close(); err != nil {
		return err
	}
	return os.Remove(name)
}

// paged is what a command has found, as text and as a page that ends in the text.
type paged interface {
	writeText(w io.Writer) error
	page(printed string) *htmlreport.Page
}

// writeAnswer writes the page of an answer to a file, if it has a name.
func writeAnswer(file string, a paged) error {
	if file == "" {
		return nil
	}
	var text strings.Builder
	if err := a.writeText(&text); err != nil {
		return err
	}
	return a.page(text.String()).WriteFile(file)
}

// writePage writes what was simulated as one page with its figures, if the user asks for it. printed is what
// the command has printed. First stands before the other sections.
func (q *request) writePage(printed string, first ...htmlreport.Section) error {
	if q.page == "" {
		return nil
	}
	settings, err := yaml.Marshal(q.job.Resolved())
	if err != nil {
		return err
	}
	page := htmlreport.Page{
		Title: "Simulation of " + q.job.Name,
		Lead:  q.where() + "; " + q.batchText(),
		Sections: append(first,
			q.throughputSection(), q.curveSection(), htmlreport.StalenessSection(q.measured()),
			htmlreport.StageSection("Simulated.", q.measured()), q.stationSection(),
			htmlreport.Section{Title: "Everything that was printed", Code: printed},
			htmlreport.Section{Title: "Settings", Text: []string{"To repeat: " + q.command},
				Code: string(settings)},
			htmlreport.EnvironmentSection()),
	}
	return page.WriteFile(q.page)
}

// throughputSection shows the speed of every mode on every number of GPUs.
func (q *request) throughputSection() htmlreport.Section {
	s := htmlreport.Section{Title: "Throughput"}
	t := cli.Table{Header: []string{"mode", q.unitName(),
		"samples/s", "low", "high", "step ms", "bounded by"}, Words: 1}
	chart := htmlreport.Chart{Title: "Throughput", X: q.unitName(), Y: "samples/s", Dots: true,
		FromZero: true}
	for i := range q.shown {
		o := &q.shown[i]
		line := []string{o.mode, fmt.Sprint(o.gpus), rate(o.answer.Throughput), "", "",
			digits(1e3 * o.answer.StepTime.Seconds()), o.answer.Bottleneck}
		point := htmlreport.Point{X: float64(o.gpus), Y: o.answer.Throughput}
		if o.whole != nil {
			line[6] = o.bound()
			if o.whole.Interval != nil {
				line[3], line[4] = rate(o.answer.Low), rate(o.answer.High)
				point.Low, point.High = o.answer.Low, o.answer.High
			}
		}
		t.Rows = append(t.Rows, line)
		at := slices.IndexFunc(chart.Series, func(s htmlreport.Series) bool { return s.Name == o.mode })
		if at < 0 {
			at = len(chart.Series)
			chart.Series = append(chart.Series, htmlreport.Series{Name: o.mode})
			s.Legend = append(s.Legend, o.mode)
		}
		chart.Series[at].Points = append(chart.Series[at].Points, point)
	}
	s.Tables = []cli.Table{t}
	if q.samples > 1 {
		s.Text = []string{fmt.Sprintf("Low and high, and the bars of the figure, are the 1st and 99th "+
			"percentile over %d points of what is not known. %s", q.samples, fitted(&q.hardware.System))}
	}
	if len(q.gpus) > 1 {
		s.Charts = []htmlreport.Chart{chart}
	} else {
		s.Legend = nil
	}
	return s
}

// curveSection shows the evaluations of trainings under simulated time.
func (q *request) curveSection() htmlreport.Section {
	s := htmlreport.Section{Title: "Course of the training"}
	if len(q.cells) == 0 {
		return s
	}
	s.Text = []string{"Trained for real; seconds are simulated, at the middle of every range."}
	curve := func(title, y, x string, of func(evaluation.Point) (x, y float64)) htmlreport.Chart {
		chart := htmlreport.Chart{Title: title, X: x, Y: y, Dots: true}
		for _, l := range q.cells {
			series := htmlreport.Series{Name: q.nameOf(l)}
			for _, p := range l.middle().points {
				x, y := of(p)
				series.Points = append(series.Points, htmlreport.Point{X: x, Y: y})
			}
			chart.Series = append(chart.Series, series)
		}
		return chart
	}
	s.Charts = []htmlreport.Chart{
		curve("AUC over simulated time", "AUC", "simulated s",
			func(p evaluation.Point) (x, y float64) { return p.Seconds, p.AUC }),
		curve("Log loss over simulated time", "log loss, nats", "simulated s",
			func(p evaluation.Point) (x, y float64) { return p.Seconds, p.LogLoss }),
		curve("AUC over samples", "AUC", "samples trained",
			func(p evaluation.Point) (x, y float64) { return float64(p.Samples), p.AUC }),
	}
	for _, l := range q.cells {
		s.Legend = append(s.Legend, q.nameOf(l))
	}
	return s
}

// nameOf names a training.
func (q *request) nameOf(l *cell) string {
	if len(q.gpus) == 1 {
		return l.mode
	}
	return fmt.Sprintf("%s on %d", l.mode, l.gpus)
}

// measured returns what was measured on the most GPUs of each mode.
func (q *request) measured() (runs []htmlreport.Measured) {
	r := &result{predictions: q.shown}
	for _, mode := range q.modes {
		o := r.last(mode)
		if o == nil {
			continue
		}
		m := htmlreport.Measured{Name: mode, Stages: o.answer.StageTimes, Own: &o.answer.Staleness.Own,
			Cross: &o.answer.Staleness.Cross, Dense: &o.answer.Staleness.Dense}
		for _, l := range q.cells {
			if l.mode == mode && l.gpus == o.gpus {
				m.Late = &l.middle().trained.Missed
			}
		}
		runs = append(runs, m)
	}
	return runs
}

// stationSection lists where work waits, on the most GPUs.
func (q *request) stationSection() htmlreport.Section {
	t := cli.Table{Header: []string{"mode", "station", "busy %", "queue", "stations"}, Words: 2}
	r := &result{predictions: q.shown}
	for _, mode := range q.modes {
		o := r.last(mode)
		if o == nil {
			continue
		}
		for _, x := range o.answer.Stations[:min(8, len(o.answer.Stations))] {
			t.Rows = append(t.Rows, []string{mode, x.Name, fmt.Sprintf("%.0f", 100*x.Busy), digits(x.Queue),
				fmt.Sprint(x.Stations)})
		}
	}
	s := htmlreport.Section{Title: "Busiest stations"}
	if len(t.Rows) > 0 {
		s.Text = []string{strings.TrimSpace("On " + q.units(q.gpus[len(q.gpus)-1]) +
			": the share of the time that the busiest station of each kind works, and how many wait for it.")}
		s.Tables = []cli.Table{t}
	}
	return s
}
