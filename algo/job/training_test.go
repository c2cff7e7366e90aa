package job_test

import (
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/compress"
	"tandem/algo/numeric/model"
	"tandem/algo/protocol/delay"
	"tandem/algo/protocol/pace"
)

// A setting that is out of range is named by its path, with what would do.
func TestTrainingValidate(t *testing.T) {
	one, less, twenty := 1, -1, 20
	share, three := -0.5, delay.Spec{Kind: delay.Exactly, Steps: 3}
	for _, c := range []struct {
		change func(*job.Job)
		want   string // part of the error; "" for none
	}{
		{func(*job.Job) {}, ""},
		{func(t *job.Job) { t.Training.Mode, t.Training.Merge = job.Sync, job.MergeRank }, ""},
		{func(t *job.Job) { t.Training.Staleness, t.Roles.Ranks = &one, 8 }, ""},
		{func(t *job.Job) { t.Training.Staleness = &twenty }, ""}, // no default stands against it
		{func(t *job.Job) { t.Training.Staleness, t.Training.Prefetch = &twenty, 21 }, ""},
		{func(t *job.Job) { t.Training.Staleness, t.Training.Prefetch = &twenty, 4 },
			"staleness = 20 needs 21 batches in flight, and prefetch = 4"},
		{func(t *job.Job) { t.Training.Mode, t.Training.Staleness, t.Training.Prefetch = job.Sync, &one, 1 },
			"staleness = 1 needs 2 batches in flight, and prefetch = 1"},
		{func(t *job.Job) { t.Training.Staleness = new(1 << 31) },
			"staleness = 2147483648; want 0 to 65535"},
		{func(t *job.Job) { t.Training.Prefetch = -1 },
			"prefetch = -1; want 0 to 65536; 0 is one more than staleness"},
		{func(t *job.Job) { t.Training.Mode = "hybird" },
			`mode = "hybird" is unknown; the nearest is "hybrid"`},
		{func(t *job.Job) { t.Training.Mode = "turbo" },
			`mode = "turbo" is unknown; known are sequential, sync, hybrid`},
		{func(t *job.Job) { t.Training.Merge = "stap" }, `merge = "stap" is unknown; the nearest is "step"`},
		{func(t *job.Job) { t.Training.Scale = "" }, `scale = "" is unknown; known are global, rank`},
		{func(t *job.Job) { t.Wire.Precision, t.Wire.Index = compress.FP16Block, job.IndexCompressed }, ""},
		{func(t *job.Job) { t.Wire.Precision = "fp61" },
			`wire.precision = "fp61" is unknown; the nearest is "fp16"`},
		{func(t *job.Job) { t.Wire.Index = "zip" }, `index = "zip" is unknown; known are raw, compressed`},
		{func(t *job.Job) { t.Wire.AllReduce = job.NCCLSums },
			"wire.all-reduce = nccl needs GPUs: set model.device to cuda"},
		{func(t *job.Job) { t.Wire.AllReduce, t.Model.Device.CUDA = job.NCCLSums, true }, ""},
		{func(t *job.Job) {
			t.Wire.AllReduce, t.Model.Device.CUDA = job.NCCLSums, true
			t.Model.Spec = model.Spec{Kind: model.Torch, File: "net.py", Class: "Net", EmbeddingDim: 4}
		}, "wire.all-reduce = nccl: the gradients of a module of PyTorch come to the host"},
		{func(t *job.Job) {
			t.Wire.AllReduce, t.Model.Device.CUDA, t.Roles.RankRecovery = job.NCCLSums, true, true
		}, "roles.rank-recovery needs wire.all-reduce = host: the sums of nccl end with the first rank"},
		{func(t *job.Job) { t.Training.Merge = job.MergeStep }, "merge = step needs mode sync or sequential"},
		{func(t *job.Job) { t.Training.Epochs = 0 }, "epochs = 0; want 1 to 1000000"},
		{func(t *job.Job) { t.Training.Prefetch = 1 << 31 }, "prefetch = 2147483648; want 0 to 65536"},
		{func(t *job.Job) { t.Training.Groups = 12 }, "groups = 12; want a power of two"},
		{func(t *job.Job) { t.Roles.Ranks = 3 }, ""},
		{func(t *job.Job) { t.Training.Mode, t.Roles.Ranks = job.Sequential, 3 }, ""},
		{func(t *job.Job) { t.Training.Mode, t.Roles.Ranks = job.Sync, 8 }, ""},
		{func(t *job.Job) { t.Training.Mode, t.Roles.Ranks = job.Sync, 3 },
			"ranks = 3 do not divide groups = 8: sync promises the bits of sequential training" +
				" for any ranks, so all sum along one binary tree over the groups, of which each rank owns " +
				"a branch;" +
				" choose ranks from the powers of two up to 8, or another mode"},
		{func(t *job.Job) { t.Training.Mode, t.Roles.Ranks = job.Sync, 16 },
			"; choose ranks from the powers of two up to 8, groups = 16, or another mode"},
		{func(t *job.Job) { t.Training.GlobalBatch = 3 },
			"global-batch = 3 leaves some of 4 ranks without a sample"},
		{func(t *job.Job) { t.Training.ShuffleWindow = -1 },
			"shuffle-window = -1; want 0 to 2147483647; 0 is all rows"},
		{func(t *job.Job) { t.Training.Shuffle, t.Training.ShuffleWindow = false, 9 },
			"shuffle-window = 9 needs shuffle: true"},
		{func(t *job.Job) { t.Training.Staleness = &less }, "staleness = -1; want 0 to 65535, or null"},
		{func(t *job.Job) { t.Rows.Init = -1 }, "rows.init = -1"},
		{func(t *job.Job) { t.Rows.Capacity = -1 }, "rows.capacity = -1"},
		{func(t *job.Job) { t.Rows.Memory = -1 }, "rows.memory = -1"},
		{func(t *job.Job) { t.Rows.Eviction = job.SecondChance },
			"rows.eviction = second-chance needs a limit"},
		{func(t *job.Job) { t.Rows.Eviction = "lru" }, "rows.eviction"},
		{func(t *job.Job) { t.Model.Precision = job.TF32 }, "model.precision = tf32 needs a GPU"},
		{func(t *job.Job) { t.Model.Precision, t.Model.Device = job.TF32, job.Device{CUDA: true} }, ""},
		{func(t *job.Job) { t.Rows.Precision = "fp8" }, "rows.precision"},
		{func(t *job.Job) { t.Training.Overlap = "ids" }, `overlap: pace: hybrid cannot overlap "ids"`},
		{func(t *job.Job) { t.Model.Kind = "wide" }, "model.kind"},
		{func(t *job.Job) { t.Model.Optimizer.Kind = "lion" }, "model.optimizer.kind"},
		{func(t *job.Job) { t.Rows.Optimizer.Kind = "lion" }, "rows.optimizer.kind"},
		{func(t *job.Job) { t.Training.Mode, t.Training.Delay = job.Sequential, three }, ""},
		{func(t *job.Job) { t.Training.Delay = three },
			"delay = exactly 3 needs mode sequential: the staleness of hybrid is"},
		{func(t *job.Job) { t.Training.Mode, t.Training.DelayDense = job.Sync, three },
			"delay-dense = exactly 3 needs mode sequential"},
		{func(t *job.Job) { t.Training.HotRows = &share }, "hot-rows = -0.5; want a share of the samples"},
		{func(t *job.Job) { t.Training.HotRows = new(float64) },
			"exempts rows from training.delay, which is"},
		{func(t *job.Job) { t.Training.DelayDense.Kind = "some" }, `delay-dense: "some" is not a delay`},
	} {
		training := job.Default()
		c.change(&training)
		err := training.Validate()
		if c.want == "" && err != nil || c.want != "" &&
			(err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}

// What a file leaves out depends on the mode.
func TestTrainingDefaultsByMode(t *testing.T) {
	training := job.Default() // hybrid; 10 batches in flight
	if rule, err := training.Rule(); err != nil ||
		rule != (pace.Hybrid{Staleness: 9, Overlap: pace.HybridDS}) || training.MergeByStep() {
		t.Errorf("hybrid: rule %+v, %v, merged by step %t", rule, err, training.MergeByStep())
	}
	training.Training.Mode = job.Sync
	if rule, err := training.Rule(); err != nil || rule != (pace.Sync{Overlap: pace.OverlapIDsDS}) ||
		!training.MergeByStep() {
		t.Errorf("sync: rule %+v, %v, merged by step %t", rule, err, training.MergeByStep())
	}
	training.Training.Mode = job.Sequential
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
		training.Training.Mode, training.Training.Overlap = c.mode, c.overlap
		training.Training.Staleness, training.Training.Prefetch = c.staleness, c.prefetch
		if err := training.Validate(); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
		if window, depth := training.Window(), training.Depth(); window != c.window || depth != c.depth {
			t.Errorf("%+v: window %d, depth %d", c, window, depth)
		}
	}
}
