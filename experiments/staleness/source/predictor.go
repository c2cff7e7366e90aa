package source

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/algo/protocol/delay"
	"tandem/algo/rng"
	"tandem/datasets"
	"tandem/experiments/internal/arms"
	"tandem/experiments/internal/judge"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
	"tandem/internal/cli"
)

// newPredictor returns the experiment that looks for a number that predicts what late rows cost, without
// training with late rows. A world is a training job; its loss is the AUC of fresh rows minus that of late
// rows. Half of the worlds are held out. The scalar with the highest rank correlation on the first half is
// chosen, and judged on the other.
func newPredictor() *report.Experiment {
	return trial.Study(report.Experiment{
		Name:     "predictor",
		Question: "Which number predicts what late rows cost, without training with late rows?",
		Help: `Trains in sequence, with row gradients that take effect τ steps late or at once,
in worlds of generated data that differ in the frequency of ids, hot columns,
rows, cardinalities, batch, τ and rate, and on real data where they are found.
Rows have Adagrad. The loss is the AUC of fresh rows − that of late rows.

Thirteen scalars, from the maximum frequency to τ·Σq²·rate÷steps, are computed
from data and job. The one with the highest rank correlation with the loss on
half of the worlds is chosen, and judged on the half that was held out. The full
version takes about ten minutes on two slow cores.`,
		QuickTime: 5 * time.Second,
	}, func(o report.Options) (*predictorPlan, error) {
		p := newPredictorPlan(4000, append(drawWorlds(26, 20_000, 120_000, 30_000), realWorlds()...))
		if o.Quick {
			p = newPredictorPlan(1000, drawWorlds(8, 10_000, 20_000, 10_000))
		}
		p.Seed, p.Seeds, p.folder = o.Seed, o.Seeds, o.DataFolder
		return p, nil
	}, func(p *predictorPlan, ctx context.Context, lab *trial.Lab) (*prediction, error) {
		losses, err := p.measure(ctx, lab)
		if err != nil {
			return nil, err
		}
		return p.choose(losses), nil
	}, (*predictorPlan).report)
}

// predictorPlan is everything that is fixed before the first training.
type predictorPlan struct {
	Seed  uint64 `yaml:"seed"` // the first
	Seeds int    `yaml:"seeds"`
	// Job is the job of all worlds; a world sets data, batch, delay and rate of rows.
	Job job.Job `yaml:"job"`
	// Worlds are measured where the data folder has their data.
	Worlds []world `yaml:"worlds"`
	// Resamples is the number of resamples of the worlds.
	Resamples int `yaml:"resamples"`

	folder string // of real data
}

// worldSeed draws the worlds and their halves. It was chosen before the first training.
const worldSeed = 7

// newPredictorPlan returns a plan for worlds, of which it holds every second one out, in a drawn order.
func newPredictorPlan(resamples int, worlds []world) *predictorPlan {
	j := smallJob()
	j.Model.Optimizer.Rate = 0.005
	j.Training.Mode = job.Sequential
	for i, at := range rng.New(worldSeed, "predictor halves").Perm(len(worlds)) {
		worlds[at].HeldOut = i%2 == 1
	}
	return &predictorPlan{Job: j, Worlds: worlds, Resamples: resamples}
}

// world is a training job whose loss is predicted.
type world struct {
	Name string         `json:"name" yaml:"name"` // w1, w2, … or that of the data
	Data report.DataSet `json:"-" yaml:"data"`
	// Alpha is the share of rows with the most frequent id in HotColumns of the six columns; the others are
	// Zipf. 0 for real data.
	Alpha      float64 `json:"alpha" yaml:"alpha"`
	HotColumns int     `json:"hot_columns" yaml:"hot-columns"`
	Batch      int     `json:"batch" yaml:"batch"`
	Tau        int     `json:"tau" yaml:"tau"`
	Rate       float64 `json:"row_rate" yaml:"row-rate"`
	HeldOut    bool    `json:"held_out" yaml:"held-out"`
}

// Check returns an error unless the data of a world are in a data folder.
func (w world) Check(folder string) error { return w.Data.Check(folder) }

func (w *world) String() string {
	job := fmt.Sprintf("B %d, τ %d, r %s", w.Batch, w.Tau, report.Digits(w.Rate, 2))
	if w.Alpha == 0 {
		return job
	}
	s := w.Data.Data.Synthetic
	return fmt.Sprintf("%d×α %s, %dk/%dk, %s", w.HotColumns, report.Digits(w.Alpha, 2), s.TrainRows/1000,
		s.Columns[0].Cardinality/1000, job)
}

// drawWorlds draws worlds of generated data. Every property is drawn on its own, so that none stands for
// another: frequency, number of hot columns, rows, cardinality, batch, delay and rate.
func drawWorlds(n, rowsLow, rowsHigh, testRows int) (worlds []world) {
	r := rng.New(worldSeed, "predictor worlds")
	for i := range n {
		w := world{
			Name: fmt.Sprintf("w%d", i+1), Alpha: between(r, 0.03, 0.6), HotColumns: 1 + r.IntN(6),
			Batch: 64 << r.IntN(3), Tau: int(math.Round(between(r, 3, 64))), Rate: between(r, 0.03, 0.5),
		}
		rows := int(between(r, float64(rowsLow), float64(rowsHigh)))
		w.Data = report.Generated(w.Alpha, rows, testRows)
		w.Data.Name = w.Name
		s := w.Data.Data.Synthetic
		shrink := between(r, 0.1, 1)
		for c := range s.Columns {
			s.Columns[c].Cardinality = int64(float64(s.Columns[c].Cardinality) * shrink)
		}
		r.Shuffle(len(s.AlphaColumns), func(a, b int) {
			s.AlphaColumns[a], s.AlphaColumns[b] = s.AlphaColumns[b], s.AlphaColumns[a]
		})
		s.AlphaColumns = s.AlphaColumns[:w.HotColumns]
		worlds = append(worlds, w)
	}
	return worlds
}

// between returns a number between two, uniform in its logarithm.
func between(r *rand.Rand, low, high float64) float64 {
	return low * math.Pow(high/low, r.Float64())
}

func realWorlds() (worlds []world) {
	for i, d := range []report.DataSet{report.AdultIncome(), report.Frappe(), report.Avazu(),
		report.CriteoHead()} {
		name, _, _ := strings.Cut(d.Name, "-")
		worlds = append(worlds, world{Name: name, Data: d, Batch: 64, Tau: []int{31, 15}[i%2], Rate: 0.1})
	}
	return worlds
}

func (p *predictorPlan) specs(w *world, late bool) (specs []trial.Spec) {
	for i := range p.Seeds {
		seed := p.Seed + uint64(i)
		spec := trial.Spec{Job: p.Job, Part: trial.Test, Name: w.Name + ", fresh"}
		j := &spec.Job
		j.Data = w.Data.WithSeed(seed)
		j.Rows.Optimizer.Rate, j.Training.GlobalBatch, j.Training.Seed = w.Rate, w.Batch, seed
		if late {
			j.Training.Delay = delay.Spec{Kind: delay.Exactly, Steps: w.Tau}
			spec.Name = w.Name + ", late"
		}
		specs = append(specs, spec)
	}
	return specs
}

// worldLoss is what a world loses.
type worldLoss struct {
	world
	Text    string             `json:"description"`
	Loss    metric.Interval    `json:"loss"`
	BySeed  []float64          `json:"loss_by_seed"`
	Scalars map[string]float64 `json:"scalars"`
	// Late is AUC(late rows) − AUC(fresh rows). Early results do not have it.
	Late *judge.Comparison `json:"late_less_fresh,omitempty"`
}

func lateLessFresh(losses []worldLoss) (list []*judge.Comparison) {
	for i := range losses {
		if losses[i].Late != nil {
			list = append(list, losses[i].Late)
		}
	}
	return list
}

// measure trains every world with fresh and late rows under every seed. Trainings on the same rows follow
// each other.
func (p *predictorPlan) measure(ctx context.Context, l arms.Lab) (losses []worldLoss, err error) {
	worlds, _ := report.Present(p.Worlds, p.folder)
	var specs []trial.Spec
	for i := range worlds {
		fresh, late := p.specs(&worlds[i], false), p.specs(&worlds[i], true)
		for s := range fresh {
			specs = append(specs, fresh[s], late[s])
		}
	}
	results, err := l.Run(ctx, specs)
	if err != nil {
		return nil, err
	}
	for i := range worlds {
		one := worldLoss{world: worlds[i], Text: worlds[i].String()}
		if err := p.pair(l, &one, results[2*i*p.Seeds:][:2*p.Seeds]); err != nil {
			return nil, err
		}
		if one.Scalars, err = p.scalars(&worlds[i]); err != nil {
			return nil, err
		}
		losses = append(losses, one)
	}
	judge.Judge(lateLessFresh(losses))
	for i := range losses {
		losses[i].Loss = report.Negated(losses[i].Late.AUC)
	}
	return losses, nil
}

// pair sets the comparison of a world, without verdict. Trainings with fresh and with late rows alternate.
// Generated worlds are one data set, so that one finding has all of them.
func (p *predictorPlan) pair(l arms.Lab, one *worldLoss, trained []trial.Result) (err error) {
	reference, freshDiverged := trial.Quality(every(trained, 0, 2))
	treated, lateDiverged := trial.Quality(every(trained, 1, 2))
	one.BySeed = report.Differences(reference.AUC, treated.AUC)
	data, name := one.Name, fmt.Sprintf("%d steps late", one.Tau)
	if one.Alpha > 0 {
		data, name = "generated worlds", one.Name+", "+name
	}
	one.Late = judge.Pair(data, name, "fresh", p.Seed, treated, reference)
	if freshDiverged+lateDiverged == 0 {
		one.Late.RowDeviation, err = l.RowDeviation(p.specs(&one.world, true), p.specs(&one.world, false))
	}
	return err
}

func (p *predictorPlan) scalars(w *world) (map[string]float64, error) {
	data, err := datasets.Open(w.Data.WithSeed(p.Seed), p.folder)
	if err != nil {
		return nil, err
	}
	rows := data.Train
	f := facts{
		batch: float64(w.Batch), tau: float64(w.Tau), rate: w.Rate,
		steps: float64((rows.Samples-1)/w.Batch + 1),
	}
	for _, slot := range rows.Slots {
		f.shares = append(f.shares, report.Shares(slot, rows.Samples))
	}
	values := map[string]float64{}
	for _, s := range scalars(f) {
		values[s.name] = s.value
	}
	return values, nil
}

// wanted is the rank correlation on held-out worlds from which a scalar counts as a predictor.
const wanted = 0.9

func (p *predictorPlan) report(c *prediction) *report.Report {
	return &report.Report{
		Findings: c.findings(), Notes: p.notes(c), Comparisons: lateLessFresh(c.Worlds),
		Tables: []cli.Table{c.scalarTable(), c.worldTable()}, Figures: []report.Figure{c.figure()},
	}
}

func correlation(v metric.Interval) string {
	return strings.ReplaceAll(fmt.Sprintf("%.2f [%.2f, %.2f]", v.Estimate, v.Low, v.High), "-", "−")
}

func (c *prediction) scalarTable() cli.Table {
	t := cli.Table{
		Caption: "Rank correlation (Spearman) of scalars with the loss; the first was chosen on the first " +
			"half",
		Header: []string{"scalar", "first half", "held out, 95 %"}, Words: 1,
	}
	for _, s := range c.Scalars {
		t.Add(s.Name, report.Minus(fmt.Sprintf("%.2f", s.First)), correlation(s.HeldOut))
	}
	return t
}

// order returns the worlds by predicted loss, then by measured loss.
func (c *prediction) order() (order []int) {
	for i := range c.Worlds {
		order = append(order, i)
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(c.Predicted[a], c.Predicted[b]),
			cmp.Compare(c.Worlds[a].Loss.Estimate, c.Worlds[b].Loss.Estimate))
	})
	return order
}

func (c *prediction) worldTable() cli.Table {
	t := cli.Table{
		Caption: "Worlds by predicted loss (AUC × 1000); * held out; generated ones: columns × " +
			"α,\nrows/ids of the largest column, batch B, delay τ, rate r of rows",
		Header: []string{"world", "description", "predicted", "loss±95 %"}, Words: 2,
	}
	for _, i := range c.order() {
		w := &c.Worlds[i]
		name := w.Name
		if w.HeldOut {
			name += "*"
		}
		t.Add(name, w.Text, report.Milli(c.Predicted[i]), report.MilliInterval(w.Loss))
	}
	return t
}

// figure shows measured and predicted losses, a world at a place.
func (c *prediction) figure() report.Figure {
	f := report.Figure{
		Name: "predictor", Title: "Loss of late rows, predicted by " + c.Scalars[0].Name,
		X: report.Axis{Label: "worlds in the order of the prediction (table: w1, w2, … and real data)",
			Ticks: []float64{}, Names: []string{}},
		Y: report.Axis{Label: "AUC lost (bars: 95 % over seeds)"},
	}
	lines := []report.Line{
		{Name: "predicted from half", Color: report.Grey, Guide: true},
		{Name: "measured, first half", Color: report.Grey, Scatter: true},
		{Name: "measured, held out", Color: 0, Scatter: true},
	}
	for place, i := range c.order() {
		w, x := &c.Worlds[i], float64(place+1)
		f.X.Ticks, f.X.Names = append(f.X.Ticks, x), append(f.X.Names, shortName(w))
		lines[0].Points = append(lines[0].Points, report.Exact(x, c.Predicted[i]))
		half := 1
		if w.HeldOut {
			half = 2
		}
		lines[half].Points = append(lines[half].Points, report.IntervalPoint(x, w.Loss))
	}
	f.Lines = lines
	return f
}

// shortName returns the name of a world for an axis: its number, or the first letters of its data.
func shortName(w *worldLoss) string {
	if w.Alpha == 0 {
		return strings.ToUpper(w.Name[:1]) + w.Name[1:2]
	}
	return strings.TrimPrefix(w.Name, "w")
}

// findings returns how well the chosen scalar predicts, and what others do.
func (c *prediction) findings() []string {
	best := &c.Scalars[0]
	reached := "at least"
	if best.HeldOut.Estimate < wanted {
		reached = "below"
	}
	sentences := []string{
		fmt.Sprintf("Chosen on %d worlds: %s (%s), with rank correlation %.2f there and %s on the %d "+
			"held-out worlds, which is %s the %g that was asked for; a random scalar exceeds %.2f with a "+
			"probability of 5 %%.", len(half(c.Worlds, false)), best.Name, best.Words, best.First,
			correlation(best.HeldOut), len(half(c.Worlds, true)), reached, wanted, c.ByChance),
		fmt.Sprintf("Its prediction is off by %.4f AUC in the median of the held-out worlds; the mean loss "+
			"of the first half is off by %.4f.", c.Error, c.NullError),
	}
	var others []string
	for _, name := range []string{"max q", "Σq²", "missed updates", "τ·Σq²·rate", "τ"} {
		at := slices.IndexFunc(c.Scalars, func(s score) bool { return s.Name == name })
		others = append(others, fmt.Sprintf("%s %s", name, correlation(c.Scalars[at].HeldOut)))
	}
	verdicts, judged := map[metric.Verdict]int{}, lateLessFresh(c.Worlds)
	for _, late := range judged {
		verdicts[late.Verdict]++
	}
	return append(sentences, "Others on the held-out worlds: "+strings.Join(others, ", ")+".",
		fmt.Sprintf("Late rows differ from fresh ones in %d of %d worlds, are equivalent in %d, and %d are "+
			"inconclusive.", verdicts[metric.Different], len(judged), verdicts[metric.Equivalent],
			verdicts[metric.Inconclusive]))
}

func (p *predictorPlan) notes(c *prediction) []string {
	var meanings []string
	for _, s := range c.Scalars {
		meanings = append(meanings, s.Name+" is "+s.Words)
	}
	notes := []string{
		fmt.Sprintf("The loss is AUC of fresh rows − AUC of late rows, mean over %d seeds that share rows, "+
			"order and initial values. Rows have Adagrad; rates are drawn, not tuned, so worlds differ in "+
			"them.", p.Seeds),
		"Worlds and halves were drawn before the first training, every property on its own. The interval " +
			"of a correlation is over resamples of the held-out worlds; the noise of the losses is in it.",
		"q is the share of training rows with an id; sums are over all ids of all columns. The predicted " +
			"loss is the monotone function of the scalar that fits the first half best.",
		"Scalars: " + strings.Join(meanings, "; ") + ".",
	}
	absent := report.Absent(p.Worlds, p.folder, func(w world) bool {
		return slices.ContainsFunc(c.Worlds, func(l worldLoss) bool { return l.Name == w.Name })
	})
	return slices.Concat(notes, absent, report.FewSeedsNote(p.Seeds, "seeds", "an interval"))
}
