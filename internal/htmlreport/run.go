package htmlreport

import (
	"fmt"

	"tandem/algo/histogram"
	"tandem/algo/protocol/pace"
	"tandem/internal/cli"
)

// Measured is what was measured of one run, real or simulated.
type Measured struct {
	Name                    string
	Own, Cross, Dense, Late *histogram.Histogram // staleness; nil for what was not measured
	Stages                  pace.StageTimes      // medians; 0 where the mode has no such stage
}

// StalenessSection shows how stale the reads and gradients of runs were.
func StalenessSection(runs []Measured) Section {
	s := Section{Title: "Staleness",
		Text: []string{"Own and cross: the earlier batches of the rank itself, or of another rank, that a " +
			"read from an embedding PS missed. Dense: the pushes of other ranks between a pull and its " +
			"push. Row: the updates of a row between a read and its gradient. What was never stale has no " +
			"chart."}}
	for _, run := range runs {
		for _, of := range []struct {
			name, x string
			counts  *histogram.Histogram
		}{
			{"own", "own earlier batches missed", run.Own},
			{"cross", "batches of another rank missed", run.Cross},
			{"dense", "pushes missed by a push", run.Dense},
			{"row", "updates of the row missed", run.Late},
		} {
			if of.counts != nil && of.counts.Max() > 0 {
				s.Charts = append(s.Charts, histogramChart(run.Name+": "+of.name, of.x, of.counts))
			}
		}
	}
	if len(s.Charts) == 0 {
		s.Text = nil
	}
	return s
}

// histogramBars is the number of bars of a histogram, beyond which neighbours share one.
const histogramBars = 60

// histogramChart draws counts. The counts of values that share one, of histogram.Limit and more, are at that
// limit.
func histogramChart(title, x string, h *histogram.Histogram) Chart {
	most := min(h.Max(), histogram.Limit)
	width := most/histogramBars + 1
	counts := map[int]uint64{}
	for value, count := range h.All() {
		counts[value/width] += count
	}
	var series Series
	for i := range most/width + 1 {
		low, high := i*width, i*width+width-1
		note := fmt.Sprintf("%d: %d times", low, counts[i])
		if width > 1 {
			note = fmt.Sprintf("%d to %d: %d times", low, high, counts[i])
		}
		series.Points = append(series.Points, Point{X: float64(low+high) / 2, Y: float64(counts[i]),
			Note: note})
	}
	return Chart{Title: title, X: x, Y: "count", Bars: true, BarWidth: float64(width), Small: true,
		Series: []Series{series}}
}

// StageSection shows how long the stages of a batch took; of says of which batches.
func StageSection(of string, runs []Measured) Section {
	s := Section{Title: "Stages of a batch"}
	stages := []pace.Stage{pace.GE, pace.FC, pace.BC, pace.DS, pace.PEG}
	t := cli.Table{Caption: "Medians in ms", Header: []string{"mode"}, Words: 1}
	for _, stage := range stages {
		t.Header = append(t.Header, stage.String())
	}
	for _, run := range runs {
		cells, measured := []string{run.Name}, false
		for _, stage := range stages {
			cell := ""
			if run.Stages[stage] > 0 {
				cell, measured = fmt.Sprintf("%.3f", run.Stages[stage].Seconds()*1e3), true
			}
			cells = append(cells, cell)
		}
		if measured {
			t.Rows = append(t.Rows, cells)
		}
	}
	if len(t.Rows) > 0 {
		s.Text = []string{of + " Stages overlap, so their sum is not the time of a step.", cli.Stages}
		s.Tables = []cli.Table{t}
	}
	return s
}

// EnvironmentSection says what ran.
func EnvironmentSection() Section {
	e := cli.CurrentEnvironment()
	return Section{Title: "Environment", Tables: []cli.Table{{Header: []string{"what", "value"}, Words: 2,
		Rows: [][]string{
			{"commit", e.Commit}, {"program", e.Program}, {"Go", e.GoVersion},
			{"machine", fmt.Sprintf("%s/%s, %d CPUs", e.OS, e.Arch, e.CPUs)},
		}}}}
}
