package job

import (
	"cmp"
	"fmt"
	"slices"

	"tandem/algo/numeric/compress"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/opt"
	"tandem/algo/numeric/shard"
	"tandem/algo/numeric/table"
	"tandem/algo/protocol/delay"
	"tandem/algo/protocol/fault"
	"tandem/algo/protocol/pace"
	"tandem/algo/unit"
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
	SSP          = "ssp" // stale synchronous parallel: async-ps, but nobody too far ahead of the slowest
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

// How id features and signs are written in messages. Neither loses anything.
const (
	IndexRaw        = "raw"        // 8 bytes each
	IndexCompressed = "compressed" // distinct ids and positions, in the bits they take
)

// What the operands of the dense network's matrix products are rounded to.
const (
	FP32 = "fp32" // nothing: they are fp32
	BF16 = "bf16" // bf16; sums, parameters and gradients stay fp32
)

// DensePrecisions lists what DensePrecision may be.
func DensePrecisions() []string { return []string{FP32, BF16} }

// What a PS does that may hold no more rows.
const (
	RefuseRows   = "refuse"
	SecondChance = "second-chance"
)

// Training describes how a model is trained, the same for simulator and
// runtime. The zero value of a field is not its default: start from Default. The
// greatest values are constants of this package, such as PrefetchMax.
type Training struct {
	Mode  string        `yaml:"mode"`  // sequential or one of package pace, see Modes
	Model model.Spec    `yaml:"model"` // the dense network
	Dense opt.DenseSpec `yaml:"dense-optimizer"`
	// DensePrecision is fp32 or bf16. The latter rounds what is multiplied, nothing
	// that is kept, and is faster only by an engine with bf16 multipliers. A simulated
	// cluster has a precision of its own, at which it prices work.
	DensePrecision string      `yaml:"dense-precision"`
	Rows           opt.RowSpec `yaml:"row-optimizer"`
	// RowInit is the bound b of the initial row values, uniform in (−b, b).
	RowInit float64 `yaml:"row-init"`

	GlobalBatch int `yaml:"global-batch"` // samples a step, over all ranks
	Epochs      int `yaml:"epochs"`
	// Shuffle draws a new order of the training rows for every epoch; without
	// it they keep the order of the data.
	Shuffle bool `yaml:"shuffle"`
	// ShuffleWindow is the number of rows that are mixed at a time, from 64 places
	// of the data drawn anew, so that no more than these need be in memory; 0: all
	// rows. It needs Shuffle.
	ShuffleWindow int `yaml:"shuffle-window"`
	// Groups is V, the number of groups that a global batch is cut into; a power
	// of two. Equal V gives equal bits in sync mode, whose ranks must divide V.
	// With ranks that do not, other modes cut into another number: TotalGroups.
	Groups int `yaml:"groups"`

	Ranks            int `yaml:"ranks"`             // NN workers
	EmbeddingWorkers int `yaml:"embedding-workers"` // EWs
	ParameterServers int `yaml:"parameter-servers"` // embedding PSs

	// DenseServers is the number of dense PSs, in modes that have them
	// (pace.DenseSync.DensePSs).
	DenseServers int `yaml:"dense-servers"`
	// Placement says which roles share a process, where a run has processes.
	Placement Placement `yaml:"placement"`

	// Staleness is τ: all modes but sync and backup-workers issue the lookup of a step
	// while at most τ earlier batches of the rank are outstanding. Null: as many as
	// Prefetch allows.
	Staleness *int `yaml:"staleness"`
	// Prefetch is the number of batches in flight per rank, at least τ+1 where
	// Staleness is set. 0: τ+1, or 10 where neither is set; see Window.
	Prefetch int `yaml:"prefetch"`
	// ModeSettings are settings that single modes declare for themselves (pace.Setting),
	// by name. Those that are absent have their defaults, which MarshalYAML writes;
	// ModeValues returns what is in use.
	ModeSettings map[string]int `yaml:"mode-settings"`
	// Overlap is a word of the mode (pace.Mode.Overlaps), as none, ids or ids+ds in
	// sync. Empty: the most that the mode knows.
	Overlap string `yaml:"overlap"`
	// Merge is step or rank. Empty: step for sequential, sync and backup-workers, rank
	// for the others, which know no other.
	Merge string `yaml:"merge"`
	Scale string `yaml:"scale"` // global or rank

	// Delay is how many steps later the row gradients of a sequential training
	// take effect: "exactly 3", or another text that delay.Parse reads. DelayDense is
	// the same for the gradients of the network. The other modes bring staleness of
	// their own.
	Delay      delay.Spec `yaml:"delay"`
	DelayDense delay.Spec `yaml:"delay-dense"`

	// EvaluateEvery is how often the test rows are predicted during training,
	// beside the one time after it: 500 steps, 30s or never.
	EvaluateEvery Every `yaml:"evaluate-every"`

	// Faults are injected into messages and roles, alike under simulator and runtime; sequential training
	// has neither.
	Faults fault.Plan `yaml:"faults"`
	// Retry is how long a data loader or NN worker waits for answers before it asks again; 0 chooses: 100 ms
	// with Faults, 1 s where roles are processes, never where no message can be lost.
	Retry unit.Tick `yaml:"retry"`

	// Wire is the form of embeddings and their gradients in messages: fp32, fp16
	// or fp16-block. The narrow forms halve them and round: sync is then no longer
	// bit-equal to sequential, which has no messages and ignores Wire. Dense
	// gradients stay in fp32.
	Wire compress.Form `yaml:"wire"`
	// Index is raw or compressed. The latter pays where a network is slower than
	// packing; bits stay as they are.
	Index string `yaml:"index"`

	// RowAdmission is the probability that an id without a row gets one in a step
	// that reads it, in (0, 1]; until then it reads as zeros and learns nothing. 0
	// means 1.
	RowAdmission float64 `yaml:"row-admission"`
	// RowCapacity is the number of rows that one PS may hold; 0: no limit.
	RowCapacity int `yaml:"row-capacity"`
	// RowMemory is the memory that the rows of one PS, and what finds them, may take;
	// 0: no limit.
	RowMemory unit.Bytes `yaml:"row-memory"`
	// RowEviction is what a PS does that may hold no more rows: refuse ends the run,
	// second-chance gives a new row the place of one that has not been read for long.
	// What is evicted depends on what else is on the PS, so sync equals sequential
	// only with one PS.
	RowEviction string `yaml:"row-eviction"`
	// RowPrecision is the form of embedding values in rows: fp32, or bf16 or fp16,
	// rounded at random. Optimizer state is fp32.
	RowPrecision string `yaml:"row-precision"`
	Seed         uint64 `yaml:"seed"` // of parameters, rows and the order of samples
}

// Default returns a training of the default network in hybrid mode.
func Default() Training {
	return Training{
		Mode: Hybrid, Model: model.Default(), Dense: opt.DefaultDense(), DensePrecision: FP32, Rows: opt.DefaultRow(), RowInit: 0.01,
		GlobalBatch: 1024, Epochs: 1, Shuffle: true, Groups: 8, Ranks: 4, EmbeddingWorkers: 2, ParameterServers: 2,
		DenseServers: 1, Scale: ScaleGlobal, Wire: compress.FP32, Index: IndexRaw,
		RowEviction: RefuseRows, RowPrecision: table.FP32.String(), Seed: 1,
	}
}

// Rule returns the pacing rule of a training with roles.
func (t *Training) Rule() (pace.Rule, error) {
	return pace.New(t.Mode, pace.Settings{
		Staleness: t.tau(), Overlap: t.Overlap, Ranks: t.Ranks, Values: t.ModeValues(),
	})
}

// DenseShards returns the parts of the parameter vector that the dense PSs hold,
// as equal as can be; none in modes without them.
func (t *Training) DenseShards(layout *model.Layout) []model.Bucket {
	rule, err := t.Rule()
	if err != nil || !rule.Dense().DensePSs {
		return nil
	}
	var shards []model.Bucket
	for i := range t.DenseServers {
		shards = append(shards, model.Bucket{Lo: i * layout.Params / t.DenseServers, Hi: (i + 1) * layout.Params / t.DenseServers})
	}
	return shards
}

// ShardPlan returns which embedding PS owns which row.
func (t *Training) ShardPlan() shard.Plan { return shard.Rows(t.ParameterServers) }

// Delayed reports whether gradients take effect later than at once.
func (t *Training) Delayed() bool { return !t.Delay.IsZero() || !t.DelayDense.IsZero() }

// InMode returns the training in another mode. Choices that belong to its own
// are not carried over, and of the mode settings only those that the new mode has.
func (t Training) InMode(mode string) Training {
	t.ModeSettings = ownSettings(t.ModeSettings, mode)
	if mode != t.Mode {
		t.Overlap, t.Merge = "", ""
		t.Delay, t.DelayDense = delay.Spec{}, delay.Spec{}
	}
	t.Mode = mode
	if !t.Placement.Named() {
		if _, err := t.Processes(); err != nil {
			t.Placement = Placement{} // it lists roles that this mode does not have, or lacks some
		}
	}
	return t
}

// MergeByStep reports whether row gradients are merged over ranks before the
// optimizer sees them.
func (t *Training) MergeByStep() bool {
	if t.Merge == "" {
		return t.inStep()
	}
	return t.Merge == MergeStep
}

// inStep reports whether the puts of a step are applied together, which merging by
// step takes.
func (t *Training) inStep() bool {
	rule, err := t.Rule()
	return err != nil || rule.InStep() // sequential has no rule
}

// Validate reports the first setting that is out of range, by its field path, and a
// mode setting that the training's mode does not have.
func (t *Training) Validate() error {
	if err := t.ValidateShared(); err != nil {
		return err
	}
	return t.ValidateModeSettings([]string{t.Mode})
}

// ValidateShared is Validate for a training that InMode may put into other modes: a mode
// setting that its own mode does not have must be in the range of some other mode.
// ValidateModeSettings checks the rest when the modes are known.
func (t *Training) ValidateShared() error {
	if err := t.validateChoices(); err != nil {
		return err
	}
	if err := t.validateRanges(); err != nil {
		return err
	}
	if err := t.validateElsewhere(); err != nil {
		return err
	}
	switch {
	case t.Groups&(t.Groups-1) != 0:
		return fmt.Errorf("groups = %d; want a power of two", t.Groups)
	case t.GlobalBatch < t.Ranks:
		return fmt.Errorf("global-batch = %d leaves some of %d ranks without a sample", t.GlobalBatch, t.Ranks)
	case t.ShuffleWindow > 0 && !t.Shuffle:
		return fmt.Errorf("shuffle-window = %d needs shuffle: true", t.ShuffleWindow)
	case t.RowEviction == SecondChance && t.RowCapacity == 0 && t.RowMemory == 0:
		return fmt.Errorf("row-eviction = %s needs a limit: set row-memory or row-capacity", t.RowEviction)
	}
	if err := t.validateGroups(); err != nil {
		return err
	}
	if err := t.validateDepth(); err != nil {
		return err
	}
	return t.validateParts()
}

func (t *Training) validateChoices() error {
	for _, f := range []struct {
		path, value string
		known       []string
	}{
		{"mode", t.Mode, Modes()},
		{"merge", cmp.Or(t.Merge, MergeStep), []string{MergeStep, MergeRank}}, // empty is a default
		{"scale", t.Scale, []string{ScaleGlobal, ScaleRank}},
		{"wire", string(t.Wire), Wires()},
		{"dense-precision", t.DensePrecision, DensePrecisions()},
		{"index", t.Index, []string{IndexRaw, IndexCompressed}},
		{"row-eviction", t.RowEviction, []string{RefuseRows, SecondChance}},
		{"row-precision", t.RowPrecision, table.Precisions()},
	} {
		if !slices.Contains(f.known, f.value) {
			return fmt.Errorf("%s = %s", f.path, Unknown(f.value, f.known))
		}
	}
	if t.Merge == MergeStep && !t.inStep() {
		return fmt.Errorf("merge = step needs mode sync or sequential: %s never waits for other ranks' gradients", t.Mode)
	}
	return nil
}

// wires lists the forms of values as text.
func Wires() (names []string) {
	for _, f := range compress.Forms() {
		names = append(names, string(f))
	}
	return names
}

func (t *Training) validateParts() error {
	for _, f := range []struct {
		path string
		spec delay.Spec
	}{{"delay", t.Delay}, {"delay-dense", t.DelayDense}} {
		if err := f.spec.Validate(); err != nil {
			return fmt.Errorf("%s: %w", f.path, err)
		}
		if t.Mode != Sequential && !f.spec.IsZero() {
			return fmt.Errorf("%s = %s needs mode sequential: the staleness of %s is what its run brings about", f.path, f.spec, t.Mode)
		}
	}
	if t.Mode != Sequential {
		if _, err := t.Rule(); err != nil {
			return fmt.Errorf("overlap: %w", err)
		}
	}
	if !t.Placement.Named() {
		if _, err := t.Processes(); err != nil {
			return err
		}
	}
	if err := t.Faults.Validate(); err != nil {
		return fmt.Errorf("faults.%w", err)
	}
	if t.Retry < 0 || t.Retry > unit.Minute {
		return fmt.Errorf("retry = %v; want 0 to %v", t.Retry, unit.Minute)
	}
	if err := t.Model.Validate(); err != nil {
		return fmt.Errorf("model.%w", err)
	}
	if err := t.Dense.Validate(); err != nil {
		return fmt.Errorf("dense-optimizer.%w", err)
	}
	if err := t.Rows.Validate(); err != nil {
		return fmt.Errorf("row-optimizer.%w", err)
	}
	return nil
}
