package job

import (
	"tandem/algo/protocol/delay"
	"tandem/algo/protocol/pace"
)

// The training modes.
const (
	Sequential = "sequential" // the reference: one batch after another, no roles
	Sync       = "sync"       // fully synchronous
	Hybrid     = "hybrid"     // Persia: embeddings asynchronous, dense network synchronous
	AsyncPS    = "async-ps"   // both parts on parameter servers, asynchronous
	// AsyncAverage trains a replica of the dense network on every rank, averaged in
	// the background.
	AsyncAverage = "async-average"
	// stale synchronous parallel: async-ps with a bound on a rank's lead over the slowest
	SSP = "ssp"
)

// Modes lists the training modes in the order of reports: sequential, then those
// of package pace.
func Modes() []string { return append([]string{Sequential}, pace.Modes()...) }

// How row gradients of one step become optimizer steps.
const (
	MergeStep = "step" // merged over ranks, one optimizer step per distinct row
	MergeRank = "rank" // one optimizer step per rank that has the row, as Persia
)

// What row gradients are divided by.
const (
	ScaleGlobal = "global" // the samples of the step: the sum over ranks is the global mean gradient
	ScaleRank   = "rank"   // the samples of the rank's part: each rank's mean gradient, as Persia
)

// Training is the order and the pace of training.
type Training struct {
	Mode        string `yaml:"mode"`         // sequential, or a mode whose roles train at once
	GlobalBatch int    `yaml:"global-batch"` // samples a step, over all ranks
	Epochs      int    `yaml:"epochs"`       // passes over the training rows
	// Shuffle draws a new order of the training rows for every epoch; without it they keep the order of
	// the data.
	Shuffle bool `yaml:"shuffle"`
	// ShuffleWindow is the number of rows that are shuffled at a time. They come from 64 places of the data,
	// drawn for each window, so that only these rows need be in memory. 0: all rows. It needs Shuffle.
	ShuffleWindow int `yaml:"shuffle-window"`
	// Groups is V, the number of groups that a global batch is cut into; a power of two. Equal V gives equal
	// bits in sync mode, where the number of ranks must divide V. In other modes, ranks that do not divide V
	// change the number of groups.
	Groups int `yaml:"groups"`

	// Staleness is τ: all modes but sync and backup-workers issue the lookup of a step while at most τ
	// earlier batches of the rank are outstanding. Null: as many as Prefetch allows.
	Staleness *int `yaml:"staleness"`
	// StalenessWarmUp is the number of steps in which τ grows from 0, in the modes that have one: in step k
	// of the training, at most τ·k/StalenessWarmUp earlier batches are outstanding. 0: it does not grow.
	StalenessWarmUp int `yaml:"staleness-warm-up,omitempty"`
	// Prefetch is the number of batches in flight per rank, at least τ+1 where Staleness is set. 0: τ+1, or
	// 10 where neither is set.
	Prefetch int `yaml:"prefetch"`
	// ModeSettings are settings that a single mode declares, by name. Absent ones have their defaults.
	ModeSettings map[string]int `yaml:"mode-settings"`
	// Overlap is a word of the mode, as none, ids or ids+ds in sync. Empty: the most
	// overlap that the mode knows.
	Overlap string `yaml:"overlap"`
	// Merge is MergeStep or MergeRank. Empty: MergeStep for sequential, sync and backup-workers, MergeRank
	// for the others, which know no other.
	Merge string `yaml:"merge"`
	Scale string `yaml:"scale"` // ScaleGlobal or ScaleRank

	// Delay is how many steps later the row gradients of a sequential training take effect, in steps, as
	// "exactly 3". DelayDense is the same for the gradients of the network. In the other
	// modes staleness is an outcome of the run.
	Delay      delay.Spec `yaml:"delay"`
	DelayDense delay.Spec `yaml:"delay-dense"`
	// HotRows exempts frequent rows from Delay: the gradients of a row that at least this share of the
	// samples of the run contain take effect without delay. 0: all rows; null: none.
	HotRows *float64 `yaml:"hot-rows,omitempty"`

	// EvaluateEvery is how often the test rows are predicted during training, in addition to the prediction
	// at the end: 500 steps, 30s or never.
	EvaluateEvery Every  `yaml:"evaluate-every"`
	Seed          uint64 `yaml:"seed"` // of parameters, rows and the order of samples
}
