package speed

import (
	"fmt"
	"slices"
	"strings"

	"tandem/experiments/internal/report"
)

// notes returns what a reader needs to judge the findings.
func (p *plan) notes(results []*result) (notes []string) {
	some := func(holds func(r *result) bool) bool { return slices.ContainsFunc(results, holds) }
	var on machine
	if len(results) > 0 {
		on = results[0].Machine
	}
	if on.Engine != "" {
		notes = on.notes()
	}
	if on.PyTorch != nil || some(func(r *result) bool { return r.PyTorch != nil }) {
		notes = append(notes, besidePyTorch...)
	}
	notes = append(notes, "Limits. Registers: all cores multiply and add in registers, without memory "+
		"access. Bare loop: rows in a plain array at known addresses, copied or updated by assembly with "+
		"prefetching, on huge pages as in Tandem. Own work: the least time for the pieces of work of the "+
		"training, each measured alone, with perfect overlap; measured once.")
	if some(func(r *result) bool { return r.Alone }) {
		notes = append(notes, fmt.Sprintf("* The rows of all sides did not fit in memory together (%v). In "+
			"every round one side after the other loaded them, warmed up, was measured in %d windows, whose "+
			"median counts, and freed them. So the sides of a round are further apart in time than in other "+
			"cases.", on.Memory, windowsAlone))
	}
	var tooLarge []string
	for _, r := range results {
		if name := r.String(); r.TooLarge && !slices.Contains(tooLarge, name) {
			tooLarge = append(tooLarge, name)
		}
	}
	if tooLarge != nil {
		notes = append(notes, fmt.Sprintf("Left out, because the rows of one side alone need more than %v: "+
			"%s.", on.Memory, strings.Join(tooLarge, "; ")))
	}
	return append(notes, report.FewSeedsNote(p.Rounds, "rounds", "a ratio")...)
}

// notes say what a machine and the programs on it are.
func (m *machine) notes() []string {
	notes := []string{
		fmt.Sprintf("Tandem: %s; the processor has %s; %s.", m.Engine, m.Vectors, cores(m.Cores)),
	}
	if m.PyTorch == nil {
		notes = append(notes, fmt.Sprintf("No PyTorch: %s. Name a Python interpreter with torch and "+
			"numpy by --python.", m.NoPyTorch))
	} else {
		notes = append(notes, m.PyTorch.String()+", eager, without torch.compile or TorchRec; gradients set "+
			"to None, large tensors on huge pages, one thread between operators.")
	}
	if m.FBGEMM == nil {
		return append(notes, fmt.Sprintf("No FBGEMM: %s.", m.NoFBGEMM))
	}
	return append(notes, fmt.Sprintf("FBGEMM %s (PyTorch %s), in a process too: "+
		"SplitTableBatchedEmbeddingBagsCodegen on the CPU, a table per slot, rows found by their "+
		"numbers, Adagrad or row-wise Adagrad within the backward pass; a training has PyTorch's "+
		"network and Adam, as one host of TorchRec does.", m.FBGEMM.FBGEMM, m.FBGEMM.Torch))
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
