package gpu

import (
	"fmt"
	"math"
	"slices"

	"tandem/algo/job"
	"tandem/experiments/internal/report"
	"tandem/internal/cli"
)

// report returns the results of a plan as tables, figures and sentences.
func (p *plan) report(results []*result) *report.Report {
	measured := slices.DeleteFunc(slices.Clone(results), func(r *result) bool { return r.Error != "" })
	return &report.Report{
		Findings: p.findings(results), Notes: p.notes(measured), Settings: p, Data: results,
		Tables: []cli.Table{p.timeTable(measured), p.ratioTable(measured), p.copyTable(measured),
			p.trainingTable(measured)},
		Figures: figures(measured),
	}
}

// comparison is a measured ratio with its goal.
type comparison struct {
	name  string // of what is compared with
	color int
	goal  float64
	of    func(r *result) (over, under []float64) // nil: not measured
}

// comparisons returns what the steps are compared with.
func comparisons() []comparison {
	return []comparison{
		{"eager", 0, goalEager, func(r *result) (over, under []float64) {
			return r.Seconds[eager], r.Seconds[stepSide]
		}},
		{"compiled", 1, goalCompiled, func(r *result) (over, under []float64) {
			over, _ = r.fastestCompiled()
			return over, r.Seconds[stepSide]
		}},
		{"products", 2, goalProducts, func(r *result) (over, under []float64) {
			return r.Seconds[productsSide], r.Seconds[stepSide]
		}},
	}
}

// ratio returns the ratio of a case, or false.
func (c *comparison) ratio(r *result) (q quartiles, measured bool) {
	over, under := c.of(r)
	if over == nil {
		return quartiles{}, false
	}
	return ratios(over, under), true
}

// caseCells are the first cells of a line.
func (r *result) caseCells() []string {
	return []string{r.Network.Name, report.Thousands(r.Batch), r.Precision}
}

// caption ends a caption with what the numbers are.
func (p *plan) caption(what string) string {
	return fmt.Sprintf("%s; median (quartiles) of %d rounds", what, p.Rounds)
}

// milliseconds returns seconds in milliseconds, with three digits.
func milliseconds(seconds float64) string { return report.Three(1e3 * seconds) }

// String returns the median with the quartiles, each with three digits.
func (q quartiles) String() string {
	return fmt.Sprintf("%s (%s–%s)", report.Three(q.Median), report.Three(q.Low), report.Three(q.High))
}

// scaled returns the quartiles of a multiple of the values.
func (q quartiles) scaled(by float64) quartiles {
	return quartiles{by * q.Low, by * q.Median, by * q.High}
}

// timeTable has the times of a step.
func (p *plan) timeTable(results []*result) cli.Table {
	t := cli.Table{Caption: p.caption("Dense step on " + p.GPU + ", in ms"),
		Header: []string{"network", "batch", "type", "Tandem", "eager", "compiled", "products"}, Words: 1}
	for _, r := range results {
		median := func(seconds []float64) string {
			if seconds == nil {
				return "–"
			}
			return milliseconds(report.Median(seconds))
		}
		fastest, _ := r.fastestCompiled()
		t.Rows = append(t.Rows, append(r.caseCells(), quartilesOf(r.Seconds[stepSide]).scaled(1e3).String(),
			median(r.Seconds[eager]), median(fastest), median(r.Seconds[productsSide])))
	}
	return t
}

// ratioTable has the ratios that have goals.
func (p *plan) ratioTable(results []*result) cli.Table {
	t := cli.Table{Caption: fmt.Sprintf("PyTorch's time, and that of the products, ÷ Tandem's: median "+
		"and quartiles of %d rounds", p.Rounds),
		Header: []string{"network", "batch", "type"}, Words: 1}
	for _, c := range comparisons() {
		t.Header = append(t.Header, fmt.Sprintf("%s ≥ %g", c.name, c.goal))
	}
	for _, r := range results {
		line := r.caseCells()
		for _, c := range comparisons() {
			cell := "–"
			if q, ok := c.ratio(r); ok {
				cell = fmt.Sprintf("%.2f %.2f–%.2f", q.Median, q.Low, q.High)
			}
			line = append(line, cell)
		}
		t.Rows = append(t.Rows, line)
	}
	return t
}

// notHidden returns the share of a side's step that is not hidden behind the step without copies.
func (r *result) notHidden(side string) quartiles {
	q := ratios(r.Seconds[stepSide], r.Seconds[side])
	return quartiles{1 - q.High, 1 - q.Median, 1 - q.Low}
}

// copyTable has what copies between host and GPU cost.
func (p *plan) copyTable(results []*result) cli.Table {
	t := cli.Table{
		Caption: fmt.Sprintf("A step in ms, without copies between host and GPU, with those of samples, "+
			"and with sums over hosts, too; share that computing does not hide; medians of %d "+
			"rounds", p.Rounds),
		Header: []string{"network", "batch", "type", "without", "samples", "share", "host sums", "share"},
		Words:  1}
	for _, r := range results {
		line := append(r.caseCells(), milliseconds(report.Median(r.Seconds[stepSide])))
		for _, side := range []string{samplesSide, hostSumsSide} {
			line = append(line, milliseconds(report.Median(r.Seconds[side])),
				percent(r.notHidden(side).Median))
		}
		t.Rows = append(t.Rows, line)
	}
	return t
}

// percent returns a share in percent; the spread of measurements can make one negative.
func percent(share float64) string {
	return report.Minus(fmt.Sprintf("%.0f %%", math.Round(100*share)+0)) // without −0
}

// trainingTable has trainings from end to end.
func (p *plan) trainingTable(results []*result) cli.Table {
	t := cli.Table{Caption: p.caption(fmt.Sprintf("Training in mode %s, embedding PSs on this host: %d",
		p.Training.Mode, p.Training.EmbeddingPSs)),
		Header: []string{"network", "batch", "type", "k samples/s", "step alone, k/s", "share"}, Words: 1}
	for _, r := range results {
		q := quartilesOf(r.Training)
		alone := float64(r.Batch) / report.Median(r.Seconds[stepSide])
		t.Rows = append(t.Rows, append(r.caseCells(), q.scaled(1e-3).String(), report.Three(alone/1e3),
			percent(q.Median/alone)))
	}
	return t
}

// figures returns a figure with a bar for each ratio.
func figures(results []*result) []report.Figure {
	f := report.Figure{Name: "ratios", Title: "Time of PyTorch, and of the matrix products, ÷ time of Tandem",
		X: report.Axis{Label: "ratio (thick mark: goal; thin line: quartiles over rounds)"}}
	for _, c := range comparisons() {
		for _, r := range results {
			if q, ok := c.ratio(r); ok {
				f.Bars = append(f.Bars, report.Bar{Name: c.name + ": " + r.String(), Color: c.color,
					Value: q.Median, Low: q.Low, High: q.High, Target: c.goal})
			}
		}
	}
	return []report.Figure{f}
}

// findings returns how many goals are reached, a sentence for each that is not, and what was not compared.
func (p *plan) findings(results []*result) (sentences []string) {
	if p.Shrink > 1 {
		sentences = append(sentences, fmt.Sprintf("Goals are not judged: hidden layers are narrower by %d.",
			p.Shrink))
	} else {
		sentences = p.goals(results)
	}
	for _, r := range results {
		if r.Error != "" {
			sentences = append(sentences, fmt.Sprintf("Not measured: %s: %s.", r, r.Error))
		}
		for _, way := range []string{eager, compiled, compiledGraphs} {
			what := fmt.Sprintf("Not compared: %s, PyTorch %s: ", r, way)
			if a, checked := r.Agreed[way]; checked && !a.Within {
				sentences = append(sentences, fmt.Sprintf("%s%s; the tolerances are %v.", what, a,
					tolerancesOf(r.Precision)))
			}
			if text, failed := r.Failed[way]; failed {
				sentences = append(sentences, what+text)
			}
		}
	}
	return sentences
}

// goals judges the ratios by their quartiles.
func (p *plan) goals(results []*result) []string {
	var open []string
	reached, all := 0, 0
	for _, c := range comparisons() {
		for _, r := range results {
			q, ok := c.ratio(r)
			if !ok {
				continue
			}
			all++
			verdict := "Missed"
			switch {
			case q.Low >= c.goal:
				reached++
				continue
			case q.High >= c.goal:
				verdict = "Undecided"
			}
			open = append(open, fmt.Sprintf("%s: %s: %s × %s, goal %g.", verdict, r, q, c.name, c.goal))
		}
	}
	return slices.Insert(open, 0,
		fmt.Sprintf("%d of %d goals are reached, by the lower quartile.", reached, all))
}

// notes returns what a reader needs to judge the findings.
func (p *plan) notes(results []*result) []string {
	notes := []string{fmt.Sprintf("GPU: %s, a driver for CUDA %s.", p.GPU, p.Driver)}
	if p.PyTorch == nil {
		notes = append(notes, fmt.Sprintf("No PyTorch: %s. Name a Python interpreter with torch, with "+
			"CUDA, and numpy by --python.", p.NoPyTorch))
	} else {
		notes = append(notes, p.PyTorch.String()+"; tf32 by set_float32_matmul_precision, bf16 by "+
			"autocast, gradients set to None, nothing read from the GPU within a "+
			"step.", agreementNote(results))
	}
	notes = append(notes,
		"A step is forward, backward and Adam of one rank, on values that are on the GPU. Tandem's also "+
			"reads the loss and checks that loss and gradients are finite.",
		"Products: the sum of the times of those that Tandem's engine asks cuBLASLt for in a step, each "+
			"repeated alone on random numbers, with the algorithm that the library chooses.",
		"Samples: the same step with pooled embeddings, numbers and labels from the host, and gradients "+
			"of pooled embeddings to it. Host sums: with gradients of all parameters to the host and "+
			"back, too, which wire.all-reduce: nccl or nccl-tree leave on GPUs. Not hidden: 1 − the step "+
			"without copies ÷ the step with them, round by round.",
		fmt.Sprintf("Trainings: rows of the preset criteo, in memory, at most %d steps an epoch; embedding "+
			"workers: %d, embedding PSs: %d; gradients of parameters stay on the GPU, as those of one rank "+
			"do; the time includes the start of the roles.",
			p.Training.Steps, p.Training.EmbeddingWorkers, p.Training.EmbeddingPSs))
	return append(notes, report.FewSeedsNote(p.Rounds, "rounds", "quartiles")...)
}

// agreementNote says how far PyTorch's first steps are from Tandem's, at most.
func agreementNote(results []*result) string {
	text := fmt.Sprintf("Both sides begin with the same parameters and values. Losses of %d steps and "+
		"the gradients of the first, layer by layer, are compared before the measurement", checkSteps)
	mark := ": "
	for _, precision := range job.DensePrecisions() {
		var most agreement
		compared := false
		for _, r := range results {
			for _, a := range r.Agreed {
				if r.Precision == precision && a.Within {
					most.Forward, most.Gradient = max(most.Forward, a.Forward), max(most.Gradient, a.Gradient)
					compared = true
				}
			}
		}
		if compared {
			t := tolerancesOf(precision)
			text += fmt.Sprintf("%sin %s, output layers are up to %.1e apart (tolerance %g), gradients "+
				"up to %.1e (%g)", mark, precision, most.Forward, t.Forward, most.Gradient, t.Gradient)
			mark = "; "
		}
	}
	return text + "."
}
