package role

import (
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
)

// Role is one state machine. The package comment has the duties of its caller.
type Role interface {
	// Address returns the address of the role.
	Address() msg.Address
	// HandleInput handles one input and appends the outputs to out, in order. The role uses now for the times
	// of records and timers only.
	HandleInput(now unit.Tick, in Input, out *Outputs)
	// Clone returns an independent copy.
	Clone() Role
	// AppendState appends a canonical form of the state to dst. Two roles of one run with the same address
	// and equal forms behave in the same way from now on. The form omits values that follow from the rank and
	// step of a batch, such as sizes.
	AppendState(dst []byte) []byte
}

// CanRestart reports whether a role recovers from a crash, because other roles hold all data that it needs.
// An embedding PS, an NN worker and a dense PS hold parameters that no other role has. In some modes the
// coordinator does not recover either: see Config.CanRestart.
func CanRestart(r msg.Role) bool {
	switch r {
	case msg.DataLoader, msg.EmbeddingWorker, msg.Coordinator:
		return true
	}
	return false
}

// CanRedo reports whether a role that cannot restart has its state again when it handles all its inputs
// again: its work computes from the payloads of its messages alone. The work of an NN worker also needs the
// sums of all-reduces.
func CanRedo(r msg.Role) bool {
	return r == msg.EmbeddingPS || r == msg.DensePS || r == msg.Coordinator
}

// InputKind is the kind of an input.
type InputKind uint8

// The kinds of input.
const (
	Start         InputKind = iota // the run begins, or, with Incarnation > 0, the role is back after a crash
	Received                       // Message has arrived
	WorkPart                       // part Bucket of Work is ready
	WorkDone                       // Work is done; Result holds its counts
	WorkFailed                     // Work has failed with the error Reason
	BucketReduced                  // Bucket of the contributions for Work.Step is summed over all ranks
	TimerFired                     // the timer has fired
	Stop                           // every rank has finished and no work is in flight: release all data
	Drain                          // data loader: end the run as soon as possible
)

// Input is one input of a role. The comments of the kinds name the fields that they use.
type Input struct {
	Kind    InputKind
	Message msg.Message
	Work    Work
	Bucket  int32
	Result  Result
	Reason  error
	// Incarnation is the number of earlier crashes of the role (Start).
	Incarnation uint32
	// Next is, for an NN worker that is back, the first step that its new parameters lack (Start). It is the
	// first step that is not fully reduced or, if none of its buckets is reduced, possibly the step before.
	// In a recorded run it is always the former, and Bucket is the first of its buckets that is not reduced.
	Next int32
}

// Step returns the training step that the input is about, or −1 if there is none.
func (in *Input) Step() int32 {
	switch in.Kind {
	case Received:
		return in.Message.Step
	case WorkPart, WorkDone, WorkFailed, BucketReduced:
		return in.Work.Step
	}
	return -1
}

// WorkKind is the kind of a piece of work. The comment of each kind has the role that asks for it, and the
// data that it reads and makes, in the order of Operands.
type WorkKind uint8

// The kinds of work.
const (
	Read       WorkKind = iota // data loader: read the global batch of Step and divide it among the ranks
	Split                      // EW: ids, prefixed, deduplicated and routed → signs by PS
	ReadRows                   // embedding PS: signs → rows; creates absent rows
	Pool                       // EW: routed ids, rows of all PSs → pooled embeddings
	Forward                    // NN worker: samples, pooled embeddings, pulled parameters if any → loss
	Backward                   // NN worker: samples → gradients of pooled embeddings, dense gradients
	Merge                      // EW: routed ids, gradients of pooled embeddings → row gradient sums by PS
	Apply                      // embedding PS: row gradients of one batch → optimizer step of each row
	ApplyStep                  // embedding PS: row gradients of several batches → one step of each row
	DenseApply                 // NN worker: sums over ranks, or its own gradients → dense optimizer step
	ReadDense                  // dense PS: → copy of the parameters of the shard
	ApplyPush                  // dense PS: gradients of one or several batches → one step of the shard
	Snapshot                   // NN worker: → copy of its replica for averaging round Step
	Average                    // NN worker: its copy, sum of all copies → replica with the mean of Step
	workKinds
)

var workNames = [workKinds]string{
	"read", "split", "read-rows", "pool", "forward", "backward", "merge", "apply", "apply-step",
	"dense-apply",
	"read-dense", "apply-push", "snapshot", "average",
}

// String returns the name of the kind in reports.
func (k WorkKind) String() string { return workNames[k] }

// Lanes is the number of lanes of a role.
const Lanes = 2

// Independent reports whether work of this kind on a batch neither reads nor changes anything that other work
// of the role changes, except earlier work on the same batch, which has ended when it is issued. A driver may
// perform such work of a lane at the same time.
func (k WorkKind) Independent() bool { return k == Split || k == Pool || k == Merge }

// Lane returns the lane of a role, from 0 to Lanes − 1, for work of this kind. Work of one lane ends in the
// order of its issue and, unless it is Independent, takes effect in that order.
func (k WorkKind) Lane() int {
	switch k {
	case Pool, Merge: // batches of an EW are independent: Split of the next need not wait for these
		return 1
	}
	return 0
}

// Work is one piece of work on the batch of a rank and step. With Rank −1 it is on batches of several ranks,
// of steps up to Step. Samples and StepSamples are as in msg.Message.
type Work struct {
	Kind        WorkKind
	Rank, Step  int32
	Samples     int32
	StepSamples int32
}

// Operands are the data of one piece of work, in the order in the comment of its kind.
type Operands struct {
	Reads, Makes []Handle
	// Drops are gradients that do not count, including gradients that will not arrive. The driver can discard
	// data that it holds for them, such as the reads of their batches on a PS.
	Drops []Handle
}

// Contribution is the part of one rank in the all-reduce of a bucket of Source. When every rank has
// contributed, Sum holds the sum over the ranks. A contribution with Source NoData adds nothing to the sum.
type Contribution struct {
	Rank, Step, Bucket int32
	Bytes              unit.Bytes // of the bucket
	Source, Sum        Handle
}

// Result is all information that a role receives about the data. The comment of each field has the kind of
// work that sets it.
type Result struct {
	// Samples are the numbers of samples by rank (Read).
	Samples []int32
	// IDBytes and SampleBytes are the sizes of the payloads of IDFeatures and Samples, by rank (Read).
	IDBytes, SampleBytes []unit.Bytes
	// Rows are the numbers of rows by PS (Split).
	Rows []int32
	// SignBytes and ValueBytes are the sizes of the signs and of the embeddings of these rows, by PS (Split).
	SignBytes, ValueBytes []unit.Bytes
	// Bytes is the size of the rows (ReadRows), the pooled embeddings (Pool) or the embedding gradients
	// (Backward).
	Bytes unit.Bytes
	// NotFinite names what is NaN or infinite, if the loss or a gradient is (Backward).
	NotFinite string
}

// HandleKind is a kind of data that a role can hold.
type HandleKind uint8

// The kinds of data, with the roles that hold them. A handle belongs to one role: the receiver of a message
// has its own.
const (
	NoData           HandleKind = iota // the kind of the zero Handle, which names no data
	GlobalBatch                        // data loader: the batch of Step (Rank is −1)
	BatchIDs                           // EW: id features
	BatchSamples                       // NN worker: numeric features and labels
	RoutedIDs                          // EW: signs by PS, and their places in the samples
	ShardSigns                         // PS: signs of one batch
	ShardRows                          // EW: the rows from each PS; embedding PS: rows until they are sent
	PooledRows                         // EW, NN worker: pooled embeddings
	PooledGrads                        // NN worker, EW: gradients of the pooled embeddings
	ShardGrads                         // EW: row gradients by PS; embedding PS: row gradients of one batch
	DenseGradients                     // NN worker: its own dense gradients of the step
	ReducedGradients                   // NN worker: the sums over the ranks that count
	ShardParams                        // dense PS: copy of its parameters until it is sent
	PulledParams                       // NN worker: the parameters from each dense PS
	PushedGradients                    // dense PS: gradients of one rank
	ReplicaCopy                        // NN worker: its copy for averaging round Step
	ReplicaSum                         // NN worker: the sum of the copies of all ranks
	handleKinds
)

var handleNames = [handleKinds]string{
	"no data", "global batch", "batch ids", "batch samples", "routed ids", "shard signs", "shard rows",
	"pooled rows", "pooled gradients", "shard gradients", "dense gradients", "reduced gradients",
	"shard parameters", "pulled parameters", "pushed gradients", "copy of the replica", "sum of replicas",
}

// String returns the name of the kind in histories.
func (k HandleKind) String() string { return handleNames[k] }

// Handle names data of a role: of one kind, about one rank and step, or all ranks if Rank is −1.
type Handle struct {
	Kind       HandleKind
	Rank, Step int32
}

// OutputKind is the kind of an output. Each corresponds to a method of Driver.
type OutputKind uint8

// The kinds of output.
const (
	Send     OutputKind = iota // deliver Message, with its part of the data under Handle as payload
	Do                         // perform Work on Operands
	Feed                       // pass Contribution to the all-reduce over ranks
	Keep                       // hold the payload of the input message under Handle
	Release                    // free the data under Handle
	SetTimer                   // fire the timer of the role at At, unless it is set again before
	Record                     // pass Event to the observers
	Finished                   // the NN worker has trained every step
	Halt                       // end the run with the error Reason
)

// Output is one output of a role. The comments of the kinds name the fields that they use.
type Output struct {
	Kind         OutputKind
	Message      msg.Message
	Work         Work
	Operands     Operands
	Contribution Contribution
	Handle       Handle
	At           unit.Tick
	Event        event.Record
	Reason       error
}

// Outputs is a buffer for the outputs of one input, which a driver reuses.
type Outputs struct {
	List []Output
}

// Reset removes all outputs and keeps the memory.
func (o *Outputs) Reset() { o.List = o.List[:0] }

func (o *Outputs) send(m msg.Message, payload Handle) {
	o.List = append(o.List, Output{Kind: Send, Message: m, Handle: payload})
}
func (o *Outputs) startWork(w Work, reads, makes []Handle) {
	o.List = append(o.List, Output{Kind: Do, Work: w, Operands: Operands{Reads: reads, Makes: makes}})
}
func (o *Outputs) feed(c Contribution) { o.List = append(o.List, Output{Kind: Feed, Contribution: c}) }
func (o *Outputs) keep(k HandleKind, rank, step int32) {
	o.List = append(o.List, Output{Kind: Keep, Handle: Handle{k, rank, step}})
}
func (o *Outputs) release(k HandleKind, rank, step int32) {
	o.List = append(o.List, Output{Kind: Release, Handle: Handle{k, rank, step}})
}
func (o *Outputs) record(r event.Record) { o.List = append(o.List, Output{Kind: Record, Event: r}) }
func (o *Outputs) halt(err error)        { o.List = append(o.List, Output{Kind: Halt, Reason: err}) }
