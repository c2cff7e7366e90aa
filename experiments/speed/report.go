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

// report turns the results of a plan into tables, figures and sentences.
func (p *plan) report(results []*result) *report.Report {
	return &report.Report{
		Findings: p.findings(results), Notes: p.notes(), Settings: p, Data: results,
		Tables: []cli.Table{p.peerTable(results), p.limitTable(results)}, Figures: figures(results),
	}
}

// figures has a bar for every case that has two sides.
func figures(results []*result) []report.Figure {
	f := report.Figure{Name: "ratios", Title: "Rates of Tandem ÷ rates of PyTorch",
		X: report.Axis{Label: "ratio (thick mark: target; thin line: smallest to largest of a round)"}}
	for _, r := range results {
		if r.compared() {
			s := r.ratio()
			f.Bars = append(f.Bars, report.Bar{
				Name: fmt.Sprintf("%s, batch %d, %s", r, r.Batch, cores(r.Threads)), Color: slices.Index(kinds(), r.Kind),
				Value: s.Median, Low: s.Low, High: s.High, Target: r.Target,
			})
		}
	}
	if f.Bars == nil {
		return nil
	}
	return []report.Figure{f}
}

// cores writes their number.
func cores(n int) string {
	if n == 1 {
		return "1 core"
	}
	return fmt.Sprintf("%d cores", n)
}

// unit is what a case counts, and how many of them a step has.
func (r *result) unit() (name string, aStep float64) {
	if r.Rows != nil {
		return "M rows/s", float64(r.Batch*r.Rows.Slots) / 1e6
	}
	if r.Kind == kindTrain {
		return "k samples/s", float64(r.Corpus.Train*r.Corpus.Epochs) / 1e3
	}
	return "k samples/s", float64(r.Batch) / 1e3
}

// peerTable compares the sides.
func (p *plan) peerTable(results []*result) cli.Table {
	t := cli.Table{
		Caption: fmt.Sprintf("Tandem and PyTorch in turns: median (smallest–largest) of %d rounds", p.Rounds),
		Header:  []string{"case", "batch", "cores", "Tandem", "PyTorch", "unit", "ratio", "verdict"},
		Words:   1,
	}
	for _, r := range results {
		if !r.hasPeer() {
			continue
		}
		unit, aStep := r.unit()
		theirs, ratio, judged := "–", "–", ""
		if r.compared() {
			theirs, ratio = rates(r.PyTorch, aStep).String(), threeDigits(r.ratio().Median)
			judged = verdict(r.ratio().Median, r.Target)
		}
		t.Rows = append(t.Rows, []string{r.String(), strconv.Itoa(r.Batch), strconv.Itoa(r.Threads),
			rates(r.Tandem, aStep).String(), theirs, unit, ratio, judged})
	}
	return t
}

// limitTable compares Tandem with what the machine, or the pieces of its own work,
// allow.
func (p *plan) limitTable(results []*result) cli.Table {
	t := cli.Table{
		Caption: "Tandem beside what the machine allows, measured in the same rounds",
		Header:  []string{"case", "batch", "cores", "reached", "limit", "unit", "share", "limit by", "verdict"},
		Words:   1,
	}
	for _, r := range results {
		row := []string{r.String(), strconv.Itoa(r.Batch), strconv.Itoa(r.Threads)}
		unit, aStep := r.unit()
		switch {
		case r.Limit != nil:
			row = append(row, threeDigits(rates(r.Tandem, aStep).Median), threeDigits(rates(r.Limit, aStep).Median), unit,
				percent(r.limitShare()), map[string]string{kindDense: "registers", kindLookup: "bare loop", kindUpdate: "bare loop"}[r.Kind],
				verdict(r.limitShare(), r.targetShare()))
		case r.Share != nil:
			s := r.Share
			row = append(row, threeDigits(s.SamplesPerSecond/1e3), threeDigits(s.Bound/1e3), unit, percent(s.Share()), "own work", verdict(s.Share(), targetShare))
		default:
			continue
		}
		t.Rows = append(t.Rows, row)
	}
	for _, r := range results {
		if r.judgesOverhead() {
			t.Rows = append(t.Rows, []string{fmt.Sprintf("row overhead, dim %d, %s", r.Rows.Dim, r.Rows.Distribution), "–", "1", threeDigits(r.RowOverhead),
				shortNumber(targetOverhead), "bytes a row", "–", "design", verdictMost(r.RowOverhead, targetOverhead)})
		}
	}
	return t
}

// goal is the target of a case, and what it has reached.
type goal struct {
	text            string // with the figure
	reached, target float64
}

// goals lists those of a result that can be judged.
func (r *result) goals() (list []goal) {
	name := fmt.Sprintf("%s, batch %d, %s: ", r, r.Batch, cores(r.Threads))
	if r.compared() && r.Target > 0 {
		ratio := r.ratio()
		list = append(list, goal{fmt.Sprintf("%s%s × PyTorch, target %s", name, ratio, shortNumber(r.Target)), ratio.Median, r.Target})
	}
	if r.Limit != nil && r.targetShare() > 0 {
		list = append(list, goal{fmt.Sprintf("%s%s of the bare loop, target %s", name, percent(r.limitShare()), percent(r.targetShare())), r.limitShare(), r.targetShare()})
	}
	if r.judgesOverhead() {
		list = append(list, goal{fmt.Sprintf("row overhead, dim %d: %s bytes, target at most %s", r.Rows.Dim, threeDigits(r.RowOverhead), shortNumber(targetOverhead)), -r.RowOverhead, -targetOverhead})
	}
	if r.Share != nil {
		share := r.Share.Share()
		list = append(list, goal{fmt.Sprintf("%s%s of what its work allows, target %s", name, percent(share), percent(targetShare)), share, targetShare})
	}
	return list
}

// findings says how many goals are reached, and names those that are not.
func (p *plan) findings(results []*result) []string {
	var missed []string
	all := 0
	for _, r := range results {
		for _, g := range r.goals() {
			if all++; !(g.reached >= g.target) {
				missed = append(missed, "Short: "+g.text+".")
			}
		}
	}
	if all == 0 {
		return []string{"Nothing is judged: there is no PyTorch to compare with."}
	}
	return append([]string{fmt.Sprintf("%d of %d goals are reached.", all-len(missed), all)}, missed...)
}

func (p *plan) notes() []string {
	notes := []string{
		fmt.Sprintf("Tandem: %s; the processor has %s; %s.", p.Engine, isa.Best(), cores(runtime.NumCPU())),
	}
	if p.PyTorch == nil {
		notes = append(notes, fmt.Sprintf("No PyTorch: %s. Name a Python interpreter that has torch and numpy by --python.", p.NoPyTorch))
	} else {
		adam := "Adam fused"
		if !p.PyTorch.Fused {
			adam = "Adam not fused, which this version cannot"
		}
		notes = append(notes, p.PyTorch.String()+", eager, "+adam+", without torch.compile, TorchRec or FBGEMM; gradients set to None, large tensors on huge pages, one thread between operators.")
	}
	notes = append(notes,
		"A ratio is the median over rounds of Tandem's rate divided by PyTorch's of the same round. Other programs slow both sides, not alike: with two threads PyTorch waits by spinning, and one busy core can cost it most of its speed. Judge by a run on an idle machine.",
		"Both sides begin with the same parameters and values. What they have after three steps, optimizers included, is checked to agree to 4 digits.",
		"A training is compared by the loss on test rows, to 5 %: both begin with the same network, each with rows of its own. PyTorch's table has only the ids that occur, made before the clock runs; Tandem makes a row when an id first occurs. Tandem trains in its hybrid mode: rows may be up to 3 batches behind, so looking them up overlaps with the network; PyTorch does a step after another.",
		"Limits. Registers: all cores multiply and add in registers, and touch no memory. Bare loop: rows in a plain array at known places, copied or updated by assembly that fetches ahead, on huge pages as Tandem's. Own work: the least time that the pieces of work of the training take, each measured alone, if they overlapped perfectly; measured once.",
		"PyTorch finds a row by its number, Tandem by hashing its sign; PyTorch has rows as the gradients of nn.Embedding(sparse=True) in one table, the fastest of the ways tried, and Adagrad.",
	)
	if p.Rounds < report.SeedsWanted {
		notes = append(notes, fmt.Sprintf("Only %d rounds: take at least %d before believing a ratio.", p.Rounds, report.SeedsWanted))
	}
	return notes
}
