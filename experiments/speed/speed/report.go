package speed

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"tandem/algo/numeric/isa"
	"tandem/experiments/internal/report"
)

// report returns the results of a plan as tables, figures and sentences.
func (p *plan) report(results []*result) *report.Report {
	return &report.Report{
		Findings: findings(results), Notes: p.notes(results), Settings: p, Data: results,
		Tables: p.tables(results), Figures: figures(results),
	}
}

// figures returns a figure for each peer, with a bar for each case that ran on both sides.
func figures(results []*result) (figures []report.Figure) {
	for _, peer := range comparisons() {
		f := report.Figure{Name: peer.figure, Title: "Rates of Tandem ÷ rates of " + peer.name,
			X: report.Axis{Label: "ratio (thick mark: target; thin line: smallest to largest of a round)"}}
		for _, r := range results {
			if peer.seconds(r) == nil {
				continue
			}
			s := peer.ratio(r)
			f.Bars = append(f.Bars, report.Bar{
				Name: r.fullName(), Color: slices.Index(kinds(), r.Kind),
				Value: s.Median, Low: s.Low, High: s.High, Target: peer.target(&r.testCase),
			})
		}
		if f.Bars != nil {
			figures = append(figures, f)
		}
	}
	return figures
}

// fullName returns the name of a case with its batch and threads.
func (c *testCase) fullName() string {
	return fmt.Sprintf("%s, batch %d, %s", c, c.Batch, cores(c.Threads))
}

// cores returns a number of cores as text.
func cores(n int) string {
	if n == 1 {
		return "1 core"
	}
	return fmt.Sprintf("%d cores", n)
}

// goal is a target and the value that was reached.
type goal struct {
	of              string // what has the target, the same for many cases
	text            string // the case and the value
	reached, target float64
}

// goals returns the goals of a result.
func (r *result) goals() (list []goal) {
	add := func(of string, reached, target float64, value string) {
		if target != 0 {
			list = append(list, goal{of, r.fullName() + ": " + value, reached, target})
		}
	}
	for _, peer := range comparisons() {
		if peer.seconds(r) != nil {
			ratio, target := peer.ratio(r), peer.target(&r.testCase)
			add(fmt.Sprintf("%s, %s × %s", r.family(), shortNumber(target), peer.name), ratio.Median, target,
				ratio.String()+" ×")
		}
	}
	if target := r.targetShare(); r.Limit != nil {
		share := r.limitShare()
		add(fmt.Sprintf("%ss, %s of the bare loop", r.Kind, percent(target)), share, target, percent(share))
	}
	if _, known := r.persia(); known {
		add(fmt.Sprintf("%ss, %d × Persia's store", r.Kind, targetPersia), r.persiaRatio(), targetPersia,
			threeDigits(r.persiaRatio())+" ×")
	}
	if r.judgesOverhead() {
		add(fmt.Sprintf("rows, at most %s bytes beside embedding and state", shortNumber(targetOverhead)),
			-r.RowOverhead, -targetOverhead, threeDigits(r.RowOverhead))
	}
	if r.Share != nil {
		share := r.Share.Share()
		add(fmt.Sprintf("trainings, %s of what their work allows", percent(targetShare)), share, targetShare,
			percent(share))
	}
	return list
}

// family returns what a case is, without its sizes.
func (c *testCase) family() string {
	if c.Kind == kindSparse {
		return "sparse steps with " + adagradName(c.RowWise)
	}
	return c.String()
}

// findings returns the number of targets that are reached, and a sentence for the cases that miss a target,
// with the one that is furthest from it.
func findings(results []*result) []string {
	var order []string
	all, missed := map[string]int{}, map[string][]goal{}
	sum, reached := 0, 0
	for _, r := range results {
		for _, g := range r.goals() {
			if all[g.of] == 0 {
				order = append(order, g.of)
			}
			all[g.of]++
			sum++
			if g.reached >= g.target {
				reached++
			} else {
				missed[g.of] = append(missed[g.of], g)
			}
		}
	}
	if sum == 0 {
		return []string{"There are no targets without PyTorch."}
	}
	list := []string{fmt.Sprintf("%d of %d targets are reached.", reached, sum)}
	for _, of := range order {
		if len(missed[of]) == 0 {
			continue
		}
		worst := slices.MinFunc(missed[of], func(a, b goal) int { return cmp.Compare(a.reached, b.reached) })
		list = append(list, fmt.Sprintf("Missed by %d of %d: %s. Lowest: %s.", len(missed[of]), all[of], of,
			worst.text))
	}
	return list
}

// notes returns what a reader needs to judge the findings.
func (p *plan) notes(results []*result) []string {
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
			"numbers, Adagrad or row-wise Adagrad within the backward pass; a training has PyTorch's "+
			"network and Adam, as one host of TorchRec does.",
			p.FBGEMM.FBGEMM, p.FBGEMM.Torch))
	}
	if p.PyTorch != nil {
		notes = append(notes, besidePyTorch...)
	}
	notes = append(notes, "Limits. Registers: all cores multiply and add in registers, without memory "+
		"access. Bare loop: rows in a plain array at known addresses, copied or updated by assembly with "+
		"prefetching, on huge pages as in Tandem. Own work: the least time for the pieces of work of the "+
		"training, each measured alone, with perfect overlap; measured once.")
	if slices.ContainsFunc(results, func(r *result) bool { _, known := r.persia(); return known }) {
		notes = append(notes, persiaNote)
	}
	if slices.ContainsFunc(results, func(r *result) bool { return r.Alone }) {
		notes = append(notes, fmt.Sprintf("* The rows of all sides did not fit in memory together (%v). In "+
			"every round one side after the other loaded them, warmed up, was measured in %d windows, whose "+
			"median counts, and freed them. So the sides of a round are further apart in time than in other "+
			"cases.", p.Memory, windowsAlone))
	}
	if len(p.TooLarge) > 0 {
		notes = append(notes, fmt.Sprintf("Left out, because the rows of one side alone need more than %v: "+
			"%s.", p.Memory, strings.Join(p.TooLarge, "; ")))
	}
	return append(notes, report.FewSeedsNote(p.Rounds, "rounds", "a ratio")...)
}

// besidePyTorch are notes on how the sides are compared.
var besidePyTorch = []string{
	"A ratio is the median over rounds of Tandem's rate ÷ PyTorch's rate in the same round. Other " +
		"programs slow both sides, but not equally: with two threads, PyTorch waits by spinning, " +
		"and one busy core can cost it most of its speed. Draw conclusions only from a run on an " +
		"idle machine.",
	"Both sides begin with the same parameters and values. Their results after three steps, " +
		"optimizers included, agree to 4 digits, or the experiment fails.",
	"The losses of a training on the test rows agree to 5 %, or the experiment fails: both sides " +
		"begin with the same network, but each with its own embedding rows. A peer's tables have " +
		"only the ids that occur and are made before the measurement; Tandem makes a row when an " +
		"id first occurs. Tandem trains in hybrid mode: rows may be up to 3 batches stale, so " +
		"lookups overlap with the network. A peer does one step after another.",
	"PyTorch finds a row by its number, Tandem by hashing its sign. PyTorch uses " +
		"nn.Embedding(sparse=True) with one table for all slots, the fastest of several ways, and " +
		"Adagrad.",
}
