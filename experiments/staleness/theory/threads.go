package theory

import (
	"context"
	"math"

	"tandem/algo/exec/backend"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/runtime/train"
)

// runThreads trains in a mode with several ranks, whose gradients are applied rank by rank. Its outcome has
// the mean excess loss over ids at the end.
func runThreads(
	ctx context.Context, c *coins, mode string, ranks, tau int, rate float64, m backend.Backend,
) (outcome, error) {
	t := newJob(rate, c.Batch, c.Seed)
	t.Training.Mode, t.Training.Merge = mode, job.MergeRank
	t.Training.Groups, t.Roles.Ranks = ranks, ranks
	t.Training.Staleness, t.Training.Prefetch = &tau, tau+1
	r, err := train.Run(ctx, t, c, c.testSet(), train.Options{Backend: m})
	if err != nil {
		return outcome{}, err
	}
	return outcome{Excess: r.LogLoss - math.Ln2, Missed: r.MissedUpdates.Mean()}, nil
}

// testSet has a sample of each label for every id: the log loss of a model on it is ln 2 plus its mean
// excess.
func (c *coins) testSet() *batch.Batch {
	all := *c
	all.Batch, all.Balanced, all.Random, all.fixed = 2*c.Ids, true, false, nil
	b, _ := all.Read(0) // draws nothing
	return b
}
