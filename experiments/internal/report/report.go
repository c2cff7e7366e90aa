// Package report is shared by all experiments: their options (Options), their result (Report) and its form as
// text, JSON, figures and one HTML page.
//
// An experiment fills in a Report and returns it. It does not print, and writes only its CSV log (Log), which
// survives if the run is stopped. Report.WriteFolder writes everything else.
package report

import (
	"time"

	"tandem/algo/exec/backend"
	"tandem/experiments/internal/judge"
	"tandem/internal/cli"
)

// SeedsMin is the smallest number of seeds of an experiment: one value has no interval.
const SeedsMin = 2

// SeedsWanted is the default number of seeds. A report with fewer seeds says so.
const SeedsWanted = 5

// Options are the options of one run of an experiment.
type Options struct {
	Quick bool   // the quick version: minutes, not hours
	Seeds int    // number of seeds, at least SeedsMin
	Seed  uint64 // the first seed; the others are Seed + 1, Seed + 2, …
	// Folder exists and is empty unless Resume is set. Files that an experiment writes there become part of
	// its results, also if it is stopped.
	Folder string
	// Resume says that Folder holds what an earlier, interrupted part of this run has written.
	Resume bool
	Run    string // the id of the run, in every file; empty in tests
	// Earlier are the folders of the experiments that the same command has run before this one, the latest
	// first.
	Earlier []string
	// DataFolder is the folder of real data, to which the paths of data sets are relative; empty: none.
	DataFolder string
	Backend    backend.Backend // computes the trainings
	// Progress reports how much is done and what is in progress.
	Progress func(done, total int, what string)
}

// Report is the result of an experiment.
type Report struct {
	Name     string
	Run      string // the id of the run
	Question string
	Command  string // repeats the run
	Findings []string
	Notes    []string // what a reader needs to judge the findings
	// Comparisons are the paired differences behind the findings, judged. The report adds findings and notes
	// that follow from them.
	Comparisons []*judge.Comparison
	// Quantities are the numbers that experiment claims compares with published ones.
	Quantities []Quantity
	// Headline is what the index over all reports opens with; nil: nothing of this report.
	Headline *Headline
	Tables   []cli.Table
	Figures  []Figure
	Settings any // resolved; written as YAML
	Data     any // the numbers behind tables and figures; written as JSON
	// Engine is the name of the engine for matrix products. EngineRate is its speed in GFLOP/s, measured
	// before the experiment.
	Engine     string
	EngineRate float64
	// Started is when the experiment began, Wall is how long it took.
	Started time.Time
	Wall    time.Duration
}
