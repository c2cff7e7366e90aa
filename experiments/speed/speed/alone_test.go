package speed

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"tandem/algo/unit"
	"tandem/experiments/internal/report"
)

// holder is a side that computes as Tandem does, and counts the sides that hold rows at the same time.
type holder struct {
	local
	held, most *int
}

// open implements side.
func (h *holder) open(ctx context.Context, p *prepared) (float64, error) {
	*h.held++
	*h.most = max(*h.most, *h.held)
	return h.local.open(ctx, p)
}

// close implements side.
func (h *holder) close(ctx context.Context) error {
	*h.held--
	return h.local.close(ctx)
}

// Where the rows of all sides do not fit in memory, one side at a time holds them, and every round still has
// a value of each side.
func TestOneSideAtATime(t *testing.T) {
	sparse := testCase{Kind: kindSparse, Batch: 32, Threads: 2,
		Rows: &rows{Total: 1200, Dim: 16, Slots: 3, Each: 400, Distribution: zipf}}
	lookup := sparse
	lookup.Kind = kindLookup
	for sides, want := range map[int]int{3: 2, 1: 1} { // PyTorch and FBGEMM are holders, Tandem is not
		held, most := 0, 0
		peer, fbgemm := &holder{held: &held, most: &most}, &holder{held: &held, most: &most}
		p := &plan{Rounds: 2, Window: time.Millisecond, Cases: []testCase{sparse, lookup}}
		m := on(p, map[string]side{"PyTorch": peer, "FBGEMM": fbgemm})
		m.Memory = sparse.bytes() * unit.Bytes(sides)
		results, err := m.all(t.Context(), report.Options{Folder: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		if most != want || held != 0 {
			t.Errorf("memory for %d sides: %d peers held rows at a time and %d at the end, want %d and 0",
				sides, most, held, want)
		}
		for _, r := range results {
			if r.Alone != (sides == 1) || len(r.Tandem) != 2 {
				t.Errorf("memory for %d sides, %v: alone %v, %v", sides, r, r.Alone, r.Tandem)
			}
			if r.Kind == kindSparse && (len(r.PyTorch) != 2 || len(r.FBGEMM) != 2) {
				t.Errorf("%v: peers %v and %v, want two rounds", r, r.PyTorch, r.FBGEMM)
			}
		}
		noted := strings.Contains(strings.Join(p.notes(results), "\n"), "* The rows of all sides did not fit")
		if noted != (sides == 1) {
			t.Errorf("memory for %d sides: noted %v", sides, noted)
		}
	}
}

// A case of which one side alone needs more memory than there is is left out, and the report says so.
func TestTooLarge(t *testing.T) {
	const gigabyte = 1_000_000_000
	p, err := newPlan(report.Options{Seeds: 2}, newChoice())
	if err != nil {
		t.Fatal(err)
	}
	var results []*result
	cases := 0
	m := on(p, nil)
	m.Memory = 8 * gigabyte
	for _, c := range p.Cases {
		if m.fits(&c, 1) {
			continue
		}
		cases++
		r, err := m.compare(t.Context(), c) // which measures nothing
		if err != nil || !r.TooLarge {
			t.Errorf("%s: %+v, error %v", c.name(), r, err)
		}
		results = append(results, r)
	}
	want := "Left out, because the rows of one side alone need more than 8GB: sparse step, 10 M × 128, " +
		"uniform; sparse step, 10 M × 128, Zipf 1.05; lookup, 10 M × 128, uniform; update, 10 M × 128, " +
		"uniform; " +
		"lookup, 10 M × 128, Zipf 1.05; update, 10 M × 128, Zipf 1.05."
	if notes := p.notes(results); cases != 8+4 || !slices.Contains(notes, want) {
		t.Errorf("%d cases, notes\n%s", cases, strings.Join(notes, "\n"))
	}
	if tables := p.report(results).Tables; tables != nil {
		t.Errorf("tables %v of cases that were left out", tables)
	}
	m.Memory = 0
	if !m.fits(&results[0].testCase, 9) {
		t.Error("a case is left out where the memory is not known")
	}
}
