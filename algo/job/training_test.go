package job_test

import (
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/compress"
	"tandem/algo/protocol/delay"
	"tandem/algo/protocol/pace"
)

// A setting that is out of range is named by its path, with what would do.
func TestTrainingValidate(t *testing.T) {
	one, less, twenty := 1, -1, 20
	three := delay.Spec{Kind: delay.Exactly, Steps: 3}
	for _, c := range []struct {
		change func(*job.Training)
		want   string // part of the error; "" for none
	}{
		{func(*job.Training) {}, ""},
		{func(t *job.Training) { t.Mode, t.Merge = job.Sync, job.MergeRank }, ""},
		{func(t *job.Training) { t.Staleness, t.Ranks = &one, 8 }, ""},
		{func(t *job.Training) { t.Staleness = &twenty }, ""}, // no default stands against it
		{func(t *job.Training) { t.Staleness, t.Prefetch = &twenty, 21 }, ""},
		{func(t *job.Training) { t.Staleness, t.Prefetch = &twenty, 4 },
			"staleness = 20 needs 21 batches in flight, and prefetch = 4"},
		{func(t *job.Training) { t.Mode, t.Staleness, t.Prefetch = job.Sync, &one, 1 },
			"staleness = 1 needs 2 batches in flight, and prefetch = 1"},
		{func(t *job.Training) { t.Staleness = new(1 << 31) },
			"staleness = 2147483648; want 0 to 65535"},
		{func(t *job.Training) { t.Prefetch = -1 },
			"prefetch = -1; want 0 to 65536; 0 is one more than staleness"},
		{func(t *job.Training) { t.Mode = "hybird" }, `mode = "hybird" is unknown; the nearest is "hybrid"`},
		{func(t *job.Training) { t.Mode = "turbo" }, `mode = "turbo" is unknown; known are sequential, sync, hybrid`},
		{func(t *job.Training) { t.Merge = "stap" }, `merge = "stap" is unknown; the nearest is "step"`},
		{func(t *job.Training) { t.Scale = "" }, `scale = "" is unknown; known are global, rank`},
		{func(t *job.Training) { t.Wire, t.Index = compress.FP16Block, job.IndexCompressed }, ""},
		{func(t *job.Training) { t.Wire = "fp61" }, `wire = "fp61" is unknown; the nearest is "fp16"`},
		{func(t *job.Training) { t.Index = "zip" }, `index = "zip" is unknown; known are raw, compressed`},
		{func(t *job.Training) { t.Merge = job.MergeStep }, "merge = step needs mode sync or sequential"},
		{func(t *job.Training) { t.Epochs = 0 }, "epochs = 0; want 1 to 1000000"},
		{func(t *job.Training) { t.Prefetch = 1 << 31 }, "prefetch = 2147483648; want 0 to 65536"},
		{func(t *job.Training) { t.Groups = 12 }, "groups = 12; want a power of two"},
		{func(t *job.Training) { t.Ranks = 3 }, ""},
		{func(t *job.Training) { t.Mode, t.Ranks = job.Sequential, 3 }, ""},
		{func(t *job.Training) { t.Mode, t.Ranks = job.Sync, 8 }, ""},
		{func(t *job.Training) { t.Mode, t.Ranks = job.Sync, 3 },
			"ranks = 3 do not divide groups = 8: sync promises the bits of sequential training for any ranks," +
				" so all sum along one binary tree over the groups, of which each rank owns a branch;" +
				" choose ranks from the powers of two up to 8, or another mode"},
		{func(t *job.Training) { t.Mode, t.Ranks = job.Sync, 16 },
			"; choose ranks from the powers of two up to 8, groups = 16, or another mode"},
		{func(t *job.Training) { t.GlobalBatch = 3 }, "global-batch = 3 leaves some of 4 ranks without a sample"},
		{func(t *job.Training) { t.ShuffleWindow = -1 },
			"shuffle-window = -1; want 0 to 2147483647; 0 is all rows"},
		{func(t *job.Training) { t.Shuffle, t.ShuffleWindow = false, 9 }, "shuffle-window = 9 needs shuffle: true"},
		{func(t *job.Training) { t.Staleness = &less }, "staleness = -1; want 0 to 65535, or null"},
		{func(t *job.Training) { t.RowInit = -1 }, "row-init = -1"},
		{func(t *job.Training) { t.RowCapacity = -1 }, "row-capacity = -1"},
		{func(t *job.Training) { t.RowMemory = -1 }, "row-memory = -1"},
		{func(t *job.Training) { t.RowEviction = job.SecondChance }, "row-eviction = second-chance needs a limit"},
		{func(t *job.Training) { t.RowEviction = "lru" }, "row-eviction"},
		{func(t *job.Training) { t.RowPrecision = "fp8" }, "row-precision"},
		{func(t *job.Training) { t.Overlap = "ids" }, `overlap: pace: hybrid cannot overlap "ids"`},
		{func(t *job.Training) { t.Model.Kind = "wide" }, "model.kind"},
		{func(t *job.Training) { t.Dense.Kind = "lion" }, "dense-optimizer.kind"},
		{func(t *job.Training) { t.Rows.Kind = "lion" }, "row-optimizer.kind"},
		{func(t *job.Training) { t.Mode, t.Delay = job.Sequential, three }, ""},
		{func(t *job.Training) { t.Delay = three }, "delay = exactly 3 needs mode sequential: the staleness of hybrid is"},
		{func(t *job.Training) { t.Mode, t.DelayDense = job.Sync, three }, "delay-dense = exactly 3 needs mode sequential"},
		{func(t *job.Training) { t.DelayDense.Kind = "some" }, `delay-dense: "some" is not a delay`},
	} {
		training := job.Default()
		c.change(&training)
		err := training.Validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}

// What a file leaves out depends on the mode.
func TestTrainingDefaultsByMode(t *testing.T) {
	training := job.Default() // hybrid; 10 batches in flight
	if rule, err := training.Rule(); err != nil || rule != (pace.Hybrid{Staleness: 9, Overlap: pace.HybridDS}) || training.MergeByStep() {
		t.Errorf("hybrid: rule %+v, %v, merged by step %t", rule, err, training.MergeByStep())
	}
	training.Mode = job.Sync
	if rule, err := training.Rule(); err != nil || rule != (pace.Sync{Overlap: pace.OverlapIDsDS}) || !training.MergeByStep() {
		t.Errorf("sync: rule %+v, %v, merged by step %t", rule, err, training.MergeByStep())
	}
	training.Mode = job.Sequential
	if _, err := training.Rule(); err == nil || !training.MergeByStep() {
		t.Errorf("sequential: %v, merged by step %t", err, training.MergeByStep())
	}
}

// The window follows from τ where it is not set, and the depth from window and rule:
// sync looks one batch ahead, or none without overlap; sequential has no roles.
func TestDepthIsWindowOrStaleness(t *testing.T) {
	for _, c := range []struct {
		mode, overlap string
		staleness     *int
		prefetch      int
		window, depth int
	}{
		{job.Hybrid, "", nil, 0, 10, 10},
		{job.Hybrid, "", nil, 4, 4, 4},
		{job.Hybrid, "", new(20), 0, 21, 21},
		{job.Hybrid, "", new(0), 0, 1, 1},
		{job.AsyncPS, "", new(3), 10, 10, 4},
		{job.AsyncAverage, "", new(3), 0, 4, 4},
		{job.SSP, "", new(3), 4, 4, 4},
		{job.Sync, "", new(20), 0, 21, 2},
		{job.Sync, "", nil, 1, 1, 1},
		{job.Sync, "none", nil, 0, 10, 1},
		{job.Sequential, "", new(20), 0, 21, 1},
	} {
		training := job.Default()
		training.Mode, training.Overlap = c.mode, c.overlap
		training.Staleness, training.Prefetch = c.staleness, c.prefetch
		if err := training.Validate(); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
		if window, depth := training.Window(), training.Depth(); window != c.window || depth != c.depth {
			t.Errorf("%+v: window %d, depth %d", c, window, depth)
		}
	}
}
