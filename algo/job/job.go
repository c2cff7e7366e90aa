package job

import (
	"strings"

	"tandem/algo/numeric/batch"
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

// Job says what is trained and how, the same for simulator and runtime. Every section of a job file
// is a field. The zero value of a setting is not its default: start from Default. The largest values are
// constants of this package, such as PrefetchMax.
type Job struct {
	Name     string   `yaml:"name,omitempty"` // letters, digits, dots, dashes and underscores
	Data     Data     `yaml:"data,omitempty"` // the rows; empty in a program that brings its own
	Model    Model    `yaml:"model"`          // the dense network
	Rows     Rows     `yaml:"rows"`           // the embedding rows
	Training Training `yaml:"training"`       // mode, staleness, batches, order
	Roles    Roles    `yaml:"roles"`          // how many there are of each, and which share a process
	Wire     Wire     `yaml:"wire"`           // the form of messages between roles
	// injected into messages and roles; sequential training has neither
	Faults fault.Plan `yaml:"faults"`
	// roles whose work takes longer, all through a run; sequential training has none
	Slow    fault.Slows `yaml:"slow,omitempty"`
	Cluster Cluster     `yaml:"cluster,omitempty"` // what the simulator puts the job on
}

// Model is the dense network with its optimizer.
type Model struct {
	model.Spec `yaml:",inline"`
	Optimizer  opt.DenseSpec `yaml:"optimizer"` // of the parameters
	// Precision is FP32, BF16 or, on a GPU, TF32: what the operands of matrix products are rounded to;
	// nothing that is kept is rounded. The narrow ones are faster only where there are multipliers for them.
	// A module, of kind torch, is trained under torch.autocast with bf16; its predictions are not rounded.
	// The simulator prices work at the precision of the cluster, not at this one.
	Precision string `yaml:"precision"`
	// Device is where ranks compute the network and keep its parameters and optimizer state. With cuda they
	// use all GPUs that their process sees; rank r takes the GPU r modulo their number. Evaluation, dense PSs
	// and sequential training, which has no ranks, use the processors.
	Device Device `yaml:"device,omitempty"`
}

// The precisions of a Model: what the operands of its matrix products are rounded to.
const (
	FP32 = "fp32" // nothing: they are fp32
	TF32 = "tf32" // 10 bits behind the point, as the multipliers of a GPU do
	BF16 = "bf16" // bf16; sums, parameters and gradients stay fp32
)

// DensePrecisions lists the precisions of a Model.
func DensePrecisions() []string { return []string{FP32, TF32, BF16} }

// Rows is how embedding rows are initialized, updated and kept on an embedding PS.
type Rows struct {
	Optimizer opt.RowSpec `yaml:"optimizer"` // of the rows
	// Init is the bound b of initial values, uniform in (−b, b).
	Init float64 `yaml:"init"`
	// Admission is the probability that an id without a row gets one in a step that reads it, in (0, 1];
	// until then it reads as zeros and learns nothing. 0 means 1.
	Admission float64 `yaml:"admission"`
	// AdmissionCount is the number of steps that read an id without a row until the last of them gives it
	// one, up to 255; until then it reads as zeros and learns nothing. 0 and 1 give it one at once. It goes
	// with none of admission, hot rows and rows on GPUs.
	AdmissionCount int `yaml:"admission-count,omitempty"`
	// AdmissionCandidates bounds the ids without rows whose steps a table of a PS counts. Their memory grows
	// to up to 43 bytes for each of this number, and does not shrink. With more, or with expiry, those are
	// forgotten that were not read for long, and begin at 0 again; no id gets a row too early. 0 means
	// 4,194,304. With more than half as many, sync equals sequential only with one PS and as many ranks.
	AdmissionCandidates int `yaml:"admission-candidates,omitempty"`
	// Expiry is the number of global steps after which a row goes that no step has read: at the multiples of
	// this number the rows go that were not read since the multiple before, so after one to two times as many
	// steps. Read again, an id begins with initial values. 0: never. It goes with none of eviction, hot rows
	// and rows on GPUs.
	Expiry int `yaml:"expiry,omitempty"`
	// Capacity is the number of rows that one PS may hold; 0: no limit. Where a PS has several tables, for
	// slots that differ in dimension or settings, it is of all of them, and each keeps room for 1,024 rows
	// or, of a smaller number, for an equal part.
	Capacity int `yaml:"capacity"`
	// Memory is the memory that the rows of one PS, and their index, may take; 0: no limit. Of several
	// tables it is of all of them, and each keeps room for 1,024 rows.
	Memory unit.Bytes `yaml:"memory"`
	// Eviction is what a full PS does with a new row: RefuseRows or SecondChance, which evicts a row of the
	// same table. Which row is evicted depends on the other rows of the PS, so sync equals sequential only
	// with one PS.
	Eviction string `yaml:"eviction"`
	// Precision is the form of embedding values in rows: fp32, or bf16 or fp16, rounded at random. Optimizer
	// state is fp32.
	Precision string `yaml:"precision"`
	// Hot says which rows every rank holds or, with Placement RowsOnGPU, the GPUs of the ranks together.
	Hot Hot `yaml:"hot,omitempty"`
	// Placement is where rows are: RowsOnPSs or RowsOnGPU. On GPUs, Capacity and Memory are those of
	// each, and one of them is needed: memory for all rows is taken before training. It needs mode sync or
	// hybrid, model.device: cuda, and a GPU for each rank, with NCCL if there are several. Every rank has the
	// rows that a hash of their ids gives it. PSs then have no rows, but for slots whose own placement is
	// RowsOnPSs, and these have no limit. With Hot, GPUs have the hot rows alone, and PSs all others.
	Placement string `yaml:"placement,omitempty"`
}

// Hot says which rows are hot. Every rank holds the hot rows, reads them without a message, and reduces their
// gradients with those of the dense network, so that a read of one is never stale. The other rows are on PSs.
// It needs a mode whose ranks reduce dense gradients in every step: sync or hybrid. Sequential training has
// no roles and ignores it.
//
// With rows.placement: gpu, each hot row is on the GPU of one rank instead, which the others ask for it.
type Hot struct {
	// Share is the least share of the samples that contain a hot row, above 0 and at most 1. It is counted
	// before the run. 0: no row is hot by its share.
	Share float64 `yaml:"share"`
	// Most is the largest number of hot rows, the most frequent, besides those of Slots. 0: no limit.
	Most int `yaml:"most,omitempty"`
	// Slots names slots of the data that are not raw. All rows of their groups that the counted samples
	// contain are hot, in however few samples they are.
	Slots []string `yaml:"slots,omitempty"`
	// Samples is the number of samples that are counted before the run, spread over the first epoch; 0: a
	// million. A row must be in one of them to be hot.
	Samples int `yaml:"samples,omitempty"`
	// Auto chooses the share from the job, so that the hot rows add at most a tenth to the bytes that a rank
	// exchanges with embedding workers in a step, and none is hot that would hardly ever be stale. On GPUs it
	// chooses as many of the most frequent rows as these hold.
	Auto bool `yaml:"auto,omitempty"`
	// Every is the number of global steps after which hot rows are chosen again, from the samples of these
	// steps: at its multiples the roles drain, rows change their owners, and training goes on. Where roles
	// are processes, that is at the next checkpoint. 0: the rows are chosen once, before the run.
	Every int `yaml:"every,omitempty"`

	rows *shard.Hot // once they are known
}

// Any reports whether rows are to be hot.
func (h *Hot) Any() bool { return h.Share > 0 || h.Auto || len(h.Slots) > 0 }

// Choice returns the number of the choice of hot rows with which a global step is trained: 0 for the one
// before the run, k for the one after k·Every steps.
func (h *Hot) Choice(step int) int {
	if h.Every == 0 {
		return 0
	}
	return step / h.Every
}

// Rows returns the hot rows, or nil before they are known.
func (h *Hot) Rows() *shard.Hot { return h.rows }

// SetRows sets the hot rows, which follow from the data: package frequent counts them.
func (h *Hot) SetRows(rows *shard.Hot) { h.rows = rows }

// The ways of a full PS with a new row.
const (
	RefuseRows   = "refuse"        // end the run
	SecondChance = "second-chance" // replace a row that has not been read for long
)

// Roles is the number of instances of each role, and their placement on processes.
type Roles struct {
	Ranks            int `yaml:"ranks"`             // number of NN workers
	EmbeddingWorkers int `yaml:"embedding-workers"` // number of embedding workers
	EmbeddingPSs     int `yaml:"embedding-ps"`      // number of embedding PSs, which share the rows
	// DensePSs is the number of dense PSs in modes that have them: async-ps, ssp and gba.
	DensePSs int `yaml:"dense-ps"`
	// RankRecovery prepares ranks to come back after a crash with the parameters of another rank, in sync and
	// hybrid. The last bucket of a step then waits until embedding workers have its embedding gradients. It
	// is on where Faults crash an NN worker. In processes, the batches of a rank go to embedding workers of
	// other processes, and an NN worker comes back if there are such and the run is not recorded. With sums
	// of NCCL none comes back.
	RankRecovery bool `yaml:"rank-recovery,omitempty"`
	// Placement says which roles share a process, where a run has processes.
	Placement Placement `yaml:"placement"`
}

// SameNumbers reports whether there are as many roles of each kind.
func (r Roles) SameNumbers(other Roles) bool {
	return r.Ranks == other.Ranks && r.EmbeddingWorkers == other.EmbeddingWorkers &&
		r.EmbeddingPSs == other.EmbeddingPSs && r.DensePSs == other.DensePSs
}

// Wire is the form of messages between roles. Sequential training has no messages and ignores it.
type Wire struct {
	// Precision is the form of embeddings and their gradients: fp32, fp16 or fp16-block. The narrow forms
	// halve them and round: sync is then no longer bit-equal to sequential. Dense gradients stay in fp32.
	Precision compress.Form `yaml:"precision"`
	// Index is the form of ids and row signs: IndexRaw or IndexCompressed. Bits of the training do not
	// depend on it. IndexCompressed pays where the network is slower than packing.
	Index string `yaml:"index"`
	// AllReduce is how ranks on GPUs sum their gradients in sync and hybrid: HostSums, NCCLSums or
	// NCCLTreeSums. Those of NCCL need a GPU for each rank. Others sum in the memory of the host.
	AllReduce string `yaml:"all-reduce,omitempty"`
	// Local is how messages reach processes of the same machine: SharedMemory, or TCP as between machines.
	// Where there is no shared memory between them, TCP takes its place. Bits do not depend on it.
	Local string `yaml:"local,omitempty"`
	// Retry is how long a data loader or NN worker waits for answers before it asks again. 0 chooses: 100 ms
	// with faults, 1 s where roles are processes, never where no message can be lost.
	Retry unit.Tick `yaml:"retry"`
}

// The forms of ids and row signs in messages. Neither loses anything.
const (
	IndexRaw        = "raw"        // 8 bytes each
	IndexCompressed = "compressed" // distinct ids and positions, in as few bits as they need
)

// The ways of messages to processes of the same machine.
const (
	SharedMemory = "shared-memory" // a ring in memory that both processes map; the default
	TCP          = "tcp"           // a connection, as to processes of other machines
)

// The ways to sum gradients of GPUs. The first and the last have the bits of the tree over ranks.
const (
	HostSums     = "host"      // in the memory of hosts, as those of processors; the default
	NCCLSums     = "nccl"      // by NCCL's all-reduce, in an order of its own
	NCCLTreeSums = "nccl-tree" // gathered by NCCL, and summed along the tree over ranks
)

// AllReduces lists the ways to sum gradients of GPUs.
func AllReduces() []string { return []string{HostSums, NCCLSums, NCCLTreeSums} }

// WirePrecisions lists the precisions of a Wire.
func WirePrecisions() (names []string) {
	for _, f := range compress.Forms() {
		names = append(names, string(f))
	}
	return names
}

// Default returns a job that trains the default network in hybrid mode.
func Default() Job {
	return Job{
		Model: Model{Spec: model.Default(), Optimizer: opt.DefaultDense(), Precision: FP32},
		Rows: Rows{Optimizer: opt.DefaultRow(), Init: 0.01, Eviction: RefuseRows,
			Precision: table.FP32.String()},
		Training: Training{
			Mode: Hybrid, GlobalBatch: 1024, Epochs: 1, Shuffle: true, Groups: 8, Scale: ScaleGlobal, Seed: 1,
		},
		Roles: Roles{Ranks: 4, EmbeddingWorkers: 2, EmbeddingPSs: 2, DensePSs: 1},
		Wire:  Wire{Precision: compress.FP32, Index: IndexRaw},
	}
}

// AdultIncome returns Persia's own example: its data, network, optimizers and settings (PERSIA,
// examples/src/adult-income). Its embedding_staleness of 10 is a staleness of 9 here.
func AdultIncome() Job {
	j := Default()
	staleness := 9
	j.Name, j.Data, j.Cluster = "adult-income", Data{Kind: KindAdultIncome}, PersiaCluster()
	j.Model.Spec = model.PersiaAdultIncome()
	j.Model.Optimizer.Kind, j.Model.Optimizer.Rate = opt.SGD, 0.1
	j.Training.GlobalBatch, j.Roles.Ranks, j.Training.Staleness = 128, 4, &staleness
	j.Training.Shuffle = false // it reads its files in order
	return j
}

// Rule returns the pacing rule of the job's mode. Sequential training has none, which is an error.
func (j *Job) Rule() (pace.Rule, error) {
	return pace.New(j.Training.Mode, pace.Settings{
		Staleness: j.tau(), Overlap: j.Training.Overlap, Ranks: j.Roles.Ranks, Values: j.ModeValues(),
	})
}

// DenseShards returns the range of the parameter vector that each dense PS holds. Lengths differ by at most
// 1. It returns none in modes without dense PSs.
func (j *Job) DenseShards(layout *model.Layout) []model.Bucket {
	rule, err := j.Rule()
	if err != nil || !rule.Dense().DensePSs {
		return nil
	}
	var shards []model.Bucket
	for i := range j.Roles.DensePSs {
		shards = append(shards, model.Bucket{Lo: i * layout.Params / j.Roles.DensePSs,
			Hi: (i + 1) * layout.Params / j.Roles.DensePSs})
	}
	return shards
}

// ShardPlan returns who owns which row: an embedding PS or, if it is hot or on a GPU, the ranks. Where only
// the rows of some slots are on GPUs, that depends on the slots of the data: see PlanOf.
func (j *Job) ShardPlan() shard.Plan {
	plan := shard.Rows(j.Roles.EmbeddingPSs)
	switch {
	case j.ChoosesHotRows():
		plan = plan.WithHot(j.Rows.Hot.rows)
	case j.HasRowsOnGPU() && !j.MixesPlacements():
		plan = plan.OnRanks()
	}
	return plan
}

// PlanOf returns who owns which row of data of a schema.
func (j *Job) PlanOf(schema *batch.Schema) shard.Plan {
	plan := j.ShardPlan()
	if !j.MixesPlacements() {
		return plan
	}
	var prefixes []uint64
	for _, slot := range j.SlotsOnGPU(schema.Slots) {
		prefixes = append(prefixes, schema.Signer(slot).Prefix())
	}
	return plan.WithGroupsOnRanks(prefixes, 64-schema.PrefixBits)
}

// HotValues returns the number of values that ranks sum for the hot rows in every step: the gradients of all
// of them, and for each how many ranks have it in their batch.
func (j *Job) HotValues() int {
	if !j.HasHotRows() {
		return 0
	}
	return j.ShardPlan().Hot().Len() * (j.Model.Dim() + 1)
}

// HasHotRows reports whether every rank holds the hot rows, in the memory of its host.
func (j *Job) HasHotRows() bool { return j.ChoosesHotRows() && !j.HasTiers() }

// ChoosesHotRows reports whether ranks hold hot rows: see HasHotRows and HasTiers.
func (j *Job) ChoosesHotRows() bool { return j.Rows.Hot.Any() && j.Training.Mode != Sequential }

// Delayed reports whether gradients take effect with a delay.
func (j *Job) Delayed() bool { return !j.Training.Delay.IsZero() || !j.Training.DelayDense.IsZero() }

// ClearDelays sets the delays of rows and network to none, with their exceptions.
func (t *Training) ClearDelays() {
	t.Delay, t.DelayDense, t.HotRows = delay.Spec{}, delay.Spec{}, nil
}

// InMode returns the job in another mode. Overlap, merge and delays, which belong to the former mode, get
// their defaults. Of the mode settings, those that the new mode has are kept.
func (j Job) InMode(mode string) Job {
	j.Training.ModeSettings = ownSettings(j.Training.ModeSettings, mode)
	if mode != j.Training.Mode {
		j.Training.Overlap, j.Training.Merge = "", ""
		j.Training.ClearDelays()
	}
	j.Training.Mode = mode
	if !j.Roles.Placement.Named() {
		if _, err := j.Processes(); err != nil {
			j.Roles.Placement = Placement{} // it lists roles that this mode does not have, or lacks some
		}
	}
	return j
}

// MergeByStep reports whether row gradients are merged over ranks before the
// optimizer sees them.
func (j *Job) MergeByStep() bool {
	if j.Training.Merge == "" {
		return j.inStep()
	}
	return j.Training.Merge == MergeStep
}

// inStep reports whether the puts of a step are applied together, which merging by
// step takes.
func (j *Job) inStep() bool {
	rule, err := j.Rule()
	return err != nil || rule.InStep() // sequential has no rule
}

// Disturbances names what the job is disturbed by: "faults", "slow roles", "faults and slow roles", or "" for
// nothing.
func (j *Job) Disturbances() string {
	var names []string
	if j.Faults.Any() {
		names = append(names, "faults")
	}
	if len(j.Slow) > 0 {
		names = append(names, "slow roles")
	}
	return strings.Join(names, " and ")
}
