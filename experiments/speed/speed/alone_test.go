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
func (h *holder) open(ctx context.Context, p *prepared) (warmState, error) {
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
		p := &plan{Rounds: 2, Window: time.Millisecond, Cases: []testCase{sparse, lookup},
			Memory: sparse.bytes() * unit.Bytes(sides), NoPyTorch: "it is not there"}
		out, err := p.execute(t.Context(), report.Options{Folder: t.TempDir()}, peer, fbgemm)
		if err != nil {
			t.Fatal(err)
		}
		if most != want || held != 0 {
			t.Errorf("memory for %d sides: %d peers held rows at a time and %d at the end, want %d and 0",
				sides, most, held, want)
		}
		for _, r := range out.Data.([]*result) {
			if r.Alone != (sides == 1) || len(r.Tandem) != 2 {
				t.Errorf("memory for %d sides, %v: alone %v, %v", sides, r, r.Alone, r.Tandem)
			}
			if r.Kind == kindSparse && (len(r.PyTorch) != 2 || len(r.FBGEMM) != 2) {
				t.Errorf("%v: peers %v and %v, want two rounds", r, r.PyTorch, r.FBGEMM)
			}
		}
		noted := strings.Contains(strings.Join(out.Notes, "\n"), "* The rows of all sides did not fit")
		if noted != (sides == 1) {
			t.Errorf("memory for %d sides: noted %v", sides, noted)
		}
	}
}

// A case of which one side alone needs more memory than there is is left out, and the report says so.
func TestTooLarge(t *testing.T) {
	const gigabyte = 1_000_000_000
	p, err := newPlan(report.Options{Seeds: 2}, newChoice(), 10*gigabyte)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"sparse step, 10 M × 128, uniform", "sparse step, 10 M × 128, Zipf 1.05",
		"lookup, 10 M × 128, uniform", "update, 10 M × 128, uniform", "lookup, 10 M × 128, Zipf 1.05",
		"update, 10 M × 128, Zipf 1.05"}
	if !slices.Equal(p.TooLarge, want) {
		t.Errorf("left out %q, want %q", p.TooLarge, want)
	}
	if notes := strings.Join(p.notes(nil), "\n"); !strings.Contains(notes, "need more than 8GB: "+want[0]) {
		t.Errorf("notes\n%s", notes)
	}
	all, err := newPlan(report.Options{Seeds: 2}, newChoice(), 0)
	if err != nil || len(all.Cases) != len(p.Cases)+8+4 || all.TooLarge != nil {
		t.Errorf("%d cases, error %v, want all where the memory is not known", len(all.Cases), err)
	}
}
