package phase

import (
	_ "embed" // the stored full version
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/protocol/delay"
	"tandem/algo/protocol/pace"
	"tandem/datasets"
	"tandem/datasets/synth"
	"tandem/experiments/report"
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
			Slot: data.Schema.Slots[s].Name, Counted: true, Top: topShare(slot, data.Train.Samples),
		})
	}
	return tables, nil
}

// topShare returns the share of the samples that contain the most frequent id of a slot.
func topShare(slot batch.Jagged, samples int) float64 {
	counts, last, most := map[uint64]int{}, map[uint64]int{}, 0
	for i := range samples {
		for _, id := range slot.SampleIDs(i) {
			if last[id] != i+1 {
				last[id] = i + 1
				counts[id]++
				most = max(most, counts[id])
			}
		}
	}
	return float64(most) / float64(samples)
}

// sentence says where a table lies.
func (t *table) sentence(d *diagram) string {
	if t.Top == 0 {
		return t.Slot + ": no ids in the training rows."
	}
	where := fmt.Sprintf("%s: the most frequent id is in %s %% of the rows; reads are at most %d steps "+
		"behind their own rank: ", t.Slot, report.Digits(100*t.Top, 2), t.Late)
	rarer := ""
	if t.Place.Rarer {
		rarer = fmt.Sprintf(", judged as %s %%, the rarest that was measured",
			report.Digits(100*d.alphas[0], 2))
	}
	others := ""
	switch {
	case t.Place.Region == t.Bound.Region:
	case t.Most < 0:
		others = "; behind other ranks there is no bound"
	default:
		others = fmt.Sprintf("; at the bound of %d steps behind other ranks: %s", t.Most, t.Bound.Region)
	}
	switch t.Place.Region {
	case safe:
		if t.Late == 0 {
			return where + "safe, as no read is late" + others + "."
		}
		return where + "inside the measured safe region" + rarer + others + "."
	case loss:
		return where + fmt.Sprintf("in the region of measured loss, up to %.4f AUC%s%s.",
			t.Place.Worst, rarer, others)
	case unclear:
		return where + fmt.Sprintf("between safe and loss: the measured %.4f AUC is not certain%s%s.",
			max(0, t.Place.Worst), rarer, others)
	}
	return where + fmt.Sprintf("outside what was measured (ids in up to %.0f %% of rows, %d steps).",
		100*d.alphas[len(d.alphas)-1], d.taus[len(d.taus)-1])
}

// report returns the places of a job's tables.
func (p *placed) report(r *result) *report.Report {
	t := cli.Table{
		Caption: fmt.Sprintf("Tables of %s: %s on %d ranks, rows with %s", p.Job, p.Mode, p.Ranks,
			p.Optimizer),
		Header: []string{"slot", "at τ", "at the bound", "top id in rows", "τ", "bound", "loss × 1000"},
		Words:  3,
	}
	d := newDiagram(r.Cells)
	h := r.heat(d)
	h.Columns, h.Label = 1, "AUC lost, to fresh rows or to\nthe lag control, whichever is\nless (in cells: "+
		"× 1000)"
	h.Marks = []string{markText()}
	h.Series = []string{"a table of the job,\nup to the bound"}
	kind := p.Optimizer
	if strings.HasSuffix(kind, "adagrad") {
		kind = "adagrad"
	}
	panel := r.panel(d, kind, tuned, true)
	if panel.Line != nil {
		h.Line = r.lineName()
	}
	var sentences []string
	for _, one := range p.Tables {
		bound := fmt.Sprint(one.Most)
		if one.Most < 0 {
			bound = "none"
		}
		worst := "–"
		if one.Place.Region == loss || one.Place.Region == unclear || one.Place.Region == safe &&
			one.Late > 0 {
			worst = report.Milli(one.Place.Worst)
		}
		t.Rows = append(t.Rows, []string{one.Slot, string(one.Place.Region), string(one.Bound.Region),
			report.Digits(100*one.Top, 3) + " %", fmt.Sprint(one.Late), bound, worst})
		sentences = append(sentences, one.Sentence)
		if one.Top == 0 {
			continue
		}
		most := float64(max(one.Late, one.Most))
		h.X.Low, h.X.High = min(h.X.Low, one.Top/1.15), max(h.X.High, one.Top*1.15)
		h.Y.Low, h.Y.High = min(h.Y.Low, float64(one.Late)), max(h.Y.High, most)
		panel.Points = append(panel.Points, report.HeatPoint{
			Point: report.Point{X: one.Top, Y: float64(one.Late), Low: float64(one.Late), High: most},
			Label: one.Slot,
		})
	}
	h.Panels = []report.HeatPanel{panel}
	return &report.Report{
		Findings: sentences,
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
		Tables: []cli.Table{t},
		Figures: []report.Figure{{Name: "tables", Title: "The tables of " + p.Job + " on the diagram",
			Heat: h}},
		Settings: p,
		Data:     p,
	}
}
