package gpu

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"tandem/algo/job"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/turns"
	"tandem/internal/cli"
)

// report returns the results of a plan as tables, figures and sentences.
func (p *plan) report(results []*result) *report.Report {
	if p.Tables > 0 {
		return p.tableReport(results)
	}
	return &report.Report{
		Findings: p.findings(results), Notes: p.notes(measured(results)), Tables: p.tables(measured(results)),
		Figures: []report.Figure{ratioFigure(measured(results))},
	}
}

// comparison is a measured ratio with its goal.
type comparison struct {
	name string // of what is compared with
	goal float64
	over func(r *result) []float64 // seconds that those of Tandem's step divide; nil: not measured
}

// comparisons returns what the steps are compared with.
func comparisons() []comparison {
	return []comparison{
		{"eager", goalEager, func(r *result) []float64 { return r.Seconds[eager] }},
		{"compiled", goalCompiled, func(r *result) []float64 {
			seconds, _ := r.fastestCompiled()
			return seconds
		}},
		{"products", goalProducts, func(r *result) []float64 { return r.Seconds[productsSide] }},
	}
}

// ratio returns the ratio of a case, or false.
func (c *comparison) ratio(r *result) (s turns.Spread, measured bool) {
	over := c.over(r)
	if over == nil {
		return s, false
	}
	return turns.Quartiles(turns.Ratios(over, r.Seconds[stepSide])), true
}

// tables returns the times of a step, the ratios that have goals, what copies cost, and trainings.
func (p *plan) tables(results []*result) []cli.Table {
	on := "a GPU"
	if len(results) > 0 && results[0].Machine.GPU != "" {
		on = results[0].Machine.GPU
	}
	table := func(caption string, columns ...string) *cli.Table {
		return &cli.Table{Caption: fmt.Sprintf(caption, p.Rounds),
			Header: append([]string{"network", "batch", "type"}, columns...), Words: 1}
	}
	times := table("Dense step on "+on+", in ms; median (quartiles) of %d rounds", "Tandem", "eager",
		"compiled", "products")
	ratios := table("PyTorch's time, and that of the products, ÷ Tandem's: median and quartiles of %d " +
		"rounds")
	copies := table("A step in ms, without copies between host and GPU, with those of samples, and with "+
		"sums over hosts, too; share that computing does not hide; medians of %d rounds", "without",
		"samples", "share", "host sums", "share")
	trainings := table("Training in mode "+p.Training.Mode+", embedding PSs on this host; median "+
		"(quartiles) of %d rounds", "k samples/s", "step alone, k/s", "share")
	for _, c := range comparisons() {
		ratios.Header = append(ratios.Header, fmt.Sprintf("%s ≥ %g", c.name, c.goal))
	}
	for _, r := range results {
		add := func(t *cli.Table, cells ...string) {
			t.Rows = append(t.Rows, append([]string{r.Network.Name, report.Thousands(r.Batch), r.Precision},
				cells...))
		}
		ms := func(seconds []float64) string {
			if seconds == nil {
				return "–"
			}
			return report.Three(1e3 * report.Median(seconds))
		}
		fastest, _ := r.fastestCompiled()
		add(times, turns.Quartiles(r.Seconds[stepSide]).Times(1e3).Text(report.Three), ms(r.Seconds[eager]),
			ms(fastest), ms(r.Seconds[productsSide]))
		var cells []string
		for _, c := range comparisons() {
			cell := "–"
			if s, ok := c.ratio(r); ok {
				cell = fmt.Sprintf("%.2f %.2f–%.2f", s.Median, s.Low, s.High)
			}
			cells = append(cells, cell)
		}
		add(ratios, cells...)
		add(copies, ms(r.Seconds[stepSide]), ms(r.Seconds[samplesSide]), percent(r.notHidden(samplesSide)),
			ms(r.Seconds[hostSumsSide]), percent(r.notHidden(hostSumsSide)))
		trained := turns.Quartiles(r.Training)
		alone := float64(r.Batch) / report.Median(r.Seconds[stepSide])
		add(trainings, trained.Times(1e-3).Text(report.Three), report.Three(alone/1e3),
			percent(trained.Median/alone))
	}
	tables := []cli.Table{*times, *ratios, *copies, *trainings}
	if predicted := predictedTrainings(results); len(predicted) > 0 {
		tables = append(tables, predictedTable(predicted))
	}
	return tables
}

// notHidden returns the share of a side's step that is not hidden behind the step without copies, the
// median of the rounds.
func (r *result) notHidden(side string) float64 {
	return 1 - turns.Quartiles(turns.Ratios(r.Seconds[stepSide], r.Seconds[side])).Median
}

// percent returns a share in percent; the spread of measurements can make one negative.
func percent(share float64) string {
	return report.Minus(turns.Percent(math.Round(100*share)/100 + 0)) // without −0
}

// ratioFigure returns a bar for each ratio.
func ratioFigure(results []*result) report.Figure {
	f := report.Figure{Name: "ratios", Title: "Time of PyTorch, and of the matrix products, ÷ time of Tandem",
		X: report.Axis{Label: "ratio (thick mark: goal; thin line: quartiles over rounds)"}}
	for color, c := range comparisons() {
		for _, r := range results {
			if s, ok := c.ratio(r); ok {
				f.Bars = append(f.Bars, s.Bar(c.name+": "+r.String(), color, c.goal))
			}
		}
	}
	return f
}

// findings returns how many goals are reached, a sentence for each that is not, and what was not compared.
func (p *plan) findings(results []*result) (sentences []string) {
	if p.Shrink > 1 {
		sentences = append(sentences, fmt.Sprintf("Goals are not judged: hidden layers are narrower by %d.",
			p.Shrink))
	} else {
		sentences = goals(results)
	}
	sentences = append(sentences, judgePredictions(predictedTrainings(results))...)
	return append(sentences, p.failures(results)...)
}

// failures returns a sentence for each case that was not measured or not compared.
func (p *plan) failures(results []*result) (sentences []string) {
	for _, r := range results {
		if r.Error != "" {
			sentences = append(sentences, fmt.Sprintf("Not measured: %s: %s.", r, r.Error))
		}
		for _, n := range slices.Sorted(maps.Keys(r.Predicted)) {
			if why := r.Predicted[n].Error; why != "" {
				sentences = append(sentences, fmt.Sprintf("Not predicted: %s on %d GPUs: %s.", r, n, why))
			}
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
func goals(results []*result) (open []string) {
	reached, all := 0, 0
	for _, c := range comparisons() {
		for _, r := range results {
			s, ok := c.ratio(r)
			if !ok {
				continue
			}
			all++
			verdict := "Missed"
			switch {
			case s.Low >= c.goal:
				reached++
				continue
			case s.High >= c.goal:
				verdict = "Undecided"
			}
			open = append(open, fmt.Sprintf("%s: %s: %s × %s, goal %g.", verdict, r, s.Text(report.Three),
				c.name, c.goal))
		}
	}
	return slices.Insert(open, 0,
		fmt.Sprintf("%d of %d goals are reached, by the lower quartile.", reached, all))
}

// notes returns what a reader needs to judge the findings.
func (p *plan) notes(results []*result) (notes []string) {
	if len(results) > 0 && results[0].Machine.GPU != "" {
		on := results[0].Machine
		notes = append(notes, fmt.Sprintf("GPU: %s, a driver for CUDA %s; roles of trainings: %d embedding "+
			"workers, %d embedding PSs.", on.GPU, on.Driver, on.EmbeddingWorkers, on.EmbeddingPSs))
		if on.PyTorch == nil {
			notes = append(notes, fmt.Sprintf("No PyTorch: %s. Name a Python interpreter with torch, with "+
				"CUDA, and numpy by --python.", on.NoPyTorch))
		} else {
			notes = append(notes, on.PyTorch.String()+"; tf32 by set_float32_matmul_precision, bf16 by "+
				"autocast, gradients set to None, nothing read from the GPU within a step.")
		}
	}
	notes = append(notes, agreementNotes(results)...)
	notes = append(notes,
		"A step is forward, backward and Adam of one rank, on values that are on the GPU. Tandem's also "+
			"reads the loss and checks that loss and gradients are finite.",
		"Products: the sum of the times of those that Tandem's engine asks cuBLASLt for in a step, each "+
			"repeated alone on random numbers, with the algorithm that the library chooses.",
		"Samples: the same step with pooled embeddings, numbers and labels from the host, and gradients "+
			"of pooled embeddings to it. Host sums: with gradients of all parameters to the host and "+
			"back, too, which wire.all-reduce: nccl or nccl-tree leave on GPUs. Not hidden: 1 − the step "+
			"without copies ÷ the step with them, round by round.",
		fmt.Sprintf("Trainings: rows of the preset criteo, in memory, at most %d steps an epoch; gradients "+
			"of parameters stay on the GPU, as those of one rank do; the time includes the start of the "+
			"roles.",
			p.Training.Steps))
	notes = append(notes, predictionNotes(results)...)
	return append(notes, report.FewSeedsNote(p.Rounds, "rounds", "quartiles")...)
}

// agreementNotes say how far PyTorch's first steps are from Tandem's, at most.
func agreementNotes(results []*result) []string {
	text := fmt.Sprintf("Both sides begin with the same parameters and values. Losses of %d steps and "+
		"the gradients of the first, layer by layer, are compared before the measurement", checkSteps)
	mark := ": "
	for _, precision := range job.DensePrecisions() {
		var most agreement
		for _, r := range results {
			for _, a := range r.Agreed {
				if r.Precision == precision && a.Within {
					most.Forward, most.Gradient = max(most.Forward, a.Forward), max(most.Gradient, a.Gradient)
					most.Within = true
				}
			}
		}
		if most.Within {
			t := tolerancesOf(precision)
			text += fmt.Sprintf("%sin %s, output layers are up to %.1e apart (tolerance %g), gradients "+
				"up to %.1e (%g)", mark, precision, most.Forward, t.Forward, most.Gradient, t.Gradient)
			mark = "; "
		}
	}
	if mark == ": " { // nothing was compared
		return nil
	}
	return []string{text + "."}
}
