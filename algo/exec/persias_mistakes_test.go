package exec

import (
	"math"
	"strings"
	"testing"

	"tandem/algo/exec/exectest"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/role"
)

// Persia's check for finite gradients keeps its own step count, so it checks only the first batch. Tandem
// checks every step: here the last of four has the NaN.
func TestPersiasMistakeFiniteCheckOnTheFirstBatchOnly(t *testing.T) {
	source := exectest.NewColumns(4*16, 16)
	source.All.Dense[3*16+9] = float32(math.NaN()) // of the second of two ranks
	s := newScript(t, exectest.Job(2, 1), source)
	for range 3 {
		s.train(false)
	}
	s.read = s.do(dataLoader, role.Read, event.NoRank)
	for rank := range s.ranks() {
		s.lookup(rank)
		s.do(nnWorker(rank), role.Forward, rank)
		if got, want := s.do(nnWorker(rank), role.Backward, rank).NotFinite, rank == 1; (got != "") != want {
			t.Errorf("rank %d: not finite: %q, want %t", rank, got, want)
		}
	}
	q := mustNewSequential(t, exectest.Job(2, 1), source)
	mustStep(t, q, 3)
	if err := q.Step(3); err == nil ||
		!strings.Contains(err.Error(), "step 3: the loss or a gradient is not finite") {
		t.Errorf("sequential: %v", err)
	}
}
