package job_test

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
)

// Ranks that divide the groups share them; others have the largest power of two
// that leaves the total at most V, and more ranks than groups have one each.
func TestGroupsOfRanks(t *testing.T) {
	for _, c := range []struct{ groups, ranks, each int }{
		{8, 1, 8}, {8, 2, 4}, {8, 8, 1}, {8, 3, 2}, {8, 5, 1}, {8, 6, 1}, {64, 6, 8}, {64, 24, 2}, {8, 24, 1},
		{128, 100, 1}, {1, 3, 1},
	} {
		training := job.Job{Training: job.Training{Groups: c.groups}, Roles: job.Roles{Ranks: c.ranks}}
		if each, all := training.GroupsPerRank(), training.TotalGroups(); each != c.each ||
			all != c.each*c.ranks {
			t.Errorf("%d groups, %d ranks: %d a rank, %d in all; want %d", c.groups, c.ranks, each, all,
				c.each)
		}
	}
}

// For any number of ranks, every sample of a global batch is in exactly one group, in
// order, and no rank of a batch of at least one sample a rank is without any.
func TestEverySampleIsInOneGroup(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		training := job.Job{
			Training: job.Training{Groups: 1 << rapid.IntRange(0, 7).Draw(t, "levels")},
			Roles:    job.Roles{Ranks: rapid.IntRange(1, 130).Draw(t, "ranks")},
		}
		b := &batch.Batch{Samples: rapid.IntRange(0, 500).Draw(t, "samples")}
		for i := range b.Samples {
			b.Labels = append(b.Labels, float32(i))
		}
		next, group := 0, 0
		for _, part := range batch.Cut(b, training.TotalGroups(), training.Roles.Ranks) {
			if part.FirstGroup != group || part.Groups() != training.GroupsPerRank() ||
				b.Samples >= training.Roles.Ranks && part.Samples == 0 {
				t.Fatalf("%d samples of groups from %d on, %d of them", part.Samples, part.FirstGroup,
					part.Groups())
			}
			for g := range part.Groups() {
				group++
				for _, sample := range part.Labels[part.Bounds[g]:part.Bounds[g+1]] {
					if int(sample) != next {
						t.Fatalf("sample %v follows %d", sample, next-1)
					}
					next++
				}
			}
		}
		if next != b.Samples {
			t.Fatalf("%d samples are in a group, want %d", next, b.Samples)
		}
	})
}

// Of all modes, sync alone promises bits and refuses ranks.
func TestRanksThatDoNotDivideGroups(t *testing.T) {
	for _, mode := range job.Modes() {
		training := job.Default().InMode(mode)
		training.Roles.Ranks = 6
		err := training.Validate()
		var refused *job.RanksError
		if exact := mode == job.Sync; errors.As(err, &refused) != exact || !exact && err != nil {
			t.Errorf("%s: %v", mode, err)
		}
		if rule, err := training.Rule(); err == nil && rule.Exact() != (mode == job.Sync) {
			t.Errorf("%s: exact %t", mode, rule.Exact())
		}
	}
}
