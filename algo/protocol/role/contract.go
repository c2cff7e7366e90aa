// Package role holds the state machines of a training cluster: data loader,
// embedding worker, embedding PS and NN worker, and in some modes dense PS and
// coordinator. They are the algorithm; everything else is a driver.
//
// # What a role is
//
// A role is a pure function of the inputs it was given, in their order. It has
// no clock, goroutine, socket, file or random number, and never sees a tensor:
// it names what work reads and makes by handles, and learns a few counts in
// return. Nothing else finds data: work, messages, all-reduces and releases list
// the handles that they are about.
//
// # What a driver owes a role
//
//  1. Inputs come one at a time; the first is Start. Outputs are performed in
//     their order, all of them, before the next input: Dispatch does that.
//  2. Work of one role and Lane takes effect in the order of its issue. Lanes
//     are independent of each other. Work ends with exactly one WorkDone or
//     WorkFailed, unless the role crashes in between.
//  3. Backward reports one WorkPart per bucket, in bucket order, before its
//     WorkDone: that is what lets dense synchronisation overlap it.
//  4. A fed bucket comes back as BucketReduced once every rank has fed it, and its sum is
//     then under the handle that Contribution names. Where replicas are averaged, Step of
//     Contribution and BucketReduced is the averaging round.
//  5. Messages may be lost, repeated and reordered, unless Config.Retry is 0:
//     then the driver promises that none is lost. The timer of SetTimer fires
//     as TimerFired; a role has one, and setting it again moves it.
//  6. The payload of a message is dropped after the step that was handed the
//     message, unless that step says Keep and under which handle; what was kept or
//     made by work stays until Release names it.
//  7. Credit: how many requests of a kind a role may have unanswered on an
//     edge is fixed by Config.Prefetch and Config.Window, and the answer is
//     what returns the credit, so a lost message can never lose credit. A
//     request about an earlier step than all that are unanswered on its edge
//     needs none: it may be what the others wait for.
//     Answers and acknowledgements need none, and so never wait behind
//     requests. Drivers check it (Credit); exceeding it is a bug.
//  8. A role may crash: its handles, its work in flight, its timer and the
//     messages that arrive while it is away are gone. When it comes back, its
//     first input is Start with the next Incarnation. A driver may give it to
//     the same value or to a new one. CanRestart says which roles recover.
package role

import (
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
)

// Role is one state machine.
type Role interface {
	// Address returns the name of the instance.
	Address() msg.Address
	// Step takes one input and appends what must happen to out, in order. now
	// stamps records and sets timers, and decides nothing else.
	HandleInput(now unit.Tick, in Input, out *Outputs)
	// Clone returns an independent copy.
	Clone() Role
	// AppendState appends a canonical form of the state: two roles of one run and
	// address whose forms are equal behave alike from now on. What follows from
	// the name of a batch, as its sizes do, is left out.
	AppendState(dst []byte) []byte
}

// CanRestart reports whether a role recovers from a crash: other roles hold all that it needs. An embedding
// PS, an NN worker and a dense PS hold parameters that exist nowhere else. In some modes the coordinator does
// not recover either: Config.CanRestart.
func CanRestart(r msg.Role) bool {
	switch r {
	case msg.DataLoader, msg.EmbeddingWorker, msg.Coordinator:
		return true
	}
	return false
}

// InputKind says what happened to a role.
type InputKind uint8

// The kinds of input.
const (
	Start         InputKind = iota // the run begins, or, if Incarnation > 0, the role is back after a crash
	Received                       // Message arrived
	WorkPart                       // part Bucket of Work is ready
	WorkDone                       // Work is done; Result holds its counts
	WorkFailed                     // Work could not be done; Reason says why
	BucketReduced                  // Bucket of what was fed for Work.Step is summed over all ranks
	TimerFired                     // the role's one timer
	Stop                           // every rank has finished and no work is in flight: let go of everything
)

// Input is one input.
type Input struct {
	Kind    InputKind
	Message msg.Message
	Work    Work
	Bucket  int32
	Result  Result
	Reason  error
	// Incarnation is the number of crashes before (Start).
	Incarnation uint32
}

// Step returns the step that an input is about, or −1 if it is about none.
func (in *Input) Step() int32 {
	switch in.Kind {
	case Received:
		return in.Message.Step
	case WorkPart, WorkDone, WorkFailed, BucketReduced:
		return in.Work.Step
	}
	return -1
}

// WorkKind says what is to be computed. The comment names the role that asks,
// what it reads and what it makes, in the order of Operands.
type WorkKind uint8

// The kinds of work.
const (
	Read       WorkKind = iota // data loader: read the global batch of Step and cut it by rank
	Split                      // EW: prefix, deduplicate and route the ids → signs by PS
	ReadRows                   // PS: look signs up, creating rows that are absent → rows
	Pool                       // EW: routed ids, rows of all PSs → pooled embeddings
	Forward                    // NN worker: samples, pooled embeddings, pulled parameters if there are → loss
	Backward                   // NN worker: samples → gradients of the pooled embeddings, of the dense network by bucket
	Merge                      // EW: routed ids, gradients of pooled embeddings → row gradient sums by PS
	Apply                      // PS: row gradients of one rank → optimizer step of each row
	ApplyStep                  // PS: row gradients of several batches → one optimizer step of each row
	DenseApply                 // NN worker: sums over the ranks that count, or its own gradients → dense optimizer step
	ReadDense                  // dense PS: → a copy of the shard's parameters
	ApplyPush                  // dense PS: gradients of one or several batches → one optimizer step of the shard
	Snapshot                   // NN worker: → a copy of its replica for averaging round Step
	Average                    // NN worker: its copy, the sum of all → its replica += mean of round Step − copy
	workKinds
)

var workNames = [workKinds]string{
	"read", "split", "read-rows", "pool", "forward", "backward", "merge", "apply", "apply-step", "dense-apply",
	"read-dense", "apply-push", "snapshot", "average",
}

// String returns the name under which reports print the kind.
func (k WorkKind) String() string { return workNames[k] }

// Lanes is the number of lanes of a role.
const Lanes = 2

// Lane returns the queue of a role that work of this kind belongs to, below
// Lanes. Work of one lane takes effect in the order of issue.
func (k WorkKind) Lane() int {
	switch k {
	case Pool, Merge: // an EW's batches are independent; ids of the next need not wait for pooling
		return 1
	}
	return 0
}

// Work is one piece of work: on the batch of a rank and step, or, with Rank −1, on what several ranks have of
// steps up to Step. Samples and StepSamples are as in msg.Message.
type Work struct {
	Kind        WorkKind
	Rank, Step  int32
	Samples     int32
	StepSamples int32
}

// Operands are the data of one piece of work, in the order that its kind states.
type Operands struct {
	Reads, Makes []Handle
	// Drops are the gradients that do not count, those that never came included: what the driver remembers of
	// their batches for them (at a PS, the reads) can go.
	Drops []Handle
}

// Contribution is what a rank hands to the all-reduce: one dense gradient bucket of Source. When every rank
// has handed over the bucket, Sum holds its sum over the ranks; a Source of NoData adds nothing to it.
type Contribution struct {
	Rank, Step, Bucket int32
	Bytes              unit.Bytes // of the bucket
	Source, Sum        Handle
}

// Result is all that a role learns of the numbers. Which fields are set
// depends on the kind of work.
type Result struct {
	// Samples by rank (Read).
	Samples []int32
	// IDBytes and SampleBytes are the payloads of a batch's two messages, by
	// rank (Read).
	IDBytes, SampleBytes []unit.Bytes
	// Rows by PS (Split).
	Rows []int32
	// SignBytes and ValueBytes are the sizes of those rows' signs and of their
	// embeddings, by PS (Split).
	SignBytes, ValueBytes []unit.Bytes
	// Bytes of the product: pooled embeddings (Pool), embedding gradients
	// (Backward).
	Bytes unit.Bytes
	// NonFinite says that the loss or a gradient was NaN or infinite (Backward).
	NonFinite bool
}

// HandleKind names a sort of data that a role may hold.
type HandleKind uint8

// The kinds of data. A handle is held by one role; a message gives its
// receiver a handle of its own.
const (
	NoData           HandleKind = iota // the zero Handle names nothing
	GlobalBatch                        // data loader: the batch of Step (Rank is −1)
	BatchIDs                           // EW: id features
	BatchSamples                       // NN worker: numeric features and labels
	RoutedIDs                          // EW: signs by PS and the way back to samples
	ShardSigns                         // PS: signs of one batch
	ShardRows                          // EW: the rows that each PS answered; PS: until sent
	PooledRows                         // EW and NN worker: pooled embeddings
	PooledGrads                        // NN worker and EW: their gradients
	ShardGrads                         // EW: row gradients by PS; PS: those of one batch
	DenseGradients                     // NN worker: its own gradient sums of the step; with dense PSs, its push
	ReducedGradients                   // NN worker: the sums over the ranks that count
	ShardParams                        // dense PS: a copy of its parameters, until sent
	PulledParams                       // NN worker: the parameters that each dense PS answered
	PushedGradients                    // dense PS: gradients of one rank
	ReplicaCopy                        // NN worker: what it gave to averaging round Step
	ReplicaSum                         // NN worker: the sum of what all ranks gave
	handleKinds
)

var handleNames = [handleKinds]string{
	"no data", "global batch", "batch ids", "batch samples", "routed ids", "shard signs", "shard rows", "pooled rows",
	"pooled gradients", "shard gradients", "dense gradients", "reduced gradients", "shard parameters", "pulled parameters",
	"pushed gradients", "copy of the replica", "sum of replicas",
}

// String returns the name under which histories print the kind.
func (k HandleKind) String() string { return handleNames[k] }

// Handle names data held by a role.
type Handle struct {
	Kind       HandleKind
	Rank, Step int32
}

// OutputKind says what a role asks of its driver.
type OutputKind uint8

// The kinds of output.
const (
	Send     OutputKind = iota // deliver Message, with its part of what Handle holds if that names data
	Do                         // perform Work on Operands
	Feed                       // hand Contribution to the all-reduce over ranks
	Keep                       // hold the payload of the message being handled as Handle
	Release                    // let go of Handle
	SetTimer                   // fire the role's one timer at At, unless set again
	Record                     // tell observers
	Finished                   // this NN worker has trained every step
	Halt                       // the run cannot go on; Reason says why
)

// Output is one output.
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

// Outputs is a driver's buffer, emptied and reused between steps.
type Outputs struct {
	List []Output
}

// Reset empties the buffer and keeps its memory.
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
