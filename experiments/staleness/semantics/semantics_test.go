package semantics

import (
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/opt"
	"tandem/datasets"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/report/reporttest"
	"tandem/experiments/internal/trial"
	"tandem/experiments/internal/tune"
	"tandem/runtime/train"
)

// digests trains on 2,048 generated rows in global batches of 256, which 4 and 8 ranks divide equally.
func digests(t *testing.T, change func(j *job.Job)) [2]uint64 {
	t.Helper()
	p := newPlan(2_048, []int{1, 4}, tune.Grid(1, 4, 1))
	data, err := datasets.Open(p.DataSets[0].WithSeed(1), "")
	if err != nil {
		t.Fatal(err)
	}
	j := p.Job
	change(&j)
	j.Training.Shuffle = false
	source, err := datasets.TrainingSource(data, &j)
	if err != nil {
		t.Fatal(err)
	}
	r, err := train.Run(t.Context(), j, source, data.Test, train.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return [2]uint64{r.DenseDigest, r.RowsDigest}
}

// scales trains N ranks with scale:rank, and with scale:global and N times the rate.
func scales(t *testing.T, kind, merge string, ranks int) (rank, global [2]uint64) {
	common := func(j *job.Job) {
		j.Rows.Optimizer.Kind, j.Rows.Optimizer.Rate = kind, 0.3
		j.Training.Merge, j.Roles.Ranks = merge, ranks
	}
	rank = digests(t, func(j *job.Job) { common(j); j.Training.Scale = job.ScaleRank })
	global = digests(t, func(j *job.Job) { common(j); j.Rows.Optimizer.Rate *= float64(ranks) })
	return rank, global
}

// N and the batch are powers of two, so every factor between the two scales is exact in floating point.
func TestForSGDScaleRankIsNTimesTheRate(t *testing.T) {
	for _, merge := range []string{job.MergeStep, job.MergeRank} {
		for _, ranks := range []int{4, 8} {
			if rank, global := scales(t, opt.SGD, merge, ranks); rank != global {
				t.Errorf("merge:%s, %d ranks: digests %x and %x", merge, ranks, rank, global)
			}
		}
	}
}

func TestForAdaptiveOptimizersScaleRankIsNotNTimesTheRate(t *testing.T) {
	for _, kind := range []string{opt.Adagrad, opt.RowwiseAdagrad, opt.Adam} {
		if rank, global := scales(t, kind, job.MergeRank, 4); rank == global {
			t.Errorf("%s: scale:rank has the bits of scale:global with 4 times the rate", kind)
		}
	}
}

// One rank has nothing to merge, and its scales are equal.
func TestOneRankIsOneVariant(t *testing.T) {
	want := digests(t, func(j *job.Job) {
		j.Roles.Ranks, j.Training.Merge, j.Training.Scale = 1, job.MergeStep, job.ScaleGlobal
	})
	for _, merge := range []string{job.MergeStep, job.MergeRank} {
		for _, scale := range []string{job.ScaleGlobal, job.ScaleRank} {
			got := digests(t, func(j *job.Job) {
				j.Roles.Ranks, j.Training.Merge, j.Training.Scale = 1, merge, scale
			})
			if got != want {
				t.Errorf("merge:%s, scale:%s: digests %x, want %x", merge, scale, got, want)
			}
		}
	}
}

// A small comparison: every variant is tuned and trained. The two SGD variants with equal merging have
// equal trials, shifted by N.
func TestSmallPlan(t *testing.T) {
	p := newPlan(2_560, []int{1, 4}, tune.Grid(1, 4, 1))
	p.DataSets, p.Optimizers, p.TuningSeeds = p.DataSets[:1], p.Optimizers[:2], tune.SeedsMin
	p.Seed, p.Seeds = 1, 2
	o := report.Options{Folder: t.TempDir(), Progress: reporttest.Progress(t)}
	results, err := trial.Measure(o, "", 0, func(lab *trial.Lab) ([]*result, error) {
		return p.measure(t.Context(), lab)
	})
	if err != nil {
		t.Fatal(err)
	}
	r := results[0]
	if len(r.Variants) != 2*5 || len(r.Moves) != 2 {
		t.Fatalf("%d variants, %d moves", len(r.Variants), len(r.Moves))
	}
	// Variants 1 and 2 are merge:step with scale:global and with scale:rank. 2,560 rows are whole batches
	// of 256.
	for i := range p.Factors[1:] {
		global, rank := r.Variants[1].Choice.Candidates[i+1], r.Variants[2].Choice.Candidates[i]
		if global.AUC[0] != rank.AUC[0] {
			t.Errorf("SGD, candidate %d: AUC %v at scale:global, %v at scale:rank with a quarter of the "+
				"rate", i, global.AUC[0], rank.AUC[0])
		}
	}
	for _, a := range r.Variants {
		if a.Choice.Trials != r.Variants[0].Choice.Trials {
			t.Errorf("%v had %d trials, %v had %d", a.Variant, a.Choice.Trials, r.Variants[0].Variant,
				r.Variants[0].Choice.Trials)
		}
	}
	made := p.report(results)
	reporttest.CheckWidth(t, made)
	if err := made.WriteFolder(t.TempDir()); err != nil {
		t.Error(err)
	}
}
