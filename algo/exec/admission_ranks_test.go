package exec

import (
	"testing"

	"tandem/algo/exec/exectest"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
)

// CheckPayload accepts the parts of any number of ranks, even of a short batch of which some ranks have
// nothing, and refuses the part of another rank.
func TestPartsOfAnyRanksPass(t *testing.T) {
	for _, ranks := range []int{1, 3, 5, 6, 16} {
		settings := exectest.Job(ranks, 2)
		settings.Training.Mode, settings.Training.Groups = job.Hybrid, 16
		source := exectest.NewColumns(16+5, 16)
		p := mustNew(t, settings, source)
		for step := range source.Steps() {
			global, err := source.Read(step)
			if err != nil {
				t.Fatal(err)
			}
			for rank, part := range batch.Cut(global, settings.TotalGroups(), ranks) {
				m := msg.Message{
					Kind: msg.Samples, Rank: int32(rank), Step: int32(step), Samples: int32(part.Samples),
					StepSamples: int32(global.Samples),
					Bytes:       msg.HeaderBytes + unit.Bytes(4*(len(part.Dense)+len(part.Labels))),
				}
				if err := p.Admission().CheckPayload(m, Samples{&part}); err != nil {
					t.Errorf("%d ranks: %v", ranks, err)
				}
				for m.Rank = range int32(ranks) {
					if int(m.Rank) != rank && p.Admission().CheckPayload(m, Samples{&part}) == nil {
						t.Errorf("%d ranks: the part of rank %d passes for that of rank %d", ranks, rank,
							m.Rank)
					}
				}
			}
		}
	}
}
