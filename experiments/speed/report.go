package speed

import (
	"fmt"
	"runtime"
	"slices"
	"strconv"

	"tandem/algo/numeric/isa"
	"tandem/experiments/report"
	"tandem/internal/cli"
)

// report returns the results of a plan as tables, figures and sentences.
func (p *plan) report(results []*result) *report.Report {
	return &report.Report{
		Findings: p.findings(results), Notes: p.notes(), Settings: p, Data: results,
		Tables: p.tables(results), Figures: figures(results),
	}
}

// figures returns a figure with a bar for each case that ran on both sides.
func figures(results []*result) []report.Figure {
	f := report.Figure{Name: "ratios", Title: "Rates of Tandem ÷ rates of PyTorch",
		X: report.Axis{Label: "ratio (thick mark: target; thin line: smallest to largest of a round)"}}
	for _, r := range results {
		if r.compared() {
			s := r.ratio()
			f.Bars = append(f.Bars, report.Bar{
				Name: fmt.Sprintf("%s, batch %d, %s", r, r.Batch,
					cores(r.Threads)), Color: slices.Index(kinds(), r.Kind),
				Value: s.Median, Low: s.Low, High: s.High, Target: r.Target,
			})
		}
	}
	if f.Bars == nil {
		return nil
	}
	return []report.Figure{f}
}

// cores returns a number of cores as text.
func cores(n int) string {
	if n == 1 {
		return "1 core"
	}
	return fmt.Sprintf("%d cores", n)
}

// unit returns the unit of the rate of a case, and the units of work per step.
func (r *result) unit() (name string, perStep float64) {
	if r.Rows != nil {
		return "M rows/s", float64(r.Batch*r.Rows.Slots) / 1e6
	}
	if r.Kind == kindTrain {
		return "k samples/s", float64(r.Corpus.Train*r.Corpus.Epochs) / 1e3
	}
	return "k samples/s", float64(r.Batch) / 1e3
}

// tables returns the comparisons with PyTorch, with FBGEMM if there is any, and with limits.
func (p *plan) tables(results []*result) []cli.Table {
	tables := []cli.Table{p.peerTable("PyTorch", results, (*result).hasPeer,
		func(r *result) ([]float64, float64) { return r.PyTorch, r.Target })}
	if p.FBGEMM != nil {
		tables = append(tables, p.peerTable("FBGEMM", results, (*result).hasFBGEMM,
			func(r *result) ([]float64, float64) { return r.FBGEMM, r.targetFBGEMM() }))
	}
	return append(tables, p.limitTable(results))
}

// peerTable returns the comparison with a peer, of the cases that it has. Of returns its seconds per step,
// nil if it did not run, and the target.
func (p *plan) peerTable(name string, results []*result, has func(*result) bool,
	of func(*result) ([]float64, float64)) cli.Table {
	t := cli.Table{
		Caption: fmt.Sprintf("Tandem and %s in turns: median (smallest–largest) of %d rounds", name,
			p.Rounds),
		Header: []string{"case", "batch", "cores", "Tandem", name, "unit", "ratio", "verdict"},
		Words:  1,
	}
	for _, r := range results {
		if !has(r) {
			continue
		}
		unit, perStep := r.unit()
		theirs, ratioText, judged := "–", "–", ""
		if seconds, target := of(r); seconds != nil {
			s := ratio(seconds, r.Tandem)
			theirs, ratioText = rates(seconds, perStep).String(), threeDigits(s.Median)
			judged = verdict(s.Median, target)
		}
		t.Rows = append(t.Rows, []string{r.String(), strconv.Itoa(r.Batch), strconv.Itoa(r.Threads),
			rates(r.Tandem, perStep).String(), theirs, unit, ratioText, judged})
	}
	return t
}

// limitTable returns the comparison of Tandem with the limits of the machine, or of its own pieces of work.
func (p *plan) limitTable(results []*result) cli.Table {
	t := cli.Table{
		Caption: "Tandem and the limits of the machine, measured in the same rounds",
		Header: []string{
			"case", "batch", "cores", "reached", "limit", "unit", "share", "limit by", "verdict",
		},
		Words: 1,
	}
	for _, r := range results {
		row := []string{r.String(), strconv.Itoa(r.Batch), strconv.Itoa(r.Threads)}
		unit, perStep := r.unit()
		switch {
		case r.Limit != nil:
			limit := map[string]string{
				kindDense: "registers", kindLookup: "bare loop", kindUpdate: "bare loop",
			}
			row = append(row, threeDigits(rates(r.Tandem, perStep).Median),
				threeDigits(rates(r.Limit, perStep).Median), unit, percent(r.limitShare()), limit[r.Kind],
				verdict(r.limitShare(), r.targetShare()))
		case r.Share != nil:
			s := r.Share
			row = append(row, threeDigits(s.SamplesPerSecond/1e3), threeDigits(s.Bound/1e3), unit,
				percent(s.Share()), "own work", verdict(s.Share(), targetShare))
		default:
			continue
		}
		t.Rows = append(t.Rows, row)
	}
	for _, r := range results {
		if r.judgesOverhead() {
			t.Rows = append(t.Rows, []string{
				fmt.Sprintf("row overhead, dim %d, %s", r.Rows.Dim, r.Rows.Distribution), "–", "1",
				threeDigits(r.RowOverhead), shortNumber(targetOverhead), "bytes per row", "–", "design",
				verdictMost(r.RowOverhead, targetOverhead),
			})
		}
	}
	return t
}

// goal is a target and the value that was reached.
type goal struct {
	text            string // describes the value and the target
	reached, target float64
}

// goals returns the goals of a result.
func (r *result) goals() (list []goal) {
	name := fmt.Sprintf("%s, batch %d, %s: ", r, r.Batch, cores(r.Threads))
	add := func(reached, target float64, format string, args ...any) {
		list = append(list, goal{fmt.Sprintf(format, args...), reached, target})
	}
	if r.compared() && r.Target > 0 {
		ratio := r.ratio()
		add(ratio.Median, r.Target, "%s%s × PyTorch, target %s", name, ratio, shortNumber(r.Target))
	}
	if target := r.targetFBGEMM(); len(r.FBGEMM) > 0 && target > 0 {
		ratio := r.ratioFBGEMM()
		add(ratio.Median, target, "%s%s × FBGEMM, target %s", name, ratio, shortNumber(target))
	}
	if share, target := r.limitShare, r.targetShare(); r.Limit != nil && target > 0 {
		add(share(), target, "%s%s of the bare loop, target %s", name, percent(share()), percent(target))
	}
	if r.judgesOverhead() {
		add(-r.RowOverhead, -targetOverhead, "row overhead, dim %d: %s bytes, target at most %s",
			r.Rows.Dim, threeDigits(r.RowOverhead), shortNumber(targetOverhead))
	}
	if r.Share != nil {
		share := r.Share.Share()
		add(share, targetShare, "%s%s of what its work allows, target %s",
			name, percent(share), percent(targetShare))
	}
	return list
}

// findings returns the number of targets that are reached, and a sentence for each target that is missed.
func (p *plan) findings(results []*result) []string {
	var missed []string
	all := 0
	for _, r := range results {
		for _, g := range r.goals() {
			if all++; !(g.reached >= g.target) {
				missed = append(missed, "Missed: "+g.text+".")
			}
		}
	}
	if all == 0 {
		return []string{"There are no targets without PyTorch."}
	}
	return append([]string{fmt.Sprintf("%d of %d targets are reached.", all-len(missed), all)}, missed...)
}

// notes returns what a reader needs to judge the findings.
func (p *plan) notes() []string {
	notes := []string{
		fmt.Sprintf("Tandem: %s; the processor has %s; %s.", p.Engine, isa.Best(), cores(runtime.NumCPU())),
	}
	if p.PyTorch == nil {
		notes = append(notes, fmt.Sprintf("No PyTorch: %s. Name a Python interpreter with torch and "+
			"numpy by --python.", p.NoPyTorch))
	} else {
		adam := "Adam fused"
		if !p.PyTorch.Fused {
			adam = "Adam not fused, because this version does not support it"
		}
		notes = append(notes, p.PyTorch.String()+", eager, "+adam+", without torch.compile or "+
			"TorchRec; gradients set to None, large tensors on huge pages, one thread between "+
			"operators.")
	}
	if p.FBGEMM == nil {
		notes = append(notes, fmt.Sprintf("No FBGEMM: %s.", p.NoFBGEMM))
	} else {
		notes = append(notes, fmt.Sprintf("FBGEMM %s (PyTorch %s), in a process too: "+
			"SplitTableBatchedEmbeddingBagsCodegen on the CPU, a table per slot, rows found by their "+
			"numbers, Adagrad or row-wise Adagrad within the backward pass.",
			p.FBGEMM.FBGEMM, p.FBGEMM.Torch))
	}
	notes = append(notes,
		"A ratio is the median over rounds of Tandem's rate ÷ PyTorch's rate in the same round. Other "+
			"programs slow both sides, but not equally: with two threads, PyTorch waits by spinning, "+
			"and one busy core can cost it most of its speed. Draw conclusions only from a run on an "+
			"idle machine.",
		"Both sides begin with the same parameters and values. Their results after three steps, "+
			"optimizers included, agree to 4 digits, or the experiment fails.",
		"The losses of a training on the test rows agree to 5 %, or the experiment fails: both sides "+
			"begin with the same network, but each with its own embedding rows. PyTorch's table has "+
			"only the ids that occur and is made before the measurement; Tandem makes a row when an "+
			"id first occurs. Tandem trains in hybrid mode: rows may be up to 3 batches stale, so "+
			"lookups overlap with the network. PyTorch does one step after another.",
		"Limits. Registers: all cores multiply and add in registers, without memory access. Bare "+
			"loop: rows in a plain array at known addresses, copied or updated by assembly with "+
			"prefetching, on huge pages as in Tandem. Own work: the least time for the pieces of work "+
			"of the training, each measured alone, with perfect overlap; measured once.",
		"PyTorch finds a row by its number, Tandem by hashing its sign. PyTorch uses "+
			"nn.Embedding(sparse=True) with one table for all slots, the fastest of several ways, and "+
			"Adagrad.",
	)
	return append(notes, report.FewSeedsNote(p.Rounds, "rounds", "a ratio")...)
}
