package phase

import (
	_ "embed" // the stored full version
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"tandem/algo/job"
	"tandem/algo/protocol/delay"
	"tandem/algo/protocol/pace"
	"tandem/datasets"
	"tandem/datasets/synth"
	"tandem/experiments/internal/report"
	"tandem/internal/cli"
)

//go:embed full.json
var fullText []byte

// loadFull returns the result of the stored full version.
func loadFull() (*result, error) {
	var file struct {
		Data result `json:"data"`
	}
	if err := json.Unmarshal(fullText, &file); err != nil {
		return nil, fmt.Errorf("the stored full version: %w", err)
	}
	return &file.Data, nil
}

// table is an id column of a user's job on the diagram.
type table struct {
	Slot string `json:"slot"`
	// Top is the share of rows with its most frequent id, and Counted whether it was counted in the rows of
	// the job; otherwise it follows from the description of generated data.
	Top     float64 `json:"top"`
	Counted bool    `json:"counted"`
	// Late is the bound on own staleness, and Most that on the staleness of other ranks: −1 if there is none.
	Late int `json:"late"`
	Most int `json:"late_most"`
	// Place is at Late, and Bound at Most.
	Place    place  `json:"place"`
	Bound    place  `json:"place_at_bound"`
	Sentence string `json:"sentence"`
}

// placed is the result of --file.
type placed struct {
	Job       string  `json:"job"`
	Mode      string  `json:"mode"`
	Ranks     int     `json:"ranks"`
	Optimizer string  `json:"optimizer"`
	Tables    []table `json:"tables"`
}

// placeJob shows where the tables of a job file lie on the stored diagram.
func placeJob(path string, o report.Options) (*report.Report, error) {
	j, err := job.Load(path)
	if err != nil {
		return nil, &cli.Error{Err: err, Hint: "a job file is described in cmd/train/jobs/README.md"}
	}
	r, err := loadFull()
	if err != nil {
		return nil, err
	}
	if !strings.Contains(strings.Join(r.kinds(), " "), j.Rows.Optimizer.Kind) &&
		!strings.HasSuffix(j.Rows.Optimizer.Kind, "adagrad") {
		return nil, fmt.Errorf("%s: rows.optimizer.kind: %s was not measured; the diagram has %s", path,
			j.Rows.Optimizer.Kind, list(r.kinds()))
	}
	folder := o.DataFolder
	if folder == "" {
		folder = filepath.Dir(path)
	}
	if err := report.OfJob(j.Data).Check(folder); err != nil {
		return nil, missing(err)
	}
	shares, err := topShares(&j, folder)
	if err != nil {
		return nil, err
	}
	late, most := delays(&j)
	d := newDiagram(r.Cells)
	out := &placed{
		Job: j.Name, Mode: j.Training.Mode, Ranks: j.Roles.Ranks, Optimizer: j.Rows.Optimizer.Kind,
	}
	for _, s := range shares {
		s.Late, s.Most = late, most
		s.Place = d.find(j.Rows.Optimizer.Kind, tuned, s.Top, float64(late))
		s.Bound = d.find(j.Rows.Optimizer.Kind, tuned, s.Top, float64(most))
		if late < 0 {
			s.Place = place{Region: outside}
		}
		if most < 0 {
			s.Bound = place{Region: outside}
		}
		if s.Top == 0 {
			s.Place, s.Bound = place{Region: empty}, place{Region: empty}
		}
		s.Sentence = s.sentence(d)
		out.Tables = append(out.Tables, s)
	}
	return out.report(r), nil
}

// missing adds to an error about missing data where their paths start.
func missing(err error) error {
	const start = "paths start at --data-folder or TANDEM_DATA, else at the job file"
	if e, ok := errors.AsType[*cli.Error](err); ok {
		return &cli.Error{Err: e.Err, Hint: e.Hint + "; " + start}
	}
	return err
}

// delays returns the bounds on the staleness of rows in steps: of the own rank, and of any rank; −1: none.
func delays(j *job.Job) (own, cross int) {
	if j.Training.Mode == job.Sequential {
		return imposed(&j.Training.Delay)
	}
	rule, err := j.Rule()
	if err != nil {
		return -1, -1 // a job that is valid has a rule
	}
	b := rule.Bounds(j.Roles.Ranks)
	if b.Cross == pace.Unbounded {
		return b.Own, -1
	}
	return b.Own, b.Cross
}

// imposed returns the mean and the largest delay of a sequential training, in whole steps; −1: none is the
// largest.
func imposed(d *delay.Spec) (mean, largest int) {
	switch d.Kind {
	case "":
		return 0, 0
	case delay.Exactly:
		return d.Steps, d.Steps
	case delay.AtMost:
		return (d.Steps + 1) / 2, d.Steps
	case delay.Geometric, delay.Poisson:
		return int(math.Ceil(d.Mean)), -1
	case delay.Distribution:
		var sum, all float64
		for steps, weight := range d.Weights {
			sum, all = sum+float64(steps)*weight, all+weight
		}
		return int(math.Ceil(sum / all)), len(d.Weights) - 1
	}
	return -1, -1 // a trace
}

// topShares returns the slots of a job with the shares of their most frequent ids.
func topShares(j *job.Job, folder string) (tables []table, err error) {
	if s := j.Data.Synthetic; j.Data.Kind == job.KindSynthetic && s != nil {
		for _, c := range s.Resolve().Columns {
			q := synth.NewZipf(c).Probability(1)
			tables = append(tables, table{Slot: c.Name, Top: 1 - math.Pow(1-q, c.MeanIDs())})
		}
		return tables, nil
	}
	data, err := datasets.Open(j.Data, folder)
	if err != nil {
		return nil, err
	}
	for s, slot := range data.Train.Slots {
		tables = append(tables, table{
			Slot: data.Schema.Slots[s].Name, Counted: true,
			Top: slices.Max(append(report.Shares(slot, data.Train.Samples), 0)),
		})
	}
	return tables, nil
}
