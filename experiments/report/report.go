// Package report holds what all experiments share: the options that they take,
// the report that they give, and how a report becomes text, JSON, figures and
// one HTML page in a results folder that is either whole or marked partial.
//
// An experiment knows nothing of terminals and folders; it fills a Report.
package report

import (
	"time"

	"tandem/algo/exec/backend"
	"tandem/internal/cli"
)

// SeedsMin is the smallest number of seeds that an experiment takes: one value
// has no interval.
const SeedsMin = 2

// SeedsWanted is the number of seeds below which a report must say that it has
// few, and the default.
const SeedsWanted = 5

// Options say how an experiment is run.
type Options struct {
	Quick bool   // a version of minutes, not hours
	Seeds int    // number of seeds, at least SeedsMin
	Seed  uint64 // the first seed; the others follow it
	// Folder exists and is empty. Files that an experiment writes there become
	// part of its results, also when it is stopped.
	Folder  string
	Machine backend.Backend // that numbers are computed on
	// Progress is told how much of the whole is done, and what is at hand.
	Progress func(done, total int, what string)
}

// Report is what an experiment has found.
type Report struct {
	Name     string
	Question string
	Command  string // that runs the experiment again
	Findings []string
	Notes    []string // what a reader must know to judge the findings
	Tables   []cli.Table
	Figures  []Figure
	Settings any // resolved; written as YAML
	Data     any // the numbers behind tables and figures; written as JSON
	// Engine multiplied the matrices, at EngineRate GFLOP/s before the experiment.
	Engine     string
	EngineRate float64
	// Started is when the experiment began, Wall how long it took.
	Started time.Time
	Wall    time.Duration
}
