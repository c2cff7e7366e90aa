package report

import (
	"fmt"
	"math"
	"time"
)

// Meter reports the progress of an experiment over all its runs, with the time left once a run has ended.
type Meter struct {
	Done, Total int    // numbers of runs
	Unit        string // what a run is, in the plural; empty: trainings
	Report      func(done, total int, what string)

	started time.Time
	now     func() time.Time // nil: time.Now
}

// perRun is the number of units of progress of one run.
const perRun = 100

// Start begins the time from which the time left is estimated. The first Show does so, too.
func (m *Meter) Start() {
	if m.now == nil {
		m.now = time.Now
	}
	if m.started.IsZero() {
		m.started = m.now()
	}
}

// Show reports that the current run has done a number of its steps. Its text is the number of runs, the time
// left and what the current run is.
func (m *Meter) Show(done, steps int, what string) {
	if m.Report == nil {
		return
	}
	m.Start()
	unit := m.Unit
	if unit == "" {
		unit = "trainings"
	}
	text := fmt.Sprintf("%d of %d %s", m.Done, m.Total, unit)
	if m.Done > 0 {
		measured := float64(m.Done) + float64(done)/float64(steps)
		left := float64(m.Total-m.Done) - float64(done)/float64(steps)
		text += ", " + timeLeft(time.Duration(float64(m.now().Sub(m.started))/measured*left)) + " left"
	}
	m.Report(m.Done*perRun+done*perRun/steps, m.Total*perRun, text+": "+what)
}

// timeLeft returns a duration in the precision of an estimate.
func timeLeft(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return "a few seconds"
	case d < 100*time.Second:
		return fmt.Sprintf("about %.0f s", math.Round(d.Seconds()/10)*10)
	case d < 100*time.Minute:
		return fmt.Sprintf("about %.0f min", d.Minutes())
	}
	return fmt.Sprintf("about %.1f h", d.Hours())
}
