package phase

import (
	"context"
	_ "embed" // the stored full version
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"

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

// jobPlan is the question where the tables of a job lie.
type jobPlan struct {
	File string `yaml:"file"`
	full *result
}

// placed is the result of --file.
type placed struct {
	Job       string  `json:"job"`
	Mode      string  `json:"mode"`
	Ranks     int     `json:"ranks"`
	Optimizer string  `json:"optimizer"`
	Tables    []table `json:"tables"`
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

// jobPlan returns the plan of --file.
func (f *flags) jobPlan(report.Options) (*jobPlan, error) {
	full, err := loadFull()
	return &jobPlan{f.file, full}, errors.Join(err, f.check())
}

// measure finds where the tables of a job file lie on the stored diagram.
func (p *jobPlan) measure(_ context.Context, o report.Options) (*placed, error) {
	j, err := job.Load(p.File)
	if err != nil {
		return nil, &cli.Error{Err: err, Hint: "a job file is described in cmd/train/jobs/README.md"}
	}
	kind := j.Rows.Optimizer.Kind
	if !slices.Contains(p.full.kinds(), measuredKind(kind)) {
		return nil, fmt.Errorf("%s: rows.optimizer.kind: %s was not measured; the diagram has %s", p.File,
			kind, list(p.full.kinds()))
	}
	folder := o.DataFolder
	if folder == "" {
		folder = filepath.Dir(p.File)
	}
	if err := report.OfJob(j.Data).Check(folder); err != nil {
		if e, ok := errors.AsType[*cli.Error](err); ok {
			e.Hint += "; paths start at --data-folder or TANDEM_DATA, else at the job file"
		}
		return nil, err
	}
	out := &placed{Job: j.Name, Mode: j.Training.Mode, Ranks: j.Roles.Ranks, Optimizer: kind}
	if out.Tables, err = topShares(&j, folder); err != nil {
		return nil, err
	}
	d := p.full.diagram()
	late, most := delays(&j)
	for i := range out.Tables {
		t := &out.Tables[i]
		find := func(late int) place {
			switch {
			case t.Top == 0:
				return place{Region: empty}
			case late < 0:
				return place{Region: outside}
			}
			return d.find(kind, t.Top, float64(late))
		}
		t.Late, t.Most, t.Place, t.Bound = late, most, find(late), find(most)
		t.Sentence = t.sentence(d)
	}
	return out, nil
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

// sentence says where a table lies.
func (t *table) sentence(d *diagram) string {
	if t.Top == 0 {
		return t.Slot + ": no ids in the training rows."
	}
	where := ""
	switch t.Place.Region {
	case safe:
		where = "inside the measured safe region"
	case loss:
		where = fmt.Sprintf("in the region of measured loss, up to %.4f AUC", t.Place.Worst)
	case unclear:
		where = fmt.Sprintf("between safe and loss: the measured %.4f AUC is not certain",
			max(0, t.Place.Worst))
	default:
		where = fmt.Sprintf("outside what was measured (ids in up to %.0f %% of rows, %g steps)",
			100*d.alphas[len(d.alphas)-1], d.taus[len(d.taus)-1])
	}
	if t.Late == 0 {
		where = "safe, as no read is late"
	} else if t.Place.Rarer && t.Place.Region != outside {
		where += fmt.Sprintf(", judged as %s %%, the rarest that was measured",
			report.Digits(100*d.alphas[0], 2))
	}
	switch {
	case t.Place.Region == t.Bound.Region || t.Place.Region == outside:
	case t.Most < 0:
		where += "; behind other ranks there is no bound"
	default:
		where += fmt.Sprintf("; at the bound of %d steps behind other ranks: %s", t.Most, t.Bound.Region)
	}
	return fmt.Sprintf("%s: the most frequent id is in %s %% of the rows; reads are at most %d steps behind "+
		"their own rank: %s.", t.Slot, report.Digits(100*t.Top, 2), t.Late, where)
}

// report returns the places of a job's tables.
func (p *jobPlan) report(of *placed) *report.Report {
	t := cli.Table{
		Caption: fmt.Sprintf("Tables of %s: %s on %d ranks, rows with %s", of.Job, of.Mode, of.Ranks,
			of.Optimizer),
		Header: []string{"slot", "at τ", "at the bound", "top id in rows", "τ", "bound", "loss × 1000"},
		Words:  3,
	}
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
		Figures: []report.Figure{p.figure(of)},
	}
	for _, one := range of.Tables {
		out.Findings = append(out.Findings, one.Sentence)
		bound, worst := fmt.Sprint(one.Most), "–"
		if one.Most < 0 {
			bound = "none"
		}
		if slices.Contains([]region{loss, unclear, safe}, one.Place.Region) && one.Late > 0 {
			worst = report.Milli(one.Place.Worst)
		}
		t.Add(one.Slot, string(one.Place.Region), string(one.Bound.Region),
			report.Digits(100*one.Top, 3)+" %", fmt.Sprint(one.Late), bound, worst)
	}
	out.Tables = []cli.Table{t}
	return out
}

// figure returns the diagram of the optimizer of the job with its tables.
func (p *jobPlan) figure(of *placed) report.Figure {
	d := p.full.diagram()
	h := d.heat(lossLabel)
	h.Columns, h.Series = 1, []string{"a table of the job,\nup to the bound"}
	panel := p.full.panel(h, d, measuredKind(of.Optimizer), tuned)
	for _, one := range of.Tables {
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
	return report.Figure{Name: "tables", Title: "The tables of " + of.Job + " on the diagram", Heat: h}
}
